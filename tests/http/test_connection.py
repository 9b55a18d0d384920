"""One connection without sockets: the order of answers, and what a client may not do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, cast

import pytest

from sortkey.engine.database import Database
from sortkey.http import connection as limits
from sortkey.http.connection import Connection
from sortkey.http.outbox import Outbox
from sortkey.wire import endpoint as endpoint_limits
from sortkey.wire.authentication import NoAuthentication
from sortkey.wire.endpoint import Endpoint, PendingWrite
from sortkey.wire.metrics import Metrics
from sortkey.wire.response import Responses
from tests.wire.serving import item, request, table

GET = request("GetItem", {"TableName": "orders", "Key": item(1)})
PUT = request("PutItem", {"TableName": "orders", "Item": item(1)})


class Transport:
    """Takes what is sent by the end of the loop's turn; `full` is how a client looks that does not read."""

    def __init__(self) -> None:
        self.sent = b""
        self.outbox: Outbox
        self.state = "open"
        self.reading = True
        self.full = False
        self.connection: Connection | None = None

    def get_extra_info(self, _name: str) -> None:
        return None

    @property
    def written(self) -> bytes:
        self.outbox.send()
        return self.sent

    def is_closing(self) -> bool:
        return self.state in ("closed", "aborted")

    def write(self, data: bytes) -> None:
        self.sent += data
        if self.full and self.connection is not None:
            self.connection.pause_writing()

    def write_eof(self) -> None:
        self.state = "ended"

    def close(self) -> None:
        self.state = "closed"

    def abort(self) -> None:
        self.state = "aborted"

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def statuses(self) -> list[int]:
        return [int(part.split(b" ", 1)[0]) for part in self.written.split(b"HTTP/1.1 ")[1:]]


class Owner:
    """A server whose seconds and commits happen when a test says so."""

    def __init__(self, database: Database) -> None:
        self.metrics = Metrics()
        self.committed: SimpleQueue[PendingWrite] = SimpleQueue()
        self.reads = 0
        self.submit = database.store.submit
        self.post = self.committed.put
        self.endpoint = Endpoint(database, Responses("A" * 36, 0.0), self.metrics, NoAuthentication(), self, dict)
        self.tick = 0
        self.buffered = 0
        self.stopping = False
        self.room = True
        self.soon: list[Callable[[], None]] = []
        self.call_soon: Callable[[Callable[[], None]], object] = self.soon.append
        self.outbox = Outbox(self.metrics, self.call_soon)

    def handler(self, _peer: str) -> Endpoint:
        return self.endpoint

    def joins(self, _connection: Connection) -> bool:
        return self.room

    def leaves(self, connection: Connection) -> None:
        pass

    def end_turn(self) -> None:
        """What was left for later on the loop, once."""
        due, self.soon[:] = self.soon[:], []
        for callback in due:
            callback()

    def finish_commits(self, number: int) -> None:
        """Wait for that many writes, and answer them."""
        for _ in range(number):
            self.endpoint.finish(self.committed.get(timeout=60))


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database(None)
    database.call("CreateTable", table("orders"))
    yield database
    database.close()


@pytest.fixture
def owner(database: Database) -> Owner:
    return Owner(database)


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
def connection(owner: Owner, transport: Transport) -> Connection:
    return connected(owner, transport)


def connected(owner: Owner, transport: Transport) -> Connection:
    connection = Connection(owner)
    transport.connection = connection
    transport.outbox = owner.outbox
    connection.connection_made(cast(asyncio.Transport, cast(Any, transport)))
    return connection


def test_a_read_is_answered_at_once(connection: Connection, transport: Transport) -> None:
    connection.data_received(GET)
    assert transport.statuses() == [200]


def test_the_answers_of_one_turn_are_sent_together(owner: Owner) -> None:
    transports = [Transport(), Transport()]
    connections = [connected(owner, transport) for transport in transports]
    for connection in connections:
        connection.data_received(GET)
    assert [transport.sent for transport in transports] == [b"", b""]
    owner.end_turn()
    assert all(transport.sent for transport in transports)


