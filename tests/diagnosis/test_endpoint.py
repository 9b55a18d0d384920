"""Endpoints: real ones, absent ones, and servers that speak something else."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

import sortkey
from sortkey.client import Client, stores
from sortkey.client.stores import Remote
from sortkey.clock import SystemClock
from sortkey.diagnosis import endpoint
from sortkey.diagnosis.finding import Finding
from tests.wire.serving import ServerProcess

pytestmark = pytest.mark.slow

CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "absent"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ServerProcess("--memory")
    yield server.url
    server.stop()


def remote(url: str) -> Remote:
    found = stores.parse(url).remote
    assert found is not None
    return found


def examined(url: str) -> dict[str, Finding]:
    findings = endpoint.examine_endpoint(url, remote(url), SystemClock())
    assert [finding.subject for finding in findings if finding.status != "ok" and not finding.advice] == []
    return {finding.subject: finding for finding in findings}


@contextmanager
def answering(status: int, body: bytes, headers: dict[str, str]) -> Iterator[str]:
    """The URL of a server that gives each POST the same answer."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response_only(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quietly."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def dated(seconds: float, **headers: str) -> dict[str, str]:
    return {"Date": formatdate(SystemClock().now() + seconds, usegmt=True), **headers}


def test_a_sortkey_endpoint(url: str) -> None:
    found = examined(url)
    assert list(found) == ["endpoint", "credentials", "product", "clock skew", "latency"]
    assert {finding.status for finding in found.values()} <= {"ok", "warn"}
    assert found["product"].found == "a Sortkey endpoint"
    assert found["clock skew"].status == "ok"
    assert found["latency"].numbers["median"] > 0


def test_an_endpoint_that_is_not_there() -> None:
    found = examined("http://127.0.0.1:1")
    assert list(found) == ["endpoint", "credentials"]
    assert found["endpoint"].status == "fail"
    assert "cannot be reached" in found["endpoint"].found


def test_an_endpoint_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "LONGEST_SECONDS", 0.2)
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as silent:
        found = examined(f"http://127.0.0.1:{silent.server_address[1]}")
    assert found["endpoint"].status == "fail"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"<html>not found</html>"),
        (404, b'{"error":{"code":"not_found"}}'),
        (200, b"<html>hello</html>"),
        (200, b"{}"),
    ],
)
def test_a_server_of_another_protocol(status: int, body: bytes) -> None:
    with answering(status, body, dated(0)) as url:
        found = examined(url)["endpoint"]
    assert found.status == "fail"
    assert "not DynamoDB's protocol" in found.found


def test_a_key_that_the_endpoint_does_not_know(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"AKIDADMIN": {"secret": "s" * 40}}))
    keys.chmod(0o600)
    server = ServerProcess("--memory", "--keys", keys)
    try:
        found = examined(server.url)
    finally:
        server.stop()
    assert found["endpoint"].status == "fail"
    assert "rejects the signature" in found["endpoint"].found
    assert found["clock skew"].status == "ok"
    assert "latency" not in found


# A key for some tables may do without listing them all.
def test_a_key_that_may_not_list_tables() -> None:
    body = json.dumps({"__type": "com.amazon.coral.service#AccessDeniedException", "Message": "no"}).encode()
    with answering(400, body, dated(0, Server="Sortkey")) as url:
        assert examined(url)["endpoint"].status == "ok"


@pytest.mark.parametrize(("skew", "status"), [(0, "ok"), (60, "warn"), (-60, "warn"), (-3600, "fail")])
def test_clock_skew(skew: float, status: str) -> None:
    with answering(200, b'{"TableNames":[]}', dated(skew)) as url:
        found = examined(url)["clock skew"]
    assert found.status == status
    assert found.numbers["skew"] == pytest.approx(skew, abs=5)


def test_an_answer_without_a_date() -> None:
    with answering(200, b'{"TableNames":[]}', {}) as url:
        assert examined(url)["clock skew"].status == "warn"


def test_products() -> None:
    assert endpoint.judge_product(stores.ALTERNATOR).found.startswith("ScyllaDB Alternator; without transactions")
    assert endpoint.judge_product(stores.UNKNOWN).status == "warn"


def test_credentials_are_named_by_their_source_only(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDSECRET")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    assert examined(url)["credentials"].found == "found (env)"


def test_aws_needs_credentials() -> None:
    found = examined("dynamodb://eu-west-1")
    assert [(finding.subject, finding.status) for finding in found.values()] == [
        ("endpoint", "fail"),
        ("credentials", "fail"),
    ]


@pytest.mark.parametrize(("median", "status"), [(0.001, "ok"), (0.2, "warn")])
def test_latency(median: float, status: str) -> None:
    assert endpoint.judge_latency(median, median).status == status


@pytest.fixture
def create_table(url: str) -> Iterator[Callable[..., Client]]:
    with sortkey.client(url) as client:

        def create(name: str, **keys: str) -> Client:
            kinds = zip(keys, ("HASH", "RANGE"), strict=False)
            client.create_table(
                TableName=name,
                KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in kinds],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": each} for key, each in keys.items()],
                BillingMode="PAY_PER_REQUEST",
            )
            return client

        yield create


@pytest.mark.parametrize("keys", [{"pk": "S"}, {"pk": "N", "sk": "B"}, {"pk": "B", "sk": "S"}])
def test_a_written_item_is_read_and_deleted(url: str, create_table: Callable[..., Any], keys: dict[str, str]) -> None:
    table = "written-" + "".join(keys.values())
    client = create_table(table, **keys)
    found = endpoint.examine_write(url, remote(url), table)
    assert (found.status, found.subject) == ("ok", "write")
    assert client.scan(TableName=table)["Count"] == 0


def test_a_table_that_does_not_exist(url: str) -> None:
    found = endpoint.examine_write(url, remote(url), "absent")
    assert found.status == "fail"
    assert "ResourceNotFoundException" in found.found
