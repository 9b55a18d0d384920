"""UpdateTable's GlobalSecondaryIndexUpdates."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import (
    INVALID,
    UNITS,
    attributes,
    index,
    key_schema,
    local_index,
    provisioned,
    table,
)

ONLY_ONE = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
DROP = {"Delete": {"IndexName": "by_g"}}


def change(call: Call, *updates: dict[str, Any], **members: Any) -> dict[str, Any]:
    answer = call("UpdateTable", TableName="orders", GlobalSecondaryIndexUpdates=list(updates), **members)
    return dict(answer["TableDescription"])


def names(description: dict[str, Any]) -> list[str]:
    return [index["IndexName"] for index in description.get("GlobalSecondaryIndexes", [])]


@pytest.fixture
def indexed(call: Call) -> None:
    """A table with one global index, `by_g`."""
    call(
        "CreateTable",
        **table(AttributeDefinitions=attributes(p="S", s="N", g="S"), GlobalSecondaryIndexes=[index()]),
    )


def test_a_new_index_is_filled_in_the_background(db: Database, call: Call) -> None:
    call("CreateTable", **table())
    call("PutItem", TableName="orders", Item={"p": {"S": "a"}, "s": {"N": "1"}, "g": {"S": "x"}})
    call("PutItem", TableName="orders", Item={"p": {"S": "a"}, "s": {"N": "2"}})
    shown = change(call, {"Create": index()}, AttributeDefinitions=attributes(g="S"))
    assert shown["AttributeDefinitions"] == attributes(p="S", s="N", g="S")
    created = shown["GlobalSecondaryIndexes"][0]
    assert (created["IndexStatus"], created["Backfilling"]) == ("CREATING", True)
    db.janitor.sweep()
    filled = call("DescribeTable", TableName="orders")["Table"]["GlobalSecondaryIndexes"][0]
    assert (filled["IndexStatus"], filled["ItemCount"]) == ("ACTIVE", 1)
    assert "Backfilling" not in filled


@pytest.mark.usefixtures("indexed")
def test_a_dropped_index_takes_its_definitions_along(db: Database, call: Call) -> None:
    call("PutItem", TableName="orders", Item={"p": {"S": "a"}, "s": {"N": "1"}, "g": {"S": "x"}})
    shown = change(call, DROP)
    assert names(shown) == []
    assert shown["AttributeDefinitions"] == attributes(p="S", s="N")
    assert shown["ItemCount"] == 1
    db.janitor.sweep()


def test_attributes_that_another_index_needs_stay_defined(call: Call) -> None:
    call(
        "CreateTable",
        **table(
            AttributeDefinitions=attributes(p="S", s="N", g="S"),
            GlobalSecondaryIndexes=[index()],
            LocalSecondaryIndexes=[local_index()],
        ),
    )
    assert change(call, DROP)["AttributeDefinitions"] == attributes(p="S", s="N", g="S")


# Deleting an index does not have to wait until it is filled.
def test_an_index_may_be_dropped_while_it_is_filled(db: Database, call: Call) -> None:
    call("CreateTable", **table())
    change(call, {"Create": index()}, AttributeDefinitions=attributes(g="S"))
    assert names(change(call, DROP)) == []
    db.janitor.sweep()


@pytest.mark.usefixtures("indexed")
def test_one_index_at_a_time(db: Database, call: Call, expect_error: ExpectError) -> None:
    new = {"Create": index("by_s", "s")}
    with expect_error("LimitExceededException", ONLY_ONE):
        change(call, new, DROP, AttributeDefinitions=attributes(s="N"))
    change(call, new, AttributeDefinitions=attributes(s="N"))
    with expect_error("LimitExceededException", ONLY_ONE):
        change(call, DROP)
    with expect_error("LimitExceededException", ONLY_ONE):
        change(call, {"Create": index("by_p", "p")}, AttributeDefinitions=attributes(p="S"))
    db.janitor.sweep()
    assert names(change(call, DROP)) == ["by_s"]


def test_throughput_of_an_index_changes_by_itself(call: Call, expect_error: ExpectError) -> None:
    call(
        "CreateTable",
        **provisioned(
            AttributeDefinitions=attributes(p="S", s="N", g="S"),
            GlobalSecondaryIndexes=[index(ProvisionedThroughput=UNITS)],
        ),
    )
    more = {"Update": {"IndexName": "by_g", "ProvisionedThroughput": {"ReadCapacityUnits": 9, "WriteCapacityUnits": 6}}}
    shown = change(call, more)
    assert shown["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 9
    assert shown["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    with expect_error(
        "ValidationException",
        "The provisioned throughput for the index by_g will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the index: 9. Requested ReadCapacityUnits: 9. "
        "Current WriteCapacityUnits provisioned for the index: 6. Requested WriteCapacityUnits: 6. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
    ):
        change(call, more)


@pytest.mark.usefixtures("indexed")
def test_an_index_keeps_its_own_maximum(call: Call) -> None:
    maximum = {"MaxReadRequestUnits": 8}
    shown = change(call, {"Update": {"IndexName": "by_g", "OnDemandThroughput": maximum}})
    assert shown["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] == maximum
    assert "OnDemandThroughput" not in shown


def test_an_index_of_a_provisioned_table_needs_throughput(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **provisioned())
    with expect_error(
        "ValidationException",
        INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: by_g",
    ):
        change(call, {"Create": index()}, AttributeDefinitions=attributes(g="S"))


REJECTED: list[tuple[list[dict[str, Any]], dict[str, str], str, str]] = [
    (
        [{"Create": index("by_h", "h", ProvisionedThroughput=UNITS)}],
        {"h": "S"},
        "ValidationException",
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: by_h "
        "when BillingMode is PAY_PER_REQUEST",
    ),
    ([{"Create": index()}], {"g": "S"}, "ValidationException", "Attempting to create an index which already exists"),
    # A key attribute of the table has to be defined again.
    (
        [{"Create": index("by_h", "h", "s")}],
        {"h": "S"},
        "ValidationException",
        "Invalid KeySchema: Some index key attribute have no definition",
    ),
    (
        [{"Create": index("by_s", "s") | {"KeySchema": [*key_schema("s", "p"), *key_schema("g")]}}],
        {"s": "N", "p": "S", "g": "S"},
        "ValidationException",
        "Invalid KeySchema: all HASH elements must come before the RANGE elements, index: by_s",
    ),
    ([{"Delete": {"IndexName": "none"}}], {}, "ResourceNotFoundException", "Requested resource not found"),
    (
        [{"Update": {"IndexName": "none", "WarmThroughput": {"ReadUnitsPerSecond": 20_000}}}],
        {},
        "ResourceNotFoundException",
        "Requested resource not found",
    ),
    (
        [{"Update": {"IndexName": "by_g"}}, DROP],
        {},
        "ValidationException",
        INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: by_g",
    ),
    (
        [{}],
        {},
        "ValidationException",
        INVALID + "A GlobalSecondaryIndexUpdate has exactly one of Update, Create and Delete",
    ),
]


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize(("updates", "types", "code", "message"), REJECTED)
def test_rejects(
    call: Call,
    expect_error: ExpectError,
    updates: list[dict[str, Any]],
    types: dict[str, str],
    code: str,
    message: str,
) -> None:
    before = call("DescribeTable", TableName="orders")
    with expect_error(code, message):
        change(call, *updates, AttributeDefinitions=attributes(**types))
    assert call("DescribeTable", TableName="orders") == before


# Another type of a known attribute, and attributes that no key uses, are ignored.
@pytest.mark.usefixtures("indexed")
def test_definitions_are_added_where_they_are_needed(call: Call) -> None:
    definitions = call("DescribeTable", TableName="orders")["Table"]["AttributeDefinitions"]
    change(call, {"Create": index("by_s", "s")}, AttributeDefinitions=attributes(s="S", x="S"))
    assert call("DescribeTable", TableName="orders")["Table"]["AttributeDefinitions"] == definitions


def test_a_table_has_twenty_global_indexes(call: Call, expect_error: ExpectError) -> None:
    indexes = [index(f"by_{number}", "s") for number in range(20)]
    call("CreateTable", **table(GlobalSecondaryIndexes=indexes))
    with expect_error(
        "LimitExceededException",
        "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20",
    ):
        change(call, {"Create": index("one_more", "s")}, AttributeDefinitions=attributes(s="N"))
