"""DescribeTable."""

from __future__ import annotations

from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import attributes, index, table


# AWS updates the counts every six hours; here they are exact at every commit.
def test_counts_are_exact(call: Call) -> None:
    call(
        "CreateTable",
        **table(AttributeDefinitions=attributes(p="S", s="N", g="S"), GlobalSecondaryIndexes=[index()]),
    )
    call("PutItem", TableName="orders", Item={"p": {"S": "a"}, "s": {"N": "1"}, "g": {"S": "x"}})
    call("PutItem", TableName="orders", Item={"p": {"S": "a"}, "s": {"N": "2"}})
    shown = call("DescribeTable", TableName="orders")["Table"]
    assert (shown["ItemCount"], shown["TableSizeBytes"]) == (2, 12)
    assert shown["GlobalSecondaryIndexes"][0]["ItemCount"] == 1


def test_shows_what_create_table_answered(call: Call) -> None:
    created = call("CreateTable", **table())["TableDescription"]
    assert call("DescribeTable", TableName="orders") == {"Table": created}
    assert call("DescribeTable", TableName=created["TableArn"]) == {"Table": created}


def test_a_missing_table_is_named(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found: Table: orders not found"):
        call("DescribeTable", TableName="orders")
