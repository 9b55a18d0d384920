"""Long reads on the endpoint: others are answered between their slices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sortkey.engine.database import Database
from sortkey.engine.operations import pages
from sortkey.wire import costly_requests
from tests.wire.serving import item, request, table
from tests.wire.stepped_endpoint import Clients

ROWS = 500
GET = request("GetItem", {"TableName": "orders", "Key": item(1)})
SCAN = request("Scan", {"TableName": "orders"})
SHORT_SCAN = request("Scan", {"TableName": "orders", "Limit": 1})


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(pages, "SLICE_UNITS", 10)
    database = Database(None)
    database.call("CreateTable", table("orders"))
    for number in range(ROWS):
        database.call("PutItem", {"TableName": "orders", "Item": item(number)})
    yield database
    database.close()


@pytest.fixture
def clients(database: Database) -> Clients:
    return Clients(database)


def test_others_are_answered_before_a_long_scan_is(clients: Clients) -> None:
    (scanning, scanned), (getting, got) = clients.connect(), clients.connect()
    scanning.data_received(SCAN)
    getting.data_received(GET)
    assert got.statuses() == [200]
    assert scanned.statuses() == []
    assert clients.turn_until_done() > 2
    assert scanned.statuses() == [200]
    assert scanned.written.count(b'"pk"') == ROWS


def test_a_short_scan_is_answered_at_once(clients: Clients) -> None:
    connection, transport = clients.connect()
    connection.data_received(SHORT_SCAN)
    assert transport.statuses() == [200]


# Otherwise a thousand clients could each have a slice in one turn.
def test_a_short_scan_beside_a_long_one_waits_for_its_turn(clients: Clients) -> None:
    (long, scanned), (short, answered) = clients.connect(), clients.connect()
    long.data_received(SCAN)
    short.data_received(SHORT_SCAN)
    assert answered.statuses() == []
    clients.host.end_turn()
    assert answered.statuses() == [200]
    assert scanned.statuses() == []


def test_what_follows_on_the_connection_waits_for_the_scan(clients: Clients) -> None:
    connection, transport = clients.connect()
    connection.data_received(SCAN + GET + request("PutItem", {"TableName": "orders", "Item": item(ROWS)}))
    assert transport.statuses() == []
    connection.data_received(GET)
    assert transport.statuses() == []


# Each holds a snapshot and a part of its answer.
def test_few_reads_are_under_way_at_a_time(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costly_requests, "UNDER_WAY", 2)
    transports = []
    for _ in range(7):
        connection, transport = clients.connect()
        connection.data_received(SCAN)
        transports.append(transport)
    short, answered = clients.connect()
    short.data_received(SHORT_SCAN)
    turns = 0
    while not answered.statuses():
        clients.host.end_turn()
        turns += 1
        assert turns <= 8
    clients.turn_until_done()
    assert [transport.statuses() for transport in transports] == [[200]] * 7


def test_the_scan_of_a_client_that_has_gone_ends(clients: Clients) -> None:
    connection, transport = clients.connect()
    connection.data_received(SCAN)
    connection.connection_lost(None)
    assert clients.turn_until_done() == 1
    assert transport.statuses() == []


def test_a_bug_in_a_slice_is_an_internal_error(
    clients: Clients, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection, transport = clients.connect()
    connection.data_received(SCAN)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(pages, "_last_evaluated_key", broken)
    monkeypatch.setattr("sortkey.engine.operations.pages.PageWalk.chunk", broken)
    clients.turn_until_done()
    assert transport.statuses() == [500]
    assert "Scan failed" in caplog.text


# What fails is logged by the loop; the reads of other clients would wait for ever.
def test_a_read_that_cannot_be_answered_costs_no_other(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise ZeroDivisionError

    connected = [clients.connect() for _ in range(2)]
    with monkeypatch.context() as patched:
        patched.setattr(clients.host.handler, "_advance_read", broken)
        connected[0][0].data_received(SCAN)
    connected[1][0].data_received(SCAN)
    with pytest.raises(ZeroDivisionError):
        clients.host.end_turn()
    clients.turn_until_done()
    assert connected[1][1].statuses() == [200]
    assert clients.scheduler.bytes == 0


# A request with megabytes of values waits with all of them.
@pytest.mark.slow
def test_the_bytes_of_long_reads_are_limited(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sortkey.wire.endpoint.UNDER_WAY_BYTES", len(b'{"TableName": "orders"}'))
    (first, scanned), (second, rejected) = clients.connect(), clients.connect()
    first.data_received(SCAN)
    second.data_received(SCAN)
    assert rejected.statuses() == [503]
    clients.turn_until_done()
    assert scanned.statuses() == [200]
    second.data_received(SCAN)
    clients.turn_until_done()
    assert rejected.statuses() == [503, 200]