# Its last request and its end may come in one turn, and then nothing is left to be done but to close.
def test_a_client_that_hangs_up_in_the_same_turn_has_its_answer(connection: Connection, transport: Transport) -> None:
    connection.data_received(GET)
    assert connection.eof_received() is False
    assert transport.sent.startswith(b"HTTP/1.1 200 ")


def test_a_write_is_answered_when_it_is_committed(owner: Owner, connection: Connection, transport: Transport) -> None:
    connection.data_received(PUT)
    assert transport.written == b""
    owner.finish_commits(1)
    assert transport.statuses() == [200]


# A client that sends a write and a read without waiting means them in this order.
def test_a_read_behind_a_write_sees_it(owner: Owner, connection: Connection, transport: Transport) -> None:
    connection.data_received(GET + PUT + GET)
    assert transport.statuses() == [200]
    owner.finish_commits(1)
    assert transport.statuses() == [200, 200, 200]
    assert transport.written.count(b'"Item"') == 1
    assert transport.written.rindex(b'"Item"') > transport.written.rindex(b"HTTP/1.1")


def test_writes_behind_each_other_share_commits(owner: Owner, database: Database, connection: Connection) -> None:
    before = database.store.queue.commits
    connection.data_received(PUT * 50)
    owner.finish_commits(50)
    assert database.store.queue.commits - before < 25


# The error is known at once, and still has to wait for its turn.
def test_answers_keep_the_order_of_requests(owner: Owner, connection: Connection, transport: Transport) -> None:
    wrong = request("PutItem", {"TableName": "orders", "Item": {"pk": {"S": ""}}, "ReturnValues": "ALL_NEW"})
    connection.data_received(PUT + wrong + PUT)
    assert transport.written == b""
    owner.finish_commits(2)
    assert transport.statuses() == [200, 400, 200]


def test_a_client_that_goes_away_takes_its_answers_with_it(
    owner: Owner, connection: Connection, transport: Transport
) -> None:
    connection.data_received(PUT + GET)
    connection.connection_lost(None)
    owner.finish_commits(1)
    assert transport.written == b""


def test_a_client_that_has_said_all_gets_its_answers(
    owner: Owner, connection: Connection, transport: Transport
) -> None:
    connection.data_received(PUT)
    assert connection.eof_received() is True
    owner.finish_commits(1)
    assert (transport.statuses(), transport.state) == ([200], "closed")


def test_the_last_request_ends_the_connection(connection: Connection, transport: Transport) -> None:
    connection.data_received(request("ListTables", {}, "Connection: close") + GET)
    assert (transport.statuses(), transport.state) == ([200], "ended")


def test_a_rejected_client_may_read_its_answer(owner: Owner, connection: Connection, transport: Transport) -> None:
    connection.data_received(b"nonsense\r\n\r\n")
    assert (transport.statuses(), transport.state) == ([400], "ended")
    connection.data_received(GET)
    owner.tick += limits.LINGER_SECONDS + 1
    connection.check()
    assert (transport.statuses(), transport.state) == ([400], "aborted")


# Answers nobody reads must not pile up, nor the requests for more of them.
def test_a_client_that_does_not_read_is_not_read_from(connection: Connection, transport: Transport) -> None:
    transport.full = True
    connection.data_received(GET * 10_000)
    assert len(transport.statuses()) <= limits.TURN_REQUESTS
    assert not transport.reading
    transport.full = False
    connection.resume_writing()
    assert len(transport.statuses()) > limits.TURN_REQUESTS


def test_a_client_that_never_reads_is_left(owner: Owner, connection: Connection, transport: Transport) -> None:
    transport.full = True
    connection.data_received(GET)
    owner.end_turn()
    owner.tick += limits.STALLED_SECONDS + 1
    connection.check()
    assert transport.state == "aborted"


