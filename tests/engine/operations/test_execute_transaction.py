"""ExecuteTransaction: up to 100 statements, all reads or all writes, all or none."""

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
    create(call, "shop", "id:S", indexes=[index("by_city", "city:S")])
    create(call, "other", "id:S", "seq:N")
    for number, identity in enumerate("abc"):
        call("PutItem", TableName="shop", Item={"id": s(identity), "v": n(number)})


def run(call: Call, *statements: str | dict[str, Any], **members: Any) -> dict[str, Any]:
    given = [{"Statement": each} if isinstance(each, str) else each for each in statements]
    return call("ExecuteTransaction", TransactStatements=given, **members)


def count(call: Call) -> int:
    found: int = call("Scan", TableName="shop")["Count"]
    return found


def test_reads(call: Call) -> None:
    answer = run(
        call,
        "SELECT v FROM shop WHERE id = 'b'",
        {"Statement": "SELECT * FROM shop WHERE id = ?", "Parameters": [s("nobody")]},
        "SELECT * FROM other WHERE seq = 1 AND id = 'a'",
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["Responses"] == [{"Item": {"v": n(1)}}, {}, {}]
    units = {"CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}
    assert answer["ConsumedCapacity"] == [{"TableName": name, **units} for name in ("shop", "shop", "other")]


def test_writes(call: Call) -> None:
    answer = run(
        call,
        "INSERT INTO shop VALUE {'id': 'new', 'city': 'Rome'}",
        "UPDATE shop SET v = v + 5 WHERE id = 'a' AND v = 0",
        "DELETE FROM shop WHERE id = 'b'",
        "EXISTS(SELECT * FROM shop WHERE id = 'c' AND v = 2)",
        "INSERT INTO other VALUE {'id': 'a', 'seq': 1}",
    )
    assert answer == {"Responses": []}
    found = {item["id"]["S"]: item.get("v") for item in call("Scan", TableName="shop")["Items"]}
    assert found == {"new": None, "a": n(5), "c": n(2)}
    assert call("Scan", TableName="other")["Count"] == 1


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "INSERT INTO shop VALUE {'id': 'a'}",
            {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
        ),
        ("UPDATE shop SET v = 1 WHERE id = 'nobody'", FAILED),
        ("UPDATE shop SET v = 1 WHERE id = 'a' AND v > 5", FAILED),
        ("DELETE FROM shop WHERE id = 'a' AND v > 5", FAILED),
        ("EXISTS(SELECT * FROM shop WHERE id = 'a' AND v > 5)", FAILED),
        ("EXISTS(SELECT * FROM shop WHERE id = 'nobody' AND v IS MISSING)", FAILED),
        (
            "INSERT INTO shop VALUE {'id': 1}",
            {
                "Code": "ValidationError",
                "Message": "Key attribute's data type should match its data type in table's schema: Key id",
            },
        ),
        (
            "UPDATE shop SET v = 1",
            {
                "Code": "ValidationError",
                "Message": "Where clause does not contain a mandatory equality on all key attributes",
            },
        ),
    ],
)
def test_one_failure_cancels_all(call: Call, expect_error: ExpectError, statement: str, reason: dict[str, Any]) -> None:
    with expect_error("TransactionCanceledException", f"{CANCELLED}[None, {reason['Code']}]") as caught:
        run(call, "INSERT INTO shop VALUE {'id': 'new'}", statement)
    assert caught.value.members["CancellationReasons"] == [{"Code": "None"}, reason]
    assert count(call) == 3


def test_the_item_that_failed(call: Call, expect_error: ExpectError) -> None:
    statement = {
        "Statement": "UPDATE shop SET v = 1 WHERE id = 'a' AND v > 5",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    with expect_error("TransactionCanceledException") as caught:
        run(call, statement)
    (reason,) = caught.value.members["CancellationReasons"]
    assert reason["Item"].text == b'{"id":{"S":"a"},"v":{"N":"0"}}'


def test_a_token_makes_it_happen_once(call: Call, clock: ManualClock, expect_error: ExpectError) -> None:
    insert = {"Statement": "INSERT INTO shop VALUE {'id': ?}", "Parameters": [s("new")]}
    other = insert | {"Parameters": [s("newer")]}
    again = {"ClientRequestToken": "t", "ReturnConsumedCapacity": "TOTAL"}
    (first,) = run(call, insert, **again)["ConsumedCapacity"]
    assert first["WriteCapacityUnits"] == 2.0
    (second,) = run(call, insert, **again)["ConsumedCapacity"]
    assert second["ReadCapacityUnits"] == 2.0
    assert run(call, insert, ClientRequestToken="t") == {"Responses": []}
    with expect_error("IdempotentParameterMismatchException"):
        run(call, other, ClientRequestToken="t")
    clock.advance(601)
    run(call, other, ClientRequestToken="t")
    assert count(call) == 5


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (
            "SELECT * FROM shop WHERE v = 1",
            "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
        ),
        (
            'SELECT * FROM "shop"."by_city" WHERE city = \'Rome\'',
            "Reads on indices are not supported within transactions.",
        ),
        ("SELECT * FROM shop WHERE id = ?", "Number of parameters in request and statement don't match."),
        (
            "EXISTS(SELECT * FROM shop WHERE id = 'a')",
            "EXISTS() must contain a single item read with additional condition",
        ),
        (
            "UPDATE shop SET v = 1 WHERE id = 'a' RETURNING ALL NEW *",
            "RETURNING clause is not supported in ExecuteTransaction.",
        ),
    ],
)
def test_what_transactions_lack(call: Call, expect_error: ExpectError, statement: str, why: str) -> None:
    with expect_error("ValidationException", f"Validation failed in TransactStatements[0]: {why}"):
        run(call, statement)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            ["SELECT * FROM shop WHERE id = 'a'", "DELETE FROM shop WHERE id = 'a'"],
            "ExecuteTransaction API does not support both read and write operations in the same request.",
        ),
        (
            ["UPDATE shop SET v = 1 WHERE id = 'a'", "DELETE FROM shop WHERE id = 'a'"],
            "Transaction request cannot include multiple operations on one item",
        ),
        (
            ["SELECT * FROM shop WHERE id = 'a'", "SELECT v FROM shop WHERE id = 'a'"],
            "Transaction request cannot include multiple operations on one item",
        ),
        (
            ["DELETE FROM shop WHERE id = 'a'", "DELETE FROM"],
            "Statement wasn't well formed, can't be processed: Unexpected end of statement",
        ),
    ],
)
def test_rejected_as_a_whole(call: Call, expect_error: ExpectError, statements: list[str], message: str) -> None:
    with expect_error("ValidationException", message):
        run(call, *statements)
    assert count(call) == 3


def test_no_such_table(call: Call, expect_error: ExpectError) -> None:
    for statement in ("SELECT * FROM nothere WHERE id = 'a'", "DELETE FROM nothere WHERE id = 'a'"):
        with expect_error("ResourceNotFoundException", "Requested resource not found"):
            run(call, statement)
