from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from urllib.error import HTTPError

import pytest

from sortkey.clock import SystemClock
from sortkey.feeds.kafka.metrics import FAMILIES, KafkaMetrics
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.status_server import StatusServer
from sortkey.http.listener import AllowedHosts, listen, url_of
from sortkey.http.metrics import render


@pytest.fixture
def url() -> Iterator[str]:
    metrics = KafkaMetrics()
    metrics.handled(7, 2)
    metrics.lags = {3: 12}
    Blockage("partition 3", metrics.blockages, SystemClock()).lasts_by(ConnectionRefusedError())
    with (
        listen("127.0.0.1", 0) as listening,
        StatusServer(listening, lambda: render(metrics.samples(), FAMILIES), AllowedHosts()),
    ):
        yield url_of(listening)


def test_health(url: str) -> None:
    for method in ("GET", "HEAD"):
        with urllib.request.urlopen(urllib.request.Request(f"{url}/health", method=method)) as answer:
            assert answer.status == 200


def test_metrics(url: str) -> None:
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'sortkey_feed_messages_total{outcome="applied"} 5' in lines
    assert 'sortkey_feed_messages_total{outcome="rejected"} 2' in lines
    assert 'sortkey_feed_lag{partition="3"} 12' in lines
    assert 'sortkey_feed_blocked{error="ConnectionRefusedError"} 1' in lines
    assert sorted({line.split()[2] for line in lines if line.startswith("# TYPE")}) == sorted(FAMILIES)


# A web page whose name was led to this machine could read them otherwise.
def test_metrics_are_for_names_of_this_machine(url: str) -> None:
    foreign = urllib.request.Request(f"{url}/metrics", headers={"Host": "evil.test"})
    with pytest.raises(HTTPError, match="403") as error:
        urllib.request.urlopen(foreign)
    assert "--allow-host" in error.value.read().decode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/health", headers={"Host": "evil.test"})) as answer:
        assert answer.status == 200


def test_anything_else_is_not_there(url: str) -> None:
    with pytest.raises(HTTPError, match="404"):
        urllib.request.urlopen(f"{url}/else")


# A silent client must not delay the others, or the end.
def test_a_silent_client(url: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))), urllib.request.urlopen(f"{url}/health") as answer:
        assert answer.status == 200