# Ten thousand requests in one piece are worth a second; the others' turn comes every so often.
def test_one_client_does_not_keep_the_loop(owner: Owner, connection: Connection, transport: Transport) -> None:
    connection.data_received(GET * 200)
    turns = [len(transport.statuses())]
    while owner.soon:
        owner.end_turn()
        turns.append(len(transport.statuses()))
    assert turns[:4] == [64, 128, 192, 200]
    assert transport.reading


def test_a_request_that_does_not_come_to_its_end(owner: Owner, connection: Connection, transport: Transport) -> None:
    connection.data_received(PUT[:-5])
    owner.tick += limits.REQUEST_SECONDS + 1
    connection.check()
    assert transport.statuses() == [408]


# Each drop would reset a timer that only looks at the last byte.
def test_a_request_that_comes_drop_by_drop(owner: Owner, connection: Connection, transport: Transport) -> None:
    for byte in PUT[: limits.REQUEST_SECONDS + 2]:
        connection.data_received(bytes([byte]))
        owner.tick += 1
        connection.check()
    assert transport.statuses() == [408]


# One request's end and the next one's beginning in each piece: busy, not slow.
def test_a_busy_client_is_not_a_slow_one(owner: Owner, connection: Connection, transport: Transport) -> None:
    connection.data_received(GET[:10])
    for _ in range(limits.REQUEST_SECONDS + 10):
        connection.data_received(GET[10:] + GET[:10])
        owner.tick += 1
        connection.check()
    assert set(transport.statuses()) == {200}
    assert transport.state == "open"


def test_an_idle_connection_is_closed_in_the_end(owner: Owner, connection: Connection, transport: Transport) -> None:
    connection.data_received(GET)
    owner.tick += limits.IDLE_SECONDS
    connection.check()
    assert transport.state == "open"
    owner.tick += 1
    connection.check()
    assert transport.state == "closed"


def test_one_connection_too_many(owner: Owner, transport: Transport) -> None:
    owner.room = False
    connected(owner, transport)
    assert (transport.statuses(), transport.state) == ([503], "ended")


def test_bodies_of_all_connections_together_are_bounded(
    owner: Owner, connection: Connection, transport: Transport
) -> None:
    owner.buffered = limits.BUFFERED_BYTES
    connection.data_received(PUT[:-5])
    assert transport.statuses() == [503]
    connection.connection_lost(None)
    assert owner.buffered == limits.BUFFERED_BYTES


def test_a_body_that_is_complete_is_no_longer_counted(owner: Owner, connection: Connection) -> None:
    connection.data_received(PUT[:-5])
    assert owner.buffered > 0
    connection.data_received(PUT[-5:])
    assert owner.buffered == 0
    owner.finish_commits(1)


# SDKs retry it, with longer and longer pauses.
def test_too_many_queued_writes_are_throttled(
    owner: Owner, connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_limits, "QUEUED_WRITES", 2)
    connection.data_received(PUT * 3)
    owner.finish_commits(2)
    assert transport.statuses() == [200, 200, 400]
    assert b"com.amazon.coral.availability#ThrottlingException" in transport.written
    connection.data_received(PUT)
    owner.finish_commits(1)
    assert transport.statuses()[3:] == [200]


def test_so_are_too_many_queued_bytes(
    owner: Owner, connection: Connection, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_limits, "QUEUED_BYTES", 200)
    connection.data_received(PUT * 3)
    owner.finish_commits(2)
    assert transport.statuses() == [200, 200, 400]


def test_stopping_finishes_what_is_under_way(owner: Owner, connection: Connection, transport: Transport) -> None:
    connection.data_received(PUT + GET)
    owner.stopping = True
    connection.stop()
    assert transport.state == "open"
    owner.finish_commits(1)
    assert transport.statuses() == [200, 200]
    assert transport.state == "ended"


def test_stopping_closes_what_is_idle(connection: Connection, transport: Transport) -> None:
    connection.data_received(GET)
    connection.stop()
    assert (transport.statuses(), transport.state) == ([200], "closed")


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
    connection.data_received(request("Scan", {"TableName": "orders"}))
    assert transport.statuses() == [500]
    assert b"InternalServerError" in transport.written
    assert "Scan failed" in caplog.text
