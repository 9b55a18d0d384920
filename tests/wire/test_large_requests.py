"""Large requests: a thread decodes them, and others are answered meanwhile."""

from __future__ import annotations

import gc
import gzip
import queue
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sortkey.engine.database import Database
from sortkey.engine.requests.pieces import PIECE_BYTES
from sortkey.values import attribute
from sortkey.wire.costly_requests import ITEM_BODY_BYTES, LargeRequests
from tests.wire.serving import item, request
from tests.wire.stepped_endpoint import Clients

GET = request("GetItem", {"TableName": "orders", "Key": item(1)})
LARGE_ITEM = item(1) | {"text": {"S": "x" * 100_000}}
PUT = request("PutItem", {"TableName": "orders", "Item": LARGE_ITEM})
QUERY = {
    "TableName": "orders",
    "KeyConditionExpression": "pk = :p",
    "FilterExpression": "#t <> :v",
    "ExpressionAttributeNames": {"#t": "text"},
    "ExpressionAttributeValues": {":p": item(1)["pk"], ":v": {"S": "y" * 100_000}},
}


@pytest.fixture
def clients(database: Database) -> Iterator[Clients]:
    clients = Clients(database)
    yield clients
    clients.large.close()


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that made items canonical."""
    seen: list[str] = []
    members = attribute._Walk.members

    def noted(walk: Any, given: Any) -> Any:
        seen.append(threading.current_thread().name)
        return members(walk, given)

    monkeypatch.setattr(attribute._Walk, "members", noted)
    return seen


# A set of 70,000 numbers took the loop a quarter of a second; a batch has 25 of them.
def test_others_are_answered_while_a_large_write_is_decoded(clients: Clients, threads: list[str]) -> None:
    (writing, written), (getting, got) = clients.connect(), clients.connect()
    writing.data_received(PUT)
    getting.data_received(GET)
    assert got.statuses() == [200]
    clients.go_on_with_large()
    assert {name.split("_")[0] for name in threads} == {"sortkey-large-requests"}
    clients.commits.commit_one()
    assert written.statuses() == [200]
    assert clients.large.bytes == 0


def test_a_large_read_is_begun_by_the_thread(clients: Clients, database: Database) -> None:
    database.call("PutItem", {"TableName": "orders", "Item": LARGE_ITEM})
    reading, answer = clients.connect()
    reading.data_received(request("Query", QUERY))
    assert answer.statuses() == []
    clients.go_on_with_large()
    clients.turn_until_done()
    assert answer.statuses() == [200]
    assert answer.written.count(b'"pk"') == 1


def test_what_follows_on_the_connection_waits(clients: Clients) -> None:
    connection, transport = clients.connect()
    connection.data_received(PUT + request("DeleteItem", {"TableName": "orders", "Key": item(1)}) + GET)
    assert not clients.commits.submitted
    clients.go_on_with_large()
    clients.commits.commit_one()
    clients.commits.commit_one()
    assert transport.statuses() == [200] * 3
    assert b'"Item"' not in transport.written


@pytest.mark.parametrize(
    ("operation", "members", "words"),
    [
        ("PutItem", {"TableName": "nowhere", "Item": LARGE_ITEM}, b"ResourceNotFoundException"),
        ("PutItem", {"TableName": "orders", "Item": LARGE_ITEM | {"n": {"N": "x"}}}, b"ValidationException"),
        ("Query", QUERY | {"FilterExpression": "#t"}, b"ValidationException"),
        ("BatchWriteItem", {"RequestItems": {"orders": "x" * 100_000}}, b"SerializationException"),
    ],
)
def test_a_wrong_request_gets_its_error(
    clients: Clients, operation: str, members: dict[str, Any], words: bytes
) -> None:
    connection, transport = clients.connect()
    connection.data_received(request(operation, members))
    clients.go_on_with_large()
    if clients.commits.submitted:
        clients.commits.commit_one()
    assert transport.statuses() == [400]
    assert words in transport.written


# Only batches may have more than one item.
def test_a_body_that_no_item_needs_is_rejected_before_it_is_received(clients: Clients) -> None:
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.%b\r\nContent-Length: %d\r\n\r\n"
    (putting, put), (batching, batched) = clients.connect(), clients.connect()
    putting.data_received(head % (b"PutItem", PIECE_BYTES + 1))
    batching.data_received(head % (b"BatchWriteItem", PIECE_BYTES + 1))
    assert put.statuses() == [413]
    assert put.state == "ended"
    assert batched.statuses() == []


def test_a_compressed_body_that_no_item_needs_is_rejected_before_it_is_decoded(clients: Clients) -> None:
    connection, transport = clients.connect()
    body = gzip.compress(b"{}".ljust(PIECE_BYTES + 1))
    head = (
        b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\nContent-Encoding: gzip\r\n"
    )
    connection.data_received(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert transport.statuses() == [413]
    assert b"The body of PutItem has 4194304 bytes at most." in transport.written


def test_the_write_of_a_client_that_has_gone_is_dropped(clients: Clients) -> None:
    connection, _ = clients.connect()
    connection.data_received(PUT)
    connection.connection_lost(None)
    clients.go_on_with_large()
    assert not clients.commits.submitted


# The frames of an error hold the request's values and the error itself. The collector rarely runs while values are
# decoded, so each rejected update of 2 MB kept 50 MB.
@pytest.mark.parametrize("text", ["SET a = :v, b = :v, c = :v, d = :v", "SET a = :v, a = :v"])
@pytest.mark.slow
def test_a_rejected_request_is_freed_without_the_collector(clients: Clients, text: str) -> None:
    values = {":v": {"L": [{"N": "1"}] * 60_000}}
    members = {"TableName": "orders", "Key": item(1), "UpdateExpression": text, "ExpressionAttributeValues": values}
    update = request("UpdateItem", members)
    connection, transport = clients.connect()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(4):
            connection.data_received(update)
            clients.go_on_with_large()
            if clients.commits.submitted:
                clients.commits.commit_one()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert transport.statuses() == [400] * 4
    assert held < peak / 2


def test_a_bug_is_an_internal_error(
    clients: Clients, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(attribute._Walk, "members", broken)
    connection, transport = clients.connect()
    connection.data_received(PUT)
    clients.go_on_with_large()
    assert transport.statuses() == [500]
    assert "PutItem failed" in caplog.text


# Two batches of 16 MB that wait for the disk must not reject another client's item of 300 KB.
def test_batches_leave_room_for_items(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sortkey.wire.endpoint.UNDER_WAY_BYTES", 2 * ITEM_BODY_BYTES)
    (earlier, _), (batching, batched), (writing, written) = (clients.connect() for _ in range(3))
    earlier.data_received(PUT)
    puts = [{"PutRequest": {"Item": LARGE_ITEM | item(number)}} for number in range(12)]
    batching.data_received(request("BatchWriteItem", {"RequestItems": {"orders": puts}}))
    writing.data_received(PUT)
    assert batched.statuses() == [503]
    for _ in range(2):
        clients.go_on_with_large()
        clients.commits.commit_one()
    assert written.statuses() == [200]


# A client that sends batches of 16 MB, each of which takes a second, must not delay another client's item.
def test_an_item_does_not_wait_for_a_batch() -> None:
    calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
    large = LargeRequests(calls.put)
    released = threading.Event()
    ended: list[str | None] = []
    works: list[tuple[int, Callable[[], str]]] = [
        (ITEM_BODY_BYTES + 1, lambda: "batch" if released.wait(60) else "late"),
        (ITEM_BODY_BYTES, lambda: "item"),
    ]
    for size, work in works:
        large.begin(size, work, lambda result, _: ended.append(result))
    calls.get(timeout=60)()
    released.set()
    calls.get(timeout=60)()
    large.close()
    assert ended == ["item", "batch"]


def test_a_stop_drops_what_waits() -> None:
    calls: list[Any] = []
    large = LargeRequests(calls.append)
    begun, released = threading.Event(), threading.Event()

    def first() -> str:
        begun.set()
        assert released.wait(60)
        return "first"

    ended: list[Any] = []
    for work in (first, lambda: "second"):
        large.begin(10, work, lambda result, _: ended.append(result))
    assert begun.wait(60)
    closing = threading.Thread(target=large.close)
    closing.start()
    # The second is cancelled at once; the first ends when it is released.
    while not calls:
        begun.wait(0.001)
    released.set()
    closing.join(60)
    for call in calls:
        call()
    assert ended == ["first"]
    assert large.bytes == 0
