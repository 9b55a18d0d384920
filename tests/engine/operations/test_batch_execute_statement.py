"""BatchExecuteStatement: up to 25 statements, all reads or all writes, each with its own result."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, n, s

NO_TABLE = {"Code": "ResourceNotFound", "Message": "Requested resource not found"}
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
NOT_ONE = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."


@pytest.fixture(autouse=True)
def tables(call: Call) -> None:
    create(call, "shop", "id:S")
    for number, identity in enumerate("abc"):
        call("PutItem", TableName="shop", Item={"id": s(identity), "v": n(number)})


def run(call: Call, *statements: str | dict[str, Any], **members: Any) -> list[dict[str, Any]]:
    given = [{"Statement": each} if isinstance(each, str) else each for each in statements]
    responses: list[dict[str, Any]] = call("BatchExecuteStatement", Statements=given, **members)["Responses"]
    return responses


def invalid(message: str) -> dict[str, Any]:
    return {"Error": {"Code": "ValidationError", "Message": message}}


def test_reads(call: Call) -> None:
    assert run(
        call,
        "SELECT v FROM shop WHERE id = 'b'",
        "SELECT * FROM shop WHERE id = 'nobody'",
        {"Statement": "SELECT * FROM shop WHERE id = ?", "Parameters": [s("a")], "ConsistentRead": True},
        "SELECT * FROM shop WHERE v = 1",
        "SELECT * FROM shop WHERE id = 'c' AND v = 2",
        "SELECT * FROM nothere WHERE id = 'a'",
        "SELECT * FROM shop WHERE id = ?",
    ) == [
        {"TableName": "shop", "Item": {"v": n(1)}},
        {"TableName": "shop"},
        {"TableName": "shop", "Item": {"id": s("a"), "v": n(0)}},
        invalid(NOT_ONE),
        invalid(NOT_ONE),
        {"Error": NO_TABLE},
        invalid("Number of parameters in request and statement don't match."),
    ]


def test_writes_succeed_or_fail_one_by_one(call: Call) -> None:
    old = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    assert run(
        call,
        "INSERT INTO shop VALUE {'id': 'new', 'v': 9}",
        "INSERT INTO shop VALUE {'id': 'a', 'v': 9}",
        {"Statement": "UPDATE shop SET v = 9 WHERE id = 'b' AND v > 1", **old},
        "UPDATE shop SET v = 9 WHERE id = 'nobody'",
        "DELETE FROM shop WHERE id = 'c' RETURNING ALL OLD *",
        "UPDATE shop SET v = id + 1 WHERE id = 'd'",
        "INSERT INTO nothere VALUE {'id': 'a'}",
        "INSERT INTO shop VALUE {'id': 1}",
        "DELETE FROM shop",
        "INSERT shop",
    ) == [
        {"TableName": "shop"},
        {
            "TableName": "shop",
            "Error": {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
        },
        {"TableName": "shop", "Error": FAILED},
        {"TableName": "shop", "Error": FAILED},
        {"TableName": "shop", "Item": {"id": s("c"), "v": n(2)}},
        {"TableName": "shop", "Error": FAILED},
        {"Error": NO_TABLE},
        invalid("Key attribute's data type should match its data type in table's schema: Key id"),
        invalid("Where clause does not contain a mandatory equality on all key attributes"),
        invalid("Statement wasn't well formed, can't be processed: Unexpected token shop at 1:8:4"),
    ]
    found = {item["id"]["S"]: item["v"]["N"] for item in call("Scan", TableName="shop")["Items"]}
    assert found == {"a": "0", "b": "1", "new": "9"}


def test_units_of_each_table(call: Call) -> None:
    statements = [{"Statement": f"SELECT v FROM shop WHERE id = '{each}'"} for each in "ab"]
    answer = call("BatchExecuteStatement", Statements=statements, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == [{"TableName": "shop", "CapacityUnits": 1.0}]
    statements = [{"Statement": f"DELETE FROM shop WHERE id = '{each}'"} for each in "ab"]
    answer = call("BatchExecuteStatement", Statements=statements, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == [{"TableName": "shop", "CapacityUnits": 2.0}]


def test_an_item_occurs_once(call: Call, expect_error: ExpectError) -> None:
    message = "Provided list of item keys contains duplicates"
    for statements in (
        ["SELECT v FROM shop WHERE id = 'a'", "SELECT * FROM shop WHERE id = 'a'"],
        ["UPDATE shop SET v = 9 WHERE id = 'a'", "DELETE FROM shop WHERE id = 'a'"],
    ):
        with expect_error("ValidationException", message):
            run(call, *statements)


def test_reads_and_writes_do_not_mix(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "Read and write requests together in the same batch is not supported."):
        run(call, "SELECT v FROM shop WHERE id = 'a'", "DELETE FROM shop WHERE id = 'b'")
    assert call("Scan", TableName="shop")["Count"] == 3


def test_only_transactions_have_conditions_of_their_own(call: Call) -> None:
    message = "EXISTS can only be used in ExecuteTransaction write requests."
    assert run(call, "EXISTS(SELECT * FROM shop WHERE id = 'a' AND v = 0)") == [invalid(message)]


def test_25_statements_at_most(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException"):
        run(call, *["SELECT"] * 26)
    with expect_error("ValidationException"):
        run(call)
