"""TransactGetItems: up to a hundred items, all as of one moment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, n, s


@pytest.fixture(autouse=True)
def tables(call: Call) -> None:
    create(call, "first", "id:S")
    create(call, "second", "id:S", "at:N")


def get(name: str, key: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"Get": {"TableName": name, "Key": key, **members}}


# AWS's reference: "if the requested item has no projected attributes, the corresponding ItemResponse object is an empty
# Map". GetItem answers an empty Item.
def test_a_projection_that_leaves_nothing(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("1"), "v": s("x")})
    answer = call("TransactGetItems", TransactItems=[get("first", {"id": s("1")}, ProjectionExpression="gone")])
    assert answer == {"Responses": [{}]}
    assert call("GetItem", TableName="first", Key={"id": s("1")}, ProjectionExpression="gone") == {"Item": {}}


# Answers are matched to requests by position, so a missing item has an empty answer.
def test_responses_in_the_order_of_the_request(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("1"), "v": s("x")})
    call("PutItem", TableName="second", Item={"id": s("1"), "at": n(1), "v": s("y")})
    answer = call(
        "TransactGetItems",
        TransactItems=[
            get("second", {"id": s("1"), "at": n(1)}, ProjectionExpression="v"),
            get("first", {"id": s("gone")}),
            get("first", {"id": s("1")}),
        ],
    )
    assert answer == {"Responses": [{"Item": {"v": s("y")}}, {}, {"Item": {"id": s("1"), "v": s("x")}}]}


def test_no_item_twice(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "Transaction request cannot include multiple operations on one item"):
        call("TransactGetItems", TransactItems=[get("first", {"id": s("1")}), get("first", {"id": s("1")})])


# A key that does not fit its table cancels the transaction, and the reasons show which one it was.
def test_wrong_key_is_a_reason(call: Call, expect_error: ExpectError) -> None:
    message = "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ValidationError]"
    with expect_error("TransactionCanceledException", message) as caught:
        call("TransactGetItems", TransactItems=[get("first", {"id": s("1")}), get("second", {"id": s("1")})])
    assert caught.value.members["CancellationReasons"] == [
        {"Code": "None"},
        {"Code": "ValidationError", "Message": "The provided key element does not match the schema"},
    ]


def test_projection_does_not_look_into_a_key(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException") as caught:
        call("TransactGetItems", TransactItems=[get("first", {"id": s("1")}, ProjectionExpression="id.x")])
    assert caught.value.message.endswith("are not allowed: Key: id")


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("TransactGetItems", TransactItems=[get("first", {"id": s("1")}), get("nowhere", {"id": s("1")})])


def test_four_megabytes_at_most(call: Call, expect_error: ExpectError) -> None:
    for number in range(11):
        call("PutItem", TableName="first", Item={"id": s(f"{number:02}"), "v": s("x" * 400_000)})
    asked = [get("first", {"id": s(f"{number:02}")}) for number in range(11)]
    assert len(call("TransactGetItems", TransactItems=asked[:10])["Responses"]) == 10
    with expect_error("ValidationException", "Payload in response is too large.4400055"):
        call("TransactGetItems", TransactItems=asked)


# A transaction reads everything twice, consistently.
def test_capacity_is_double(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("1"), "v": s("x" * 5000)})
    answer = call(
        "TransactGetItems",
        TransactItems=[get("first", {"id": s("1")}), get("first", {"id": s("gone")})],
        ReturnConsumedCapacity="INDEXES",
    )
    assert answer["ConsumedCapacity"] == [
        {
            "TableName": "first",
            "CapacityUnits": 6.0,
            "ReadCapacityUnits": 6.0,
            "Table": {"CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
        }
    ]
