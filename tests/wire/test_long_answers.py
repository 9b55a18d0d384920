"""Answers of megabytes are sent in pieces, and are as if they were joined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import orjson
import pytest

from sortkey.engine.database import Database
from sortkey.engine.rows.stored_item import LONG_BYTES
from sortkey.http.connection import Connection
from tests.http import connecting
from tests.http.connecting import Transport
from tests.wire.serving import item, request, table
from tests.wire.stepped_endpoint import Clients

ITEMS = [item(number, text={"S": "\0é" * 25_000}, raw={"B": "AAE="}) for number in range(40)]
KEYS = [{name: each[name] for name in ("pk", "sk")} for each in ITEMS]
WHOLE: dict[str, Any] = {"RequestItems": {"orders": {"Keys": KEYS}}}
SHORT = request("GetItem", {"TableName": "orders", "Key": item(1), "ProjectionExpression": "pk"})


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    database = Database(None)
    database.call("CreateTable", table("orders"))
    for each in ITEMS:
        database.call("PutItem", {"TableName": "orders", "Item": each})
    yield database
    database.close()


@pytest.fixture
def clients(database: Database) -> Clients:
    return Clients(database)


def answers_in(written: bytes) -> list[dict[str, Any]]:
    """The answers, each with its headers checked."""
    answers = []
    while written:
        head, _, rest = written.partition(b"\r\n\r\n")
        headers = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(headers[b"Content-Length"])
        body, written = rest[:length], rest[length:]
        assert len(body) == length
        assert crc32(body) == int(headers[b"x-amz-crc32"])
        answers.append(orjson.loads(body))
    return answers


def check_answer(answer: dict[str, Any]) -> None:
    assert answer["Responses"] == {"orders": ITEMS}
    assert answer["UnprocessedKeys"] == {}


class CountingTransport(Transport):
    def __init__(self) -> None:
        super().__init__()
        self.longest = 0

    def write(self, data: bytes) -> None:
        self.longest = max(self.longest, len(data))
        super().write(data)


def connect(clients: Clients) -> tuple[Connection, CountingTransport]:
    transport = CountingTransport()
    return connecting.connect(clients.host, transport), transport


def test_a_long_answer_is_sent_in_pieces(clients: Clients) -> None:
    connection, transport = connect(clients)
    connection.data_received(request("BatchGetItem", WHOLE | {"ReturnConsumedCapacity": "TOTAL"}))
    clients.turn_until_done()
    (answer,) = answers_in(transport.written)
    check_answer(answer)
    assert answer["ConsumedCapacity"] == [{"TableName": "orders", "CapacityUnits": 380.0}]
    assert transport.longest < LONG_BYTES < len(transport.written)


# What has not been sent is bounded, whatever it was sent in.
def test_the_pieces_that_a_client_does_not_take_are_counted(clients: Clients) -> None:
    connection, transport = connect(clients)
    transport.full = True
    transport.connection = connection
    connection.data_received(request("BatchGetItem", WHOLE))
    clients.turn_until_done()
    assert clients.host.unsent.bytes >= len(transport.written)


def test_a_long_answer_keeps_its_place(clients: Clients) -> None:
    connection, transport = connect(clients)
    connection.data_received(request("BatchGetItem", WHOLE) + SHORT)
    clients.turn_until_done()
    clients.host.end_turn()
    first, second = answers_in(transport.written)
    check_answer(first)
    assert second == {"Item": {"pk": {"S": "p"}}}


def test_a_connection_may_end_with_a_long_answer(clients: Clients) -> None:
    connection, transport = connect(clients)
    connection.data_received(request("BatchGetItem", WHOLE, "Connection: close"))
    clients.turn_until_done()
    assert b"\r\nConnection: close\r\n" in transport.written
    (answer,) = answers_in(transport.written)
    check_answer(answer)


def test_callers_in_the_process_get_items(database: Database) -> None:
    check_answer(database.call("BatchGetItem", WHOLE))
