"""TransactWriteItems: up to a hundred writes and condition checks, all or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.clock import ManualClock
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s

CANCELLED = "Transaction cancelled, please refer cancellation reasons for specific reasons "
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}


@pytest.fixture(autouse=True)
def tables(call: Call) -> None:
    create(call, "first", "id:S", indexes=[index("by_city", "city:S")])
    create(call, "second", "id:S", "at:N", local=[index("by_v", "id:S", "v:N")])


def action(kind: str, name: str, target: dict[str, Any], **members: Any) -> dict[str, Any]:
    where = "Item" if kind == "Put" else "Key"
    return {kind: {"TableName": name, where: target, **members}}


def put(name: str = "first", **item: Any) -> dict[str, Any]:
    return action("Put", name, item)


def check(identity: str, condition: str = "attribute_exists(id)", **members: Any) -> dict[str, Any]:
    return action("ConditionCheck", "first", {"id": s(identity)}, ConditionExpression=condition, **members)


def items(call: Call, name: str = "first") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call("Scan", TableName=name)["Items"]
    return found


def test_four_kinds_of_action(call: Call) -> None:
    for each in ("here", "gone", "changed"):
        call("PutItem", TableName="first", Item={"id": s(each), "v": n(1)})
    answer = call(
        "TransactWriteItems",
        TransactItems=[
            put("second", id=s("new"), at=n(1)),
            check("here"),
            action("Delete", "first", {"id": s("gone")}),
            action(
                "Update",
                "first",
                {"id": s("changed")},
                UpdateExpression="ADD v :one",
                ExpressionAttributeValues={":one": n(1)},
            ),
        ],
    )
    assert answer == {}
    assert items(call, "second") == [{"id": s("new"), "at": n(1)}]
    found = {item["id"]["S"]: item["v"]["N"] for item in items(call)}
    assert found == {"here": "1", "changed": "2"}


# The reasons stand in the order of the actions, those that would have passed included.
def test_cancellation_reasons_in_order(call: Call, expect_error: ExpectError) -> None:
    call("PutItem", TableName="first", Item={"id": s("here")})
    with expect_error(
        "TransactionCanceledException", CANCELLED + "[ConditionalCheckFailed, None, ConditionalCheckFailed]"
    ) as caught:
        call("TransactWriteItems", TransactItems=[check("a"), put(id=s("new")), check("b")])
    assert caught.value.members["CancellationReasons"] == [FAILED, {"Code": "None"}, FAILED]
    assert items(call) == [{"id": s("here")}]


def test_reason_can_show_the_item(call: Call, expect_error: ExpectError) -> None:
    call("PutItem", TableName="first", Item={"id": s("here"), "v": n(1)})
    rejected = check("here", "attribute_not_exists(id)", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    with expect_error("TransactionCanceledException") as caught:
        call("TransactWriteItems", TransactItems=[rejected])
    (reason,) = caught.value.members["CancellationReasons"]
    assert reason["Item"].text == b'{"id":{"S":"here"},"v":{"N":"1"}}'


# What is wrong with an action only in view of its table or item cancels, too.
@pytest.mark.parametrize(
    ("rejected", "message"),
    [
        (put(other=s("1")), "One or more parameter values were invalid: Missing the key id in the item"),
        (
            action("Delete", "first", {"id": n(1)}),
            "The provided key element does not match the schema",
        ),
        (
            action("Update", "first", {"id": s("1")}, UpdateExpression="REMOVE id"),
            "One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key",
        ),
        (
            action("Update", "first", {"id": s("1")}, UpdateExpression="SET v = w"),
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (
            put(id=s("1"), city=n(1)),
            "One or more parameter values were invalid: "
            "Type mismatch for Index Key city Expected: S Actual: N IndexName: by_city",
        ),
    ],
)
def test_unfit_action_is_a_reason(
    call: Call, expect_error: ExpectError, rejected: dict[str, Any], message: str
) -> None:
    with expect_error("TransactionCanceledException", CANCELLED + "[None, ValidationError]") as caught:
        call("TransactWriteItems", TransactItems=[put(id=s("new")), rejected])
    assert caught.value.members["CancellationReasons"][1] == {"Code": "ValidationError", "Message": message}
    assert items(call) == []


# What is wrong whatever the tables hold rejects the request as such.
@pytest.mark.parametrize(
    "rejected",
    [
        check("1", "id.x = id.y"),
        check("1", "nonsense"),
        action("Put", "first", {"id": n("x")}),
        action("Update", "first", {"id": s("1")}, UpdateExpression="SET city.x = id"),
        put(id=s("")),
        put(id=s("1"), city=s("")),
    ],
)
def test_malformed_action_is_no_cancellation(call: Call, expect_error: ExpectError, rejected: dict[str, Any]) -> None:
    with expect_error("ValidationException"):
        call("TransactWriteItems", TransactItems=[put(id=s("new")), rejected])


def test_no_item_twice(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "Transaction request cannot include multiple operations on one item"):
        call("TransactWriteItems", TransactItems=[put(id=s("1")), check("1")])


# A table by its name and by its ARN is one table.
def test_no_item_twice_under_two_names(call: Call, expect_error: ExpectError) -> None:
    arn = call("DescribeTable", TableName="first")["Table"]["TableArn"]
    with expect_error("ValidationException", "Transaction request cannot include multiple operations on one item"):
        call("TransactWriteItems", TransactItems=[put(id=s("1")), put(arn, id=s("1"))])


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({}, "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"),
        ({**put(id=s("1")), **check("2")}, "TransactItems can only contain one of Check, Put, Update or Delete"),
    ],
)
def test_one_action_an_entry(call: Call, expect_error: ExpectError, item: dict[str, Any], message: str) -> None:
    with expect_error("ValidationException", message):
        call("TransactWriteItems", TransactItems=[item])


def test_hundred_actions(call: Call, expect_error: ExpectError) -> None:
    many = [put(id=s(str(number))) for number in range(101)]
    call("TransactWriteItems", TransactItems=many[:100])
    assert len(items(call)) == 100
    with expect_error("ValidationException"):
        call("TransactWriteItems", TransactItems=many)


def test_four_megabytes_at_most(call: Call, expect_error: ExpectError) -> None:
    large = [put(id=s(f"{number:02}"), v=s("x" * 400_000)) for number in range(11)]
    call("TransactWriteItems", TransactItems=large[:10])
    with expect_error("ValidationException", "Transaction payload size cannot exceed 4MB. Payload Size: 4400055"):
        call("TransactWriteItems", TransactItems=large)


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("TransactWriteItems", TransactItems=[put(id=s("1")), put("nowhere", id=s("1"))])
    assert items(call) == []


ADD = action("Update", "first", {"id": s("1")}, UpdateExpression="ADD v :one", ExpressionAttributeValues={":one": n(1)})


# A client that got no answer sends its request again; with a token it happens once.
def test_token_makes_a_retry_harmless(call: Call, clock: ManualClock) -> None:
    for seconds in (0, 300, 299):
        clock.advance(seconds)
        call("TransactWriteItems", TransactItems=[ADD], ClientRequestToken="once")
    assert items(call) == [{"id": s("1"), "v": n(1)}]


def test_token_ends_after_ten_minutes(call: Call, clock: ManualClock) -> None:
    call("TransactWriteItems", TransactItems=[ADD], ClientRequestToken="once")
    clock.advance(600)
    call("TransactWriteItems", TransactItems=[ADD], ClientRequestToken="once")
    assert items(call) == [{"id": s("1"), "v": n(2)}]


def test_token_is_for_one_request(call: Call, expect_error: ExpectError) -> None:
    call("TransactWriteItems", TransactItems=[ADD], ClientRequestToken="once")
    with expect_error("IdempotentParameterMismatchException"):
        call("TransactWriteItems", TransactItems=[ADD, put(id=s("2"))], ClientRequestToken="once")
    assert items(call) == [{"id": s("1"), "v": n(1)}]


def far_down() -> Any:
    value: Any = "x"
    for _ in range(400):
        value = [value]
    return value


# DynamoDB ignores types that it does not know; what they hold is neither checked nor compared.
@pytest.mark.parametrize("ignored", [2**64, far_down(), None])
def test_token_with_content_that_is_ignored(call: Call, ignored: Any) -> None:
    request = {"TransactItems": [put(id={"S": "1", "X": ignored}, v=n(1))], "ClientRequestToken": "once"}
    call("TransactWriteItems", **request)
    call("TransactWriteItems", TransactItems=[put(id=s("1"), v=n("1.0"))], ClientRequestToken="once")
    assert items(call) == [{"id": s("1"), "v": n(1)}]


@pytest.mark.parametrize(
    "other",
    [
        put(id=s("1"), v=n(2)),
        put("second", id=s("1"), at=n(1)),
        action("Put", "first", {"id": s("1"), "v": n(1)}, ConditionExpression="attribute_not_exists(id)"),
        action("Put", "first", {"id": s("1"), "v": n(1)}, ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        action("Delete", "first", {"id": s("1")}),
        check("1"),
    ],
)
def test_token_with_another_request(call: Call, expect_error: ExpectError, other: dict[str, Any]) -> None:
    call("TransactWriteItems", TransactItems=[put(id=s("1"), v=n(1))], ClientRequestToken="once")
    with expect_error("IdempotentParameterMismatchException"):
        call("TransactWriteItems", TransactItems=[other], ClientRequestToken="once")


# A cancelled transaction did nothing, so its token is still free.
def test_cancelled_transaction_leaves_its_token(call: Call, expect_error: ExpectError) -> None:
    request = {"TransactItems": [put(id=s("2")), check("1")], "ClientRequestToken": "once"}
    with expect_error("TransactionCanceledException"):
        call("TransactWriteItems", **request)
    call("PutItem", TableName="first", Item={"id": s("1")})
    call("TransactWriteItems", **request)
    assert len(items(call)) == 2


# A transaction writes everything twice. A check costs a write; a repeated request costs reading its items.
def test_capacity(call: Call) -> None:
    request = {
        "TransactItems": [put(id=s("1"), city=s("Rome"), v=s("x" * 1500)), check("2", "attribute_not_exists(id)")],
        "ReturnConsumedCapacity": "INDEXES",
        "ClientRequestToken": "once",
    }
    # Items are written twice, index rows once.
    row = {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}
    assert call("TransactWriteItems", **request)["ConsumedCapacity"] == [
        {
            "TableName": "first",
            "CapacityUnits": 8.0,
            "WriteCapacityUnits": 8.0,
            "Table": {"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0},
            "GlobalSecondaryIndexes": {"by_city": row},
        }
    ]
    assert call("TransactWriteItems", **request)["ConsumedCapacity"] == [
        {
            "TableName": "first",
            "CapacityUnits": 4.0,
            "ReadCapacityUnits": 4.0,
            "Table": {"CapacityUnits": 4.0, "ReadCapacityUnits": 4.0},
        }
    ]


# The same request again is charged for the items of the first one, which may have changed since, or gone.
def test_capacity_of_a_repeated_deletion(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("1"), "v": s("x" * 9000)})
    request = {
        "TransactItems": [action("Delete", "first", {"id": s("1")})],
        "ReturnConsumedCapacity": "TOTAL",
        "ClientRequestToken": "once",
    }
    taken = [call("TransactWriteItems", **request)["ConsumedCapacity"] for _ in range(2)]
    assert taken == [
        [{"TableName": "first", "CapacityUnits": 18.0, "WriteCapacityUnits": 18.0}],
        [{"TableName": "first", "CapacityUnits": 6.0, "ReadCapacityUnits": 6.0}],
    ]


# AWS ignores them, though it rejects them in requests for one item.
def test_placeholders_without_expression_are_ignored(call: Call) -> None:
    placeholders = {"ExpressionAttributeNames": {"#a": "a"}, "ExpressionAttributeValues": {":v": n(1)}}
    item = put(id=s("1"))
    item["Put"] |= placeholders
    call("TransactWriteItems", TransactItems=[item])
    key = {"TableName": "first", "Key": {"id": s("1")}, "ExpressionAttributeNames": {"#a": "a"}}
    assert call("TransactGetItems", TransactItems=[{"Get": key}]) == {"Responses": [{"Item": {"id": s("1")}}]}


def test_item_collection_metrics(call: Call) -> None:
    answer = call(
        "TransactWriteItems",
        TransactItems=[
            put(id=s("1")),
            put("second", id=s("a"), at=n(1)),
            put("second", id=s("a"), at=n(2)),
            action(
                "ConditionCheck", "second", {"id": s("b"), "at": n(1)}, ConditionExpression="attribute_not_exists(id)"
            ),
        ],
        ReturnItemCollectionMetrics="SIZE",
    )
    assert answer["ItemCollectionMetrics"] == {
        "second": [{"ItemCollectionKey": {"id": s("a")}, "SizeEstimateRangeGB": [0.0, 1.0]}]
    }
