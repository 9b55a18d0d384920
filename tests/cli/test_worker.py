"""`sortkey worker` on the command line."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.cli import worker
from sortkey.cli.main import main
from sortkey_services.boosts.service import BoostsService
from sortkey_services.boosts.service_definition import BOOSTS
from tests.feeds.kafka.working import dead_letters, settings
from tests.kafka.broker import Broker
from tests.kafka.fixtures import StartWorker
from tests.kafka.topic import produce
from tests.maven import free_port
from tests.sortkey_services.boosts.campaigns import as_json, event
from tests.wire.serving import ServerProcess

PARTITIONS = 2


def error(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line on stderr of a command that cannot run."""
    code = main(["worker", *map(str, arguments)])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("sortkey worker: ")
    return printed.err


NOWHERE = ("--kafka", "127.0.0.1:1", "--topic", "t")


def test_a_service_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no service 'boost'; there are boosts" in error(capsys, "boost", *NOWHERE)


# Their offsets would be committed, and the messages lost.
def test_a_store_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--store memory: would lose all messages" in error(capsys, "boosts", *NOWHERE, "--store", "memory:")


def test_a_store_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown scheme 'ftp'" in error(capsys, "boosts", *NOWHERE, "--store", "ftp://x")


def test_properties_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kafka.properties"
    file.write_text("group.id=mine\n")
    assert f"{file}, line 1: group.id" in error(capsys, "boosts", *NOWHERE, "--kafka-config", file)


def test_names_of_exceptions_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert "poison takes classes" in error(capsys, "boosts", *NOWHERE, "--poison", "not a name")
    assert "in_a_row is a number from 1 on" in error(capsys, "boosts", *NOWHERE, "--in-a-row", "0")


def test_a_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "Address already in use" in error(capsys, "boosts", *NOWHERE, "--metrics-port", port)


@pytest.mark.slow
def test_a_broker_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(worker, "START_SECONDS", 0.5)
    monkeypatch.chdir(tmp_path)
    address = f"127.0.0.1:{free_port()}"
    line = error(capsys, "boosts", "--kafka", address, "--topic", "t")
    assert f"cannot reach Kafka at {address} within 0.5 s" in line
    # Nothing was begun.
    assert list(tmp_path.iterdir()) == []


def test_a_topic_that_is_not_there(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    line = error(capsys, "boosts", "--kafka", broker.bootstrap, "--topic", "nobody-made-this")
    assert "there is no topic 'nobody-made-this'" in line


def test_a_store_that_is_not_there(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"http://127.0.0.1:{free_port()}"
    line = error(capsys, "boosts", "--kafka", broker.bootstrap, "--topic", broker.topic(1), "--store", store)
    assert f"the store {store} cannot be used" in line


# The folder belongs to both processes at once.
def test_what_the_worker_takes_in_the_server_answers(broker: Broker, start_worker: StartWorker, tmp_path: Path) -> None:
    topic = broker.topic(PARTITIONS)
    serve = [sys.executable, "-m", "sortkey", "serve", "boosts", "--store", str(tmp_path / "data"), "--port", "0"]
    server = subprocess.Popen([*serve, "--access-log", "off"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[1]
        feeding = start_worker("boosts", topic)
        produce(broker.bootstrap, topic, [("p1", as_json(event())), ("p2", as_json(event(partner="p2", score=2.5)))])
        feeding.wait_until_handled(2)
        body = json.dumps({"district": "BER-01", "partnerIds": ["p2", "p3", "p1"]}).encode()
        request = urllib.request.Request(
            f"{url}/boosts/de/lookup", body, {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request) as answer:
            found = json.load(answer)["boosts"]
        assert [(each["partnerId"], each["score"]) for each in found] == [("p2", 2.5), ("p1", 1.5)]
        assert feeding.stop(signal.SIGINT) == 0
        assert (tmp_path / "worker.log").read_text() == ""
    finally:
        server.terminate()
        server.communicate(timeout=60)


# What was under way when the store was killed is tried again until it is back, and only then committed.
def test_a_store_that_goes_away_and_comes_back(broker: Broker, start_worker: StartWorker, tmp_path: Path) -> None:
    topic = broker.topic(PARTITIONS)
    events = [event(number, partner=f"p{number}") for number in range(100)]
    store = ServerProcess("--data", tmp_path / "data")
    try:
        feeding = start_worker("boosts", topic, store.url)
        produce(broker.bootstrap, topic, [(each.partner_id, as_json(each)) for each in events[:50]])
        feeding.wait_until_handled(50)
        store.kill()
        produce(broker.bootstrap, topic, [(each.partner_id, as_json(each)) for each in events[50:]])
        feeding.wait_until_retried()
        # Else the store may be back before the worker has measured, and what it measured last was that all is done.
        feeding.wait_until_behind()
        store = ServerProcess("--data", tmp_path / "data", "--port", store.url.rpartition(":")[2])
        feeding.wait_until_committed(PARTITIONS)
        assert feeding.stop(signal.SIGTERM) == 0
    finally:
        store.kill()
    assert boosted(tmp_path / "data") == {each.partner_id for each in events}


# It holds messages that it thinks are its own, and the group has long given them to another.
def test_a_worker_that_stood_still_finds_its_way_back_and_sends_no_dead_letter_again(
    broker: Broker, start_worker: StartWorker, tmp_path: Path
) -> None:
    topic = broker.topic(PARTITIONS)
    frozen = start_worker("boosts", topic)
    frozen.freeze()
    poison = [(f"p{number}", b"poison %d" % number) for number in range(50)]
    good = [(f"p{number}", as_json(event(number, partner=f"p{number}"))) for number in range(50)]
    produce(broker.bootstrap, topic, [*poison[:25], *good[:25]])
    other = start_worker("boosts", topic)
    other.wait_until_committed(PARTITIONS)
    frozen.thaw()
    frozen.wait_until_partitions(PARTITIONS // 2)
    produce(broker.bootstrap, topic, [*poison[25:], *good[25:]])
    assert other.stop(signal.SIGTERM) == 0
    frozen.wait_until_committed(PARTITIONS)
    assert frozen.stop(signal.SIGTERM) == 0
    letters = dead_letters(settings(broker, topic), len(poison))
    assert sorted(letter.value() or b"" for letter in letters) == sorted(value for _, value in poison)
    assert boosted(tmp_path / "data") == {partner for partner, _ in good}


def boosted(folder: Path) -> set[str]:
    """Which of a hundred partners have a campaign."""

    async def ask() -> set[str]:
        async with sk.async_connect(folder, tables=BOOSTS.tables({})) as session:
            boosts = BOOSTS.make(session, {})
            assert isinstance(boosts, BoostsService)
            partners = [f"p{number}" for number in range(100)]
            return {partner for partner in partners if await boosts.campaigns_of("de", partner)}

    return asyncio.run(ask())
