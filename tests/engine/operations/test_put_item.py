"""PutItem: one item, replacing the one with the same key."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import b, create, index, n, s

INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "


@pytest.fixture
def films(call: Call) -> None:
    create(call, "films", "id:S")


@pytest.fixture
def indexed(call: Call) -> None:
    create(
        call,
        "indexed",
        "id:S",
        "at:N",
        local=[index("by_size", "id:S", "size:N", projection="KEYS_ONLY")],
        indexes=[index("by_city", "city:S", "size:N"), index("by_mark", "mark:B", "id:S", include=["size"])],
    )


def read(call: Call, identity: str) -> dict[str, Any] | None:
    item: dict[str, Any] | None = call("GetItem", TableName="films", Key={"id": s(identity)}).get("Item")
    return item


@pytest.mark.usefixtures("films")
def test_replaces_the_whole_item(call: Call) -> None:
    call("PutItem", TableName="films", Item={"id": s("1"), "old": s("x")})
    call("PutItem", TableName="films", Item={"id": s("1"), "new": s("y")})
    assert read(call, "1") == {"id": s("1"), "new": s("y")}


# Everything but the key may be empty, except sets.
@pytest.mark.usefixtures("films")
def test_keeps_every_type_of_value(call: Call) -> None:
    item = {
        "id": s("1"),
        "text": s(""),
        "number": n("-1.5"),
        "bytes": b(b"\x00\xff"),
        "nothing": b(b""),
        "yes": {"BOOL": True},
        "null": {"NULL": True},
        "list": {"L": [s("a"), {"L": []}]},
        "map": {"M": {"x": {"M": {}}}},
        "texts": {"SS": ["a", "b"]},
        "numbers": {"NS": ["-1", "2"]},
        "blobs": {"BS": ["AA==", "AQ=="]},
    }
    call("PutItem", TableName="films", Item=item)
    assert read(call, "1") == item


@pytest.mark.usefixtures("films")
def test_numbers_come_back_in_plain_notation(call: Call) -> None:
    call("PutItem", TableName="films", Item={"id": s("1"), "v": {"L": [n("1E2"), n("0010.50"), n("-0")]}})
    assert read(call, "1") == {"id": s("1"), "v": {"L": [n("100"), n("10.5"), n("0")]}}


# The embedded client hands over its caller's own dictionaries.
@pytest.mark.usefixtures("films")
def test_request_is_left_as_it_was(call: Call) -> None:
    item = {"id": s("1"), "v": {"L": [n("1.0"), {"NS": ["2", "1"]}]}}
    before = deepcopy(item)
    call("PutItem", TableName="films", Item=item)
    assert item == before


@pytest.mark.usefixtures("films")
def test_all_old_answers_with_what_was_there(call: Call) -> None:
    first = call("PutItem", TableName="films", Item={"id": s("1"), "v": n(1)}, ReturnValues="ALL_OLD")
    second = call("PutItem", TableName="films", Item={"id": s("1"), "v": n(2)}, ReturnValues="ALL_OLD")
    assert (first, second) == ({}, {"Attributes": {"id": s("1"), "v": n(1)}})


@pytest.mark.usefixtures("films")
@pytest.mark.parametrize("wanted", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_other_return_values_are_for_updates(call: Call, expect_error: ExpectError, wanted: str) -> None:
    with expect_error("ValidationException", "1 validation error detected: ReturnValues can only be ALL_OLD or NONE"):
        call("PutItem", TableName="films", Item={"id": s("1")}, ReturnValues=wanted)


@pytest.mark.usefixtures("films")
def test_false_condition_leaves_the_item(call: Call, expect_error: ExpectError) -> None:
    create_once = {"TableName": "films", "ConditionExpression": "attribute_not_exists(id)"}
    call("PutItem", Item={"id": s("1"), "v": n(1)}, **create_once)
    with expect_error("ConditionalCheckFailedException", "The conditional request failed") as caught:
        call("PutItem", Item={"id": s("1"), "v": n(2)}, **create_once)
    assert caught.value.members == {}
    assert read(call, "1") == {"id": s("1"), "v": n(1)}


@pytest.mark.usefixtures("films")
def test_failed_condition_can_show_the_item(call: Call, expect_error: ExpectError) -> None:
    call("PutItem", TableName="films", Item={"id": s("1"), "v": n(1)})
    with expect_error("ConditionalCheckFailedException") as caught:
        call(
            "PutItem",
            TableName="films",
            Item={"id": s("1")},
            ConditionExpression="v > :v",
            ExpressionAttributeValues={":v": n(1)},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.members["Item"].text == b'{"id":{"S":"1"},"v":{"N":"1"}}'


@pytest.mark.usefixtures("films")
def test_failed_condition_on_no_item_shows_none(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ConditionalCheckFailedException") as caught:
        call(
            "PutItem",
            TableName="films",
            Item={"id": s("1")},
            ConditionExpression="attribute_exists(id)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert "Item" not in caught.value.members


@pytest.mark.usefixtures("films")
def test_expected_is_the_old_condition(call: Call, expect_error: ExpectError) -> None:
    call("PutItem", TableName="films", Item={"id": s("1"), "v": n(1)}, Expected={"id": {"Exists": False}})
    call("PutItem", TableName="films", Item={"id": s("1"), "v": n(2)}, Expected={"v": {"Value": n("1.0")}})
    with expect_error("ConditionalCheckFailedException"):
        call("PutItem", TableName="films", Item={"id": s("1")}, Expected={"v": {"Value": n(1)}})


@pytest.mark.usefixtures("films")
def test_expected_does_not_mix_with_expressions(call: Call, expect_error: ExpectError) -> None:
    message = (
        "1 validation error detected: "
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"
    )
    with expect_error("ValidationException", message):
        call(
            "PutItem",
            TableName="films",
            Item={"id": s("1")},
            Expected={"id": {"Exists": False}},
            ConditionExpression="attribute_not_exists(id)",
        )


@pytest.mark.usefixtures("films")
def test_values_need_an_expression(call: Call, expect_error: ExpectError) -> None:
    message = (
        "1 validation error detected: "
        "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null"
    )
    with expect_error("ValidationException", message):
        call("PutItem", TableName="films", Item={"id": s("1")}, ExpressionAttributeValues={":v": n(1)})


@pytest.mark.usefixtures("films")
def test_condition_does_not_look_into_the_key(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException") as caught:
        call("PutItem", TableName="films", Item={"id": s("1")}, ConditionExpression="attribute_exists(id.x)")
    assert caught.value.message.startswith("Key attributes must be scalars")


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"at": n(1)}, INVALID + "Missing the key id in the item"),
        ({"id": s("1")}, INVALID + "Missing the key at in the item"),
        ({"id": s("1"), "at": s("1")}, INVALID + "Type mismatch for key at expected: N actual: S"),
        (
            {"id": s(""), "at": n(1)},
            NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: id",
        ),
    ],
)
def test_item_must_have_the_key(call: Call, expect_error: ExpectError, item: dict[str, Any], message: str) -> None:
    with expect_error("ValidationException", message):
        call("PutItem", TableName="indexed", Item=item)


# Two indexes have `size` in their key; the alphabetically first is named.
@pytest.mark.usefixtures("indexed")
def test_index_key_must_have_its_type(call: Call, expect_error: ExpectError) -> None:
    message = INVALID + "Type mismatch for Index Key size Expected: N Actual: S IndexName: by_city"
    with expect_error("ValidationException", message):
        call("PutItem", TableName="indexed", Item={"id": s("1"), "at": n(1), "size": s("big")})


@pytest.mark.usefixtures("indexed")
def test_index_key_is_not_empty(call: Call, expect_error: ExpectError) -> None:
    message = (
        NOT_VALID
        + "A value specified for a secondary index key is not supported. The AttributeValue for a key attribute "
        "cannot contain an empty binary value. IndexName: by_mark, IndexKey: mark"
    )
    with expect_error("ValidationException", message):
        call("PutItem", TableName="indexed", Item={"id": s("1"), "at": n(1), "mark": b(b"")})


# Even while the item lacks the rest of the index's key: it could be added later, and the row could then not be written.
@pytest.mark.usefixtures("indexed")
def test_index_key_has_a_limit(call: Call, expect_error: ExpectError) -> None:
    message = INVALID + (
        "Size limit exceeded for Index Key city Actual Size: 2049 bytes Max Size: 2048 bytes IndexName: by_city"
    )
    with expect_error("ValidationException", message):
        call("PutItem", TableName="indexed", Item={"id": s("1"), "at": n(1), "city": s("x" * 2049)})


# A partition key may be twice as long as a sort key, so an inverted index cannot take all of them.
def test_inverted_index_limits_the_partition_key(call: Call, expect_error: ExpectError) -> None:
    create(call, "inverted", "a:S", "b:S", indexes=[index("back", "b:S", "a:S")])
    call("PutItem", TableName="inverted", Item={"a": s("x" * 1024), "b": s("1")})
    with expect_error("ValidationException"):
        call("PutItem", TableName="inverted", Item={"a": s("x" * 1025), "b": s("1")})


@pytest.mark.usefixtures("films")
def test_item_takes_400_kb(call: Call, expect_error: ExpectError) -> None:
    whole = 400 * 1024
    call("PutItem", TableName="films", Item={"id": s("1"), "v": s("x" * (whole - 4))})
    with expect_error("ValidationException", "Item size has exceeded the maximum allowed size"):
        call("PutItem", TableName="films", Item={"id": s("1"), "v": s("x" * (whole - 3))})


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("PutItem", TableName="nowhere", Item={"id": s("1")})


# Writes are rounded up to 1 KB, of the larger of the item before and after.
@pytest.mark.usefixtures("films")
def test_capacity_is_that_of_the_larger_item(call: Call) -> None:
    def units(size: int) -> float:
        item = {"id": s("1"), "v": s("x" * (size - 4))}
        answer = call("PutItem", TableName="films", Item=item, ReturnConsumedCapacity="TOTAL")
        taken: float = answer["ConsumedCapacity"]["CapacityUnits"]
        return taken

    assert [units(size) for size in (1024, 1025, 3000, 10)] == [1.0, 2.0, 3.0, 3.0]


# A new row costs one write, a changed key two, a change that the index does not show none.
@pytest.mark.usefixtures("indexed")
def test_capacity_of_indexes(call: Call) -> None:
    def spent(**attributes: Any) -> tuple[dict[str, float], dict[str, float]]:
        answer = call(
            "PutItem",
            TableName="indexed",
            Item={"id": s("1"), "at": n(1), **attributes},
            ReturnConsumedCapacity="INDEXES",
        )["ConsumedCapacity"]
        kinds = [answer.get(kind, {}) for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")]
        local, others = ({name: units["CapacityUnits"] for name, units in kind.items()} for kind in kinds)
        assert answer["CapacityUnits"] == 1 + sum(local.values()) + sum(others.values())
        return local, others

    assert spent(note=s("sparse")) == ({}, {})
    assert spent(size=n(1)) == ({"by_size": 1.0}, {})
    assert spent(size=n(1), city=s("Rome")) == ({}, {"by_city": 1.0})
    assert spent(size=n(1), city=s("Rome"), note=s("shown")) == ({}, {"by_city": 1.0})
    assert spent(size=n(2), city=s("Rome"), note=s("shown")) == ({"by_size": 2.0}, {"by_city": 2.0})
    assert spent(size=n(2)) == ({}, {"by_city": 1.0})


# The order of attributes means nothing, so it costs nothing.
@pytest.mark.usefixtures("indexed")
def test_other_order_of_attributes_changes_no_index(call: Call) -> None:
    item = {"id": s("1"), "at": n(1), "size": n(1), "city": s("Rome")}
    call("PutItem", TableName="indexed", Item=item)
    again = call("PutItem", TableName="indexed", Item=dict(reversed(item.items())), ReturnConsumedCapacity="INDEXES")
    assert again["ConsumedCapacity"] == {
        "TableName": "indexed",
        "CapacityUnits": 1.0,
        "Table": {"CapacityUnits": 1.0},
    }


# Only tables with local indexes keep item collections together.
@pytest.mark.usefixtures("films", "indexed")
def test_item_collection_metrics(call: Call) -> None:
    asked = {"ReturnItemCollectionMetrics": "SIZE"}
    assert call("PutItem", TableName="films", Item={"id": s("1")}, **asked) == {}
    metrics = call("PutItem", TableName="indexed", Item={"id": s("1"), "at": n(1)}, **asked)
    assert metrics == {
        "ItemCollectionMetrics": {"ItemCollectionKey": {"id": s("1")}, "SizeEstimateRangeGB": [0.0, 1.0]}
    }
