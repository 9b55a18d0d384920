"""Changes come to their Kinesis streams at least once and in order, whatever fails, and no writer waits for it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from sortkey.engine.database import Database
from sortkey.engine.streams import kinesis_records
from sortkey.engine.tables.core import Settings
from sortkey.wire import kinesis_delivery
from sortkey.wire.kinesis_delivery import KinesisDelivery
from sortkey.wire.kinesis_targets import EndpointTarget, FolderTarget, Target, cut_torn_line, target_of
from tests.wire.conftest import Serve
from tests.wire.serving import RawClient, item, table

ARN = "arn:aws:kinesis:eu-west-1:000000000000:stream/changes"


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database(None, settings=Settings(delivers_to_kinesis=True))
    database.call("CreateTable", table("orders"))
    database.call("EnableKinesisStreamingDestination", {"TableName": "orders", "StreamArn": ARN})
    yield database
    database.close()


def put(database: Database, number: int, value: int) -> None:
    database.call("PutItem", {"TableName": "orders", "Item": item(number, v={"N": str(value)})})


def values(file: Path) -> list[tuple[str, str]]:
    """The key and the value of each record, in order."""
    records = [json.loads(line)["dynamodb"]["NewImage"] for line in file.read_text().splitlines()]
    return [(record["pk"]["S"], record["v"]["N"]) for record in records]


def delivered(database: Database, target: Target) -> None:
    """One round, without a thread."""
    delivery = KinesisDelivery(database, target, None)
    delivery.deliver()


def test_a_folder_gets_a_file_for_each_stream(database: Database, tmp_path: Path) -> None:
    for value in range(600):
        put(database, value % 7, value)
    target = FolderTarget(tmp_path / "new")
    delivered(database, target)
    expected = [(item(value % 7)["pk"]["S"], str(value)) for value in range(600)]
    assert values(tmp_path / "new" / "changes.jsonl") == expected
    (destination,) = kinesis_records.destinations(database)
    assert kinesis_records.pending(database, destination) == []
    put(database, 1, 600)
    delivered(database, target)
    assert len(values(tmp_path / "new" / "changes.jsonl")) == 601


# What was written but not removed from the store comes again; the torn line of the crash is gone.
def test_a_crash_between_writing_and_forgetting(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(database, 1, 1)
    with monkeypatch.context() as patched:
        patched.setattr(kinesis_records, "remove", lambda _core, _records: (_ for _ in ()).throw(OSError("crash")))
        delivered(database, FolderTarget(tmp_path))
    file = tmp_path / "changes.jsonl"
    with file.open("ab") as torn:
        torn.write(b'{"dynamodb": {"New')
    delivered(database, FolderTarget(tmp_path))
    assert values(file) == [(item(1)["pk"]["S"], "1")] * 2


@pytest.mark.parametrize(
    ("content", "kept"),
    [(b"", b""), (b"a\nb\n", b"a\nb\n"), (b"a\nb", b"a\n"), (b"ab", b""), (b"a\n" + b"b" * 70_000, b"a\n")],
)
def test_torn_lines(tmp_path: Path, content: bytes, kept: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    cut_torn_line(file)
    assert file.read_bytes() == kept


class Kinesis(HTTPServer):
    """PutRecords of a Kinesis-compatible endpoint, which does not take what `rejects` says."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[list[dict[str, Any]]] = []
        self.rejects: Callable[[dict[str, Any]], bool] = lambda _record: False
        self.taken: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Kinesis

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        records = sent["Records"]
        self.server.requests.append(records)
        results: list[dict[str, str]] = []
        for record in records:
            image = json.loads(base64.b64decode(record["Data"]))["dynamodb"]["NewImage"]
            if self.server.rejects(image):
                results.append({"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "slow down"})
            else:
                self.server.taken.append(image["v"]["N"])
                results.append({"SequenceNumber": "1", "ShardId": "shardId-000000000000"})
        failed = sum("ErrorCode" in result for result in results)
        body = json.dumps({"FailedRecordCount": failed, "Records": results}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""


@pytest.fixture
def kinesis() -> Iterator[Kinesis]:
    server = Kinesis()
    yield server
    server.shutdown()
    server.server_close()


# One request has one change of an item: a change that is not taken cannot be overtaken by the item's next one.
@pytest.mark.slow
def test_an_endpoint_gets_each_items_changes_in_order(database: Database, kinesis: Kinesis) -> None:
    for value in range(6):
        put(database, value % 2, value)
    target = EndpointTarget(f"http://127.0.0.1:{kinesis.server_port}")
    kinesis.rejects = lambda image: bool(image["v"]["N"] == "2")
    delivered(database, target)
    assert kinesis.taken == ["0", "1", "3"]
    kinesis.rejects = lambda _image: False
    delivered(database, target)
    assert kinesis.taken == ["0", "1", "3", "2", "3", "4", "5"]
    keys = [[record["PartitionKey"] for record in request] for request in kinesis.requests]
    assert all(len(set(request)) == len(request) for request in keys)
    assert len({key for request in keys for key in request}) == 2


def test_a_target_that_is_away_holds_nobody(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    class Away(FolderTarget):
        def put(self, destination: Any, records: Any) -> None:  # noqa: ARG002
            raise OSError("away")

    delivery = KinesisDelivery(database, Away(Path()), None)
    put(database, 1, 1)
    delivery.deliver()
    assert "changes of table orders wait for the Kinesis stream changes: away; tried again in 0.5 s" in caplog.text
    caplog.clear()
    delivery.deliver()
    assert caplog.text == ""  # paused
    put(database, 1, 2)


def test_the_thread_delivers_when_a_change_is_committed(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinesis_delivery, "POLL_SECONDS", 60.0)
    arrived = threading.Event()

    class Noticing(FolderTarget):
        def put(self, destination: Any, records: Any) -> None:
            super().put(destination, records)
            arrived.set()

    delivery = KinesisDelivery(database, Noticing(tmp_path), None)
    put(database, 1, 1)
    delivery.start()
    assert arrived.wait(30)
    arrived.clear()
    put(database, 1, 2)
    assert arrived.wait(30)
    delivery.close()
    assert [value for _, value in values(tmp_path / "changes.jsonl")] == ["1", "2"]


def test_targets() -> None:
    assert isinstance(target_of("http://127.0.0.1:4567"), EndpointTarget)
    assert isinstance(target_of("./changes"), FolderTarget)


# Killed at any point, the server goes on where it was: nothing is missing, and first deliveries are in order.
@pytest.mark.slow
def test_kill(serve: Serve, tmp_path: Path) -> None:
    arguments = ("--data", tmp_path / "data", "--kinesis", tmp_path / "kinesis")
    written = 0
    for round_ in range(4):
        server = serve(*arguments)
        client = RawClient(server.url)
        if round_ == 0:
            client.call("CreateTable", **table("orders"))
            client.call("EnableKinesisStreamingDestination", TableName="orders", StreamArn=ARN)
        for _ in range(300):
            client.call("PutItem", TableName="orders", Item=item(written % 5, v={"N": str(written)}))
            written += 1
        client.close()
        server.kill()
    server = serve(*arguments)
    file = tmp_path / "kinesis" / "changes.jsonl"
    client = RawClient(server.url)
    client.call("PutItem", TableName="orders", Item=item(9, v={"N": str(written)}))
    while not file.exists() or f'"v":{{"N":"{written}"}}' not in file.read_text():
        client.call("ListTables")
    first = list(dict.fromkeys(int(value) for _, value in values(file)))
    assert first == list(range(written + 1))
    client.close()
    assert server.stop() == 0
