"""DeleteTable."""

from __future__ import annotations

from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import attributes, index, table

ITEM = {"p": {"S": "a"}, "s": {"N": "1"}, "g": {"S": "x"}}


def test_the_table_is_gone_with_the_answer(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **table())
    call("PutItem", TableName="orders", Item=ITEM)
    shown = call("DeleteTable", TableName="orders")["TableDescription"]
    assert (shown["TableStatus"], shown["ItemCount"]) == ("DELETING", 1)
    with expect_error("ResourceNotFoundException", "Requested resource not found: Table: orders not found"):
        call("DescribeTable", TableName="orders")
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("GetItem", TableName="orders", Key={"p": {"S": "a"}, "s": {"N": "1"}})


# The janitor deletes the rows later; a new table of the same name must not see them.
def test_a_new_table_of_the_name_begins_empty(call: Call) -> None:
    call("CreateTable", **table())
    call("PutItem", TableName="orders", Item=ITEM)
    call("DeleteTable", TableName="orders")
    shown = call("CreateTable", **table())["TableDescription"]
    assert shown["ItemCount"] == 0
    assert call("Scan", TableName="orders")["Count"] == 0


def test_the_rows_of_table_indexes_and_streams_go(db: Database, call: Call) -> None:
    call(
        "CreateTable",
        **table(
            AttributeDefinitions=attributes(p="S", s="N", g="S"),
            GlobalSecondaryIndexes=[index()],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        ),
    )
    call("PutItem", TableName="orders", Item=ITEM)
    call("DeleteTable", TableName="orders")
    db.janitor.sweep()
    with db.read() as transaction:
        rows = [key for key, _ in transaction.cursor() if key[:4] >= b"\0\0\0\x10"]
    assert rows == []


def test_protection_must_be_lifted_first(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **table(DeletionProtectionEnabled=True))
    with expect_error(
        "ValidationException",
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
    ):
        call("DeleteTable", TableName="orders")
    call("UpdateTable", TableName="orders", DeletionProtectionEnabled=False)
    call("DeleteTable", TableName="orders")


def test_a_missing_table_is_named(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found: Table: orders not found"):
        call("DeleteTable", TableName="orders")
