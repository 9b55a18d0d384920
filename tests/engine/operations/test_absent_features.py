"""Features that are not supported here: DynamoDB's answers for a table without them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import attributes, index, table


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    call(
        "CreateTable",
        **table(AttributeDefinitions=attributes(p="S", s="N", g="S"), GlobalSecondaryIndexes=[index()]),
    )


@pytest.mark.parametrize(
    ("operation", "answer"),
    [
        ("DescribeKinesisStreamingDestination", {"TableName": "orders", "KinesisDataStreamDestinations": []}),
    ],
)
def test_a_table_is_described_without_the_feature(call: Call, operation: str, answer: dict[str, Any]) -> None:
    assert call(operation, TableName="orders") == answer


@pytest.mark.parametrize(
    ("operation", "answer"),
    [
        ("ListGlobalTables", {"GlobalTables": []}),
    ],
)
def test_lists_are_empty(call: Call, operation: str, answer: dict[str, Any]) -> None:
    assert call(operation) == answer


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("DescribeContributorInsights", "ResourceNotFoundException"),
        ("DescribeKinesisStreamingDestination", "ResourceNotFoundException"),
        ("DescribeTableReplicaAutoScaling", "ResourceNotFoundException"),
    ],
)
def test_the_table_must_exist(call: Call, expect_error: ExpectError, operation: str, code: str) -> None:
    with expect_error(code):
        call(operation, TableName="missing")


@pytest.mark.parametrize("operation", ["DescribeGlobalTable", "DescribeGlobalTableSettings"])
def test_there_are_no_global_tables(call: Call, expect_error: ExpectError, operation: str) -> None:
    message = "Global table not found: Global table with name: 'orders' does not exist."
    with expect_error("GlobalTableNotFoundException", message):
        call(operation, GlobalTableName="orders")


def test_limits_are_those_of_a_new_account(call: Call) -> None:
    assert call("DescribeLimits") == {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def test_the_endpoint_is_named_after_the_region(call: Call) -> None:
    assert call("DescribeEndpoints") == {
        "Endpoints": [{"Address": "dynamodb.local.amazonaws.com", "CachePeriodInMinutes": 1440}]
    }
