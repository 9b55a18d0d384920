"""Batches of which a part is left for another request."""

from __future__ import annotations

from typing import Any

from sortkey.client import Client
from tests.engine.faults.conftest import OpenFaulty
from tests.engine.faults.orders import ORDERS, key, numbers


def writes(count: int) -> list[dict[str, Any]]:
    return [{"PutRequest": {"Item": {**key(number), "data": {"B": b"\x00\xff"}}}} for number in range(count)]


def fill(client: Client) -> None:
    """Write twenty orders, however many requests it takes."""
    left: dict[str, Any] = {"orders": writes(20)}
    while left:
        left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]


def test_what_is_not_written_comes_back_as_it_was_sent(open_faulty: OpenFaulty) -> None:
    client = open_faulty("unprocessed=0.5")
    client.create_table(**ORDERS)
    answer = client.batch_write_item(RequestItems={"orders": writes(20)})
    left = answer["UnprocessedItems"]["orders"]
    assert 0 < len(left) < 20
    assert all(write in writes(20) for write in left)
    assert numbers(client) == {*range(20)} - {int(write["PutRequest"]["Item"]["number"]["N"]) for write in left}


def test_deletes_come_back_too(open_faulty: OpenFaulty) -> None:
    client = open_faulty("unprocessed=1")
    client.create_table(**ORDERS)
    deletes = [{"DeleteRequest": {"Key": key(number)}} for number in range(3)]
    # One item of a batch is always processed, or the whole batch is rejected.
    assert client.batch_write_item(RequestItems={"orders": deletes})["UnprocessedItems"] == {"orders": deletes[1:]}
    last = client.batch_write_item(RequestItems={"orders": deletes[2:]})
    assert last["UnprocessedItems"] == {}


def test_sending_the_rest_again_comes_to_an_end(open_faulty: OpenFaulty) -> None:
    client = open_faulty("unprocessed=1")
    client.create_table(**ORDERS)
    fill(client)
    assert numbers(client) == {*range(20)}


def test_keys_that_are_not_read_come_back_with_their_projection(open_faulty: OpenFaulty) -> None:
    client = open_faulty("unprocessed=0.5")
    client.create_table(**ORDERS)
    fill(client)
    wanted = {
        "Keys": [key(number) for number in range(20)],
        "ProjectionExpression": "#n",
        "ExpressionAttributeNames": {"#n": "number"},
    }
    answer = client.batch_get_item(RequestItems={"orders": wanted})
    left = answer["UnprocessedKeys"]["orders"]
    assert {**left, "Keys": []} == {**wanted, "Keys": []}
    assert 0 < len(left["Keys"]) < 20
    read = answer["Responses"]["orders"]
    assert sorted(int(item["number"]["N"]) for item in read + left["Keys"]) == [*range(20)]


def test_a_table_of_which_no_key_is_read_has_no_items(open_faulty: OpenFaulty) -> None:
    client = open_faulty("unprocessed=1")
    for name in ("orders", "others"):
        client.create_table(**{**ORDERS, "TableName": name})
    wanted = {"orders": {"Keys": [key(1)]}, "others": {"Keys": [key(1)]}}
    answer = client.batch_get_item(RequestItems=wanted)
    assert answer["Responses"] == {"orders": [], "others": []}
    assert answer["UnprocessedKeys"] == {"others": {"Keys": [key(1)]}}
