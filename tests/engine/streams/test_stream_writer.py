"""The records that the write path writes to a table's stream."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.rows.stored_item import Json
from tests.engine.orders import Orders, events, number, sequence, text


# The shape that consumers (Lambda, the KCL, Debezium) are written against, member for member.
def test_record_of_a_change_has_the_shape_of_aws(db: Database) -> None:
    orders = Orders(db, "NEW_AND_OLD_IMAGES")
    orders.put("a", total=number(1))
    orders.put("a", total=number(2))
    record = orders.records()[1]
    event_id = record.pop("eventID")
    assert len(event_id) == 32
    assert int(event_id, 16)
    assert record == {
        "eventName": "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "local",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_750_000_000.0,
            "Keys": {"id": text("a")},
            "NewImage": {"id": text("a"), "total": number(2)},
            "OldImage": {"id": text("a"), "total": number(1)},
            "SequenceNumber": "000000000000000000002",
            # Key 3, and twice key 3 with total 5 + 2.
            "SizeBytes": 3 + 10 + 10,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }


@pytest.mark.parametrize(
    ("view", "images"),
    [
        ("KEYS_ONLY", [set(), set(), set()]),
        ("NEW_IMAGE", [{"NewImage"}, {"NewImage"}, set()]),
        ("OLD_IMAGE", [set(), {"OldImage"}, {"OldImage"}]),
        ("NEW_AND_OLD_IMAGES", [{"NewImage"}, {"NewImage", "OldImage"}, {"OldImage"}]),
    ],
)
def test_view_type_decides_which_images_are_shown(db: Database, view: str, images: list[set[str]]) -> None:
    orders = Orders(db, view)
    orders.put("a", total=number(1))
    orders.put("a", total=number(2))
    orders.delete("a")
    records = orders.records()
    assert events(records) == [("INSERT", "a"), ("MODIFY", "a"), ("REMOVE", "a")]
    assert [{"NewImage", "OldImage"} & record["dynamodb"].keys() for record in records] == images


# Otherwise a counter that is fed by a stream would count a no-op write. AWS compares items, not texts.
@pytest.mark.parametrize(
    "same",
    [
        pytest.param({"total": {"N": "1.0"}, "tags": {"SS": ["x", "y"]}}, id="the same text but for canonical form"),
        pytest.param({"tags": {"SS": ["y", "x"]}, "total": {"N": "1"}}, id="attributes and members in another order"),
    ],
)
def test_write_that_changes_nothing_has_no_record(db: Database, same: dict[str, Any]) -> None:
    orders = Orders(db, "KEYS_ONLY")
    orders.put("a", total=number(1), tags={"SS": ["x", "y"]})
    orders.put("a", **same)
    assert events(orders.records()) == [("INSERT", "a")]


# Items of equal length can differ.
def test_change_to_an_item_of_the_same_length_is_recorded(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    orders.put("a", total=number(1))
    orders.put("a", total=number(2))
    assert len(orders.records()) == 2


def test_deleting_what_is_not_there_has_no_record(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    orders.delete("a")
    assert orders.records() == []


def test_update_and_transaction_are_recorded_in_the_order_of_commits(db: Database) -> None:
    orders = Orders(db, "NEW_IMAGE")
    update = {"UpdateExpression": "SET price = :t", "ExpressionAttributeValues": {":t": number(5)}}
    db.call("UpdateItem", {"TableName": orders.name, "Key": {"id": text("a")}, **update})
    put = {"Put": {"TableName": orders.name, "Item": {"id": text("b")}}}
    delete = {"Delete": {"TableName": orders.name, "Key": {"id": text("a")}}}
    db.call("TransactWriteItems", {"TransactItems": [put, delete]})
    records = orders.records()
    assert events(records) == [("INSERT", "a"), ("INSERT", "b"), ("REMOVE", "a")]
    assert sorted(map(sequence, records)) == list(map(sequence, records))


# The embedded client decodes base64 only in records that are marked as binary.
@pytest.mark.parametrize(("attribute", "binary"), [({"B": "AAEC"}, True), ({"S": "AAEC"}, False)])
def test_page_of_records_tells_whether_it_holds_binary(db: Database, attribute: dict[str, str], binary: bool) -> None:
    orders = Orders(db, "NEW_IMAGE")
    orders.put("a", photo=attribute)
    iterator = orders.iterator()
    answer = db.execute("GetRecords", requests.convert("GetRecords", {"ShardIterator": iterator}))
    records = answer["Records"]
    assert isinstance(records, Json)
    assert records.binary is binary


def test_event_ids_differ(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    for key in "abc":
        orders.put(key)
    assert len({record["eventID"] for record in orders.records()}) == 3


# A stream that was switched off and on again is another stream; both can be read.
def test_new_stream_of_a_table_has_a_label_of_its_own_even_within_a_millisecond(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    orders.put("a")
    first = orders.arn
    orders.disable_stream()
    orders.put("between")
    orders.enable_stream("NEW_IMAGE")
    orders.put("b")
    assert orders.arn != first
    assert events(orders.records()) == [("INSERT", "b")]
    described = db.call("DescribeStream", {"StreamArn": first})["StreamDescription"]
    assert described["StreamStatus"] == "DISABLED"
