"""The endpoint behind a connection: what the order of requests means, limits on writes, and bugs."""

from __future__ import annotations

import itertools
from queue import SimpleQueue
from threading import Event
from typing import Any, cast

import lmdb
import pytest

from sortkey.engine.database import Database
from sortkey.engine.operations.answers import to_json
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer
from sortkey.errors import ValidationException
from sortkey.http.connection import Connection
from sortkey.http.listener import AllowedHosts
from sortkey.wire import endpoint as limits
from sortkey.wire.authentication import NoAuthentication
from sortkey.wire.commit_scheduler import CommitScheduler, PendingWrite
from sortkey.wire.costly_requests import LargeRequests, SliceScheduler
from sortkey.wire.endpoint import Endpoint
from sortkey.wire.metrics import EndpointMetrics
from sortkey.wire.protocol import Responses
from tests.http.connecting import Host, Transport, connect
from tests.wire.serving import item, request

GET = request("GetItem", {"TableName": "orders", "Key": item(1)})
PUT = request("PutItem", {"TableName": "orders", "Item": item(1)})


class Commits:
    """A scheduler that leaves commits to the write queue's thread, and answers when a test finishes them."""

    def __init__(self, database: Database) -> None:
        self.reads = self.queued = self.queued_bytes = 0
        self._queue = database.store.queue
        self._durable: SimpleQueue[PendingWrite] = SimpleQueue()
        self.post = self._durable.put

    def submit(self, write: PendingWrite) -> None:
        self._queue.enqueue(write)
        self._queue.summon()
        self.queued += 1
        self.queued_bytes += write.size

    def finish(self, number: int) -> None:
        """Wait for that many writes, and answer them."""
        for _ in range(number):
            write = self._durable.get(timeout=60)
            self.queued -= 1
            self.queued_bytes -= write.size
            write.finish(write)


@pytest.fixture
def commits(database: Database) -> Commits:
    return Commits(database)


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
def connection(database: Database, commits: Commits, transport: Transport) -> Connection:
    host = Host()
    scheduler = cast(CommitScheduler, cast(Any, commits))
    host.handler = Endpoint(
        database,
        NoAuthentication(AllowedHosts()),
        scheduler,
        SliceScheduler(host.call_soon),
        LargeRequests(host.call_soon),
        Responses("A" * 36, 0.0),
        EndpointMetrics(),
        dict,
    )
    return connect(host, transport)


def test_a_write_is_answered_when_it_is_committed(
    commits: Commits, connection: Connection, transport: Transport
) -> None:
    connection.data_received(PUT)
    assert transport.written == b""
    commits.finish(1)
    assert transport.statuses() == [200]


# A client that sends a write and a read without waiting means them in this order.
def test_a_read_behind_a_write_sees_it(commits: Commits, connection: Connection, transport: Transport) -> None:
    connection.data_received(GET + PUT + GET)
    assert transport.statuses() == [200]
    commits.finish(1)
    assert transport.statuses() == [200, 200, 200]
    assert transport.written.count(b'"Item"') == 1
    assert transport.written.rindex(b'"Item"') > transport.written.rindex(b"HTTP/1.1")


def test_writes_behind_each_other_share_commits(commits: Commits, database: Database, connection: Connection) -> None:
    begun, received = Event(), Event()

    def hold(_: WriteBatch) -> None:
        begun.set()
        assert received.wait(60)

    # The writer would commit each of them if it were quicker than the connection.
    database.store.submit(hold, lambda *_: None)
    assert begun.wait(60)
    before = database.store.queue.commits
    connection.data_received(PUT * 50)
    received.set()
    commits.finish(50)
    assert database.store.queue.commits - before < 25


# The error is known at once, and still has to wait for its turn.
def test_answers_keep_the_order_of_requests(commits: Commits, connection: Connection, transport: Transport) -> None:
    wrong = request("PutItem", {"TableName": "orders", "Item": {"pk": {"S": ""}}, "ReturnValues": "ALL_NEW"})
    connection.data_received(PUT + wrong + PUT)
    assert transport.written == b""
    commits.finish(2)
    assert transport.statuses() == [200, 400, 200]


