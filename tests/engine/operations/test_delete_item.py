"""DeleteItem: one item by its key. Deleting an item that does not exist is not an error."""

from __future__ import annotations

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s

KEY = {"id": s("1"), "at": n(1)}


@pytest.fixture(autouse=True)
def table(call: Call) -> None:
    create(call, "table", "id:S", "at:N", local=[index("by_v", "id:S", "v:N")])
    call("PutItem", TableName="table", Item={**KEY, "v": n(7)})


def test_removes_the_item_and_its_index_rows(call: Call) -> None:
    assert call("DeleteItem", TableName="table", Key=KEY) == {}
    assert call("GetItem", TableName="table", Key=KEY) == {}
    assert call("Scan", TableName="table", IndexName="by_v")["Count"] == 0


def test_deleting_a_missing_item_is_not_an_error(call: Call) -> None:
    assert call("DeleteItem", TableName="table", Key={"id": s("2"), "at": n(1)}, ReturnValues="ALL_OLD") == {}


def test_all_old_answers_with_the_item(call: Call) -> None:
    answer = call("DeleteItem", TableName="table", Key=KEY, ReturnValues="ALL_OLD")
    assert answer == {"Attributes": {**KEY, "v": n(7)}}


def test_other_return_values_are_for_updates(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "1 validation error detected: ReturnValues can only be ALL_OLD or NONE"):
        call("DeleteItem", TableName="table", Key=KEY, ReturnValues="ALL_NEW")


def test_false_condition_leaves_the_item(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ConditionalCheckFailedException", "The conditional request failed") as caught:
        call(
            "DeleteItem",
            TableName="table",
            Key=KEY,
            ConditionExpression="v < :v",
            ExpressionAttributeValues={":v": n(7)},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.members["Item"].text == b'{"id":{"S":"1"},"at":{"N":"1"},"v":{"N":"7"}}'
    assert "Item" in call("GetItem", TableName="table", Key=KEY)


# A condition sees a missing item as an empty one.
def test_condition_on_a_missing_item(call: Call, expect_error: ExpectError) -> None:
    missing = {"id": s("2"), "at": n(1)}
    call("DeleteItem", TableName="table", Key=missing, ConditionExpression="attribute_not_exists(id)")
    with expect_error("ConditionalCheckFailedException"):
        call("DeleteItem", TableName="table", Key=missing, ConditionExpression="attribute_exists(id)")


def test_expected_is_the_old_condition(call: Call, expect_error: ExpectError) -> None:
    expected = {"v": {"Value": n(8)}, "at": {"Value": n(1)}}
    with expect_error("ConditionalCheckFailedException"):
        call("DeleteItem", TableName="table", Key=KEY, Expected=expected)
    call("DeleteItem", TableName="table", Key=KEY, Expected=expected, ConditionalOperator="OR")
    assert call("GetItem", TableName="table", Key=KEY) == {}


def test_key_must_be_the_tables(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "The provided key element does not match the schema"):
        call("DeleteItem", TableName="table", Key={"id": s("1")})


def test_condition_has_no_path_into_the_key(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException") as caught:
        call(
            "DeleteItem",
            TableName="table",
            Key=KEY,
            ConditionExpression="attribute_exists(#at[0])",
            ExpressionAttributeNames={"#at": "at"},
        )
    assert caught.value.message.endswith("are not allowed: Key: at")


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("DeleteItem", TableName="nowhere", Key=KEY)


# Deleting a missing item costs the smallest write.
def test_capacity_and_metrics(call: Call) -> None:
    asked = {"ReturnConsumedCapacity": "INDEXES", "ReturnItemCollectionMetrics": "SIZE"}
    first = call("DeleteItem", TableName="table", Key=KEY, **asked)
    second = call("DeleteItem", TableName="table", Key=KEY, **asked)
    assert first["ConsumedCapacity"]["LocalSecondaryIndexes"] == {"by_v": {"CapacityUnits": 1.0}}
    assert [answer["ConsumedCapacity"]["CapacityUnits"] for answer in (first, second)] == [2.0, 1.0]
    assert first["ItemCollectionMetrics"]["ItemCollectionKey"] == {"id": s("1")}