# SDKs retry it, with longer and longer pauses.
def test_too_many_queued_writes_are_throttled(
    commits: Commits, connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "QUEUED_WRITES", 2)
    connection.data_received(PUT * 3)
    commits.finish(2)
    assert transport.statuses() == [200, 200, 400]
    assert b"com.amazon.coral.availability#ThrottlingException" in transport.written
    connection.data_received(PUT)
    commits.finish(1)
    assert transport.statuses()[3:] == [200]


# Botocore retries it.
def test_too_many_bytes_under_way_are_unavailable(
    commits: Commits, connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNDER_WAY_BYTES", 200)
    connection.data_received(PUT * 3)
    commits.finish(2)
    assert transport.statuses() == [200, 200, 503]
    assert b"Retry-After: 1" in transport.written


def test_large_requests_leave_room_for_small_ones(
    commits: Commits, connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNDER_WAY_BYTES", 100_000)
    large = request("PutItem", {"TableName": "orders", "Item": item(1) | {"text": {"S": "x" * 80_000}}})
    connection.data_received(PUT + large + PUT)
    commits.finish(2)
    assert transport.statuses() == [200, 503, 200]


# A bug in an operation costs one answer, not the connection.
def test_a_bug_is_an_internal_error(
    connection: Connection,
    database: Database,
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(database, "execute", broken)
    connection.data_received(request("ListTables", {}))
    assert transport.statuses() == [500]
    assert b"InternalServerError" in transport.written
    assert "ListTables failed" in caplog.text


# It is not the request's fault, and there may be memory again in a moment.
@pytest.mark.parametrize("error", [MemoryError(), lmdb.MemoryError("mdb_txn_begin")])
def test_a_lack_of_memory_is_a_503(
    commits: Commits,
    connection: Connection,
    database: Database,
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def starved(*_: object) -> None:
        raise error

    monkeypatch.setattr(database, "execute", starved)
    monkeypatch.setattr(database.store.queue, "begin", starved)
    connection.data_received(request("ListTables", {}))
    connection.data_received(request("PutItem", {"TableName": "orders", "Item": item(1)}))
    commits.finish(1)
    assert transport.statuses() == [503, 503]
    assert transport.written.count(b"Retry-After") == 2


UPDATE = request(
    "UpdateItem",
    {
        "TableName": "orders",
        "Key": item(2),
        "UpdateExpression": "SET v = :v",
        "ExpressionAttributeValues": {":v": {"S": "x"}},
        "ReturnValues": "ALL_NEW",
    },
)


# The write is durable; only its own client must not be told so.
def test_an_answer_that_cannot_be_made_costs_no_other(
    commits: Commits, connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(answer: Answer) -> bytes:
        if "Attributes" in answer:
            raise TypeError("Integer exceeds 64-bit range")
        return to_json(answer)

    monkeypatch.setattr(limits, "to_json", broken)
    connection.data_received(PUT + UPDATE + PUT)
    commits.finish(3)
    assert transport.statuses() == [200, 500, 200]


def test_nor_does_one_that_cannot_be_counted(
    commits: Commits, connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    success = Endpoint._success
    calls = itertools.count()

    def broken_once(*arguments: Any) -> bytes:
        if next(calls) == 1:
            raise KeyError("orders")
        return success(*arguments)

    monkeypatch.setattr(Endpoint, "_success", broken_once)
    connection.data_received(PUT * 3)
    commits.finish(3)
    assert transport.statuses() == [200, 500, 200]
    connection.data_received(PUT)
    commits.finish(1)
    assert transport.statuses()[3:] == [200]


def test_a_read_whose_answer_cannot_be_made_is_an_internal_error(
    connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(Responses, "success", broken)
    connection.data_received(GET + request("DescribeTable", {"TableName": "orders"}))
    assert transport.statuses() == [500, 500]


# An error may hold an item.
def test_an_error_that_cannot_be_sent_is_an_internal_error(
    connection: Connection, database: Database, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValidationException("no", Item={"n": 2**64})

    monkeypatch.setattr(database, "execute", broken)
    connection.data_received(request("ListTables", {}))
    assert transport.statuses() == [500]


def test_metrics_that_cannot_be_made_are_an_internal_error(
    connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise OSError

    monkeypatch.setattr(limits, "render", broken)
    connection.data_received(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET)
    assert transport.statuses() == [500, 200]
