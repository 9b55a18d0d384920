"""Global tables, as far as they can be in one region; every other region is rejected by name.

With other regions they are tested in `test_regions.py`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import INVALID, attributes, index, table

STREAM: dict[str, Any] = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
HERE = [{"RegionName": "local"}]
NONE = "Global table not found: Global table with name: 'orders' does not exist."
ELSEWHERE = (
    INVALID
    + "A replica in the region 'eu-west-1' cannot be kept: replicas need other regions, and this store has one: "
    "start the endpoint by `sortkey db --regions eu-west-1,us-east-1`"
)


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    call(
        "CreateTable",
        **table(AttributeDefinitions=attributes(p="S", s="N", g="S"), GlobalSecondaryIndexes=[index()], **STREAM),
    )


def create(call: Call, *regions: str) -> dict[str, Any]:
    group = [{"RegionName": region} for region in regions]
    created: dict[str, Any] = call("CreateGlobalTable", GlobalTableName="orders", ReplicationGroup=group)
    return dict(created["GlobalTableDescription"])


def test_a_table_of_one_region(call: Call) -> None:
    created = create(call, "local")
    assert created["GlobalTableStatus"] == "CREATING"
    assert created["GlobalTableArn"] == "arn:aws:dynamodb::000000000000:global-table/orders"
    described = call("DescribeGlobalTable", GlobalTableName="orders")["GlobalTableDescription"]
    assert described == created | {"GlobalTableStatus": "ACTIVE"}
    assert described["ReplicationGroup"] == [{"RegionName": "local", "ReplicaStatus": "ACTIVE"}]
    listed = [{"GlobalTableName": "orders", "ReplicationGroup": HERE}]
    assert call("ListGlobalTables")["GlobalTables"] == listed
    assert call("ListGlobalTables", RegionName="local", Limit=1) == {"GlobalTables": listed}
    assert call("ListGlobalTables", RegionName="eu-west-1")["GlobalTables"] == []
    assert call("ListGlobalTables", ExclusiveStartGlobalTableName="orders")["GlobalTables"] == []


def test_its_settings_are_those_of_the_table(call: Call, expect_error: ExpectError) -> None:
    create(call, "local")
    (replica,) = call("DescribeGlobalTableSettings", GlobalTableName="orders")["ReplicaSettings"]
    assert (replica["RegionName"], replica["ReplicaStatus"]) == ("local", "ACTIVE")
    assert replica["ReplicaBillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert [each["IndexName"] for each in replica["ReplicaGlobalSecondaryIndexSettings"]] == ["by_g"]
    assert call("UpdateGlobalTableSettings", GlobalTableName="orders")["ReplicaSettings"] == [replica]
    with expect_error("ValidationException"):
        call("UpdateGlobalTableSettings", GlobalTableName="orders", GlobalTableBillingMode="PROVISIONED")


def test_pages(call: Call) -> None:
    create(call, "local")
    call("CreateTable", **table("others", **STREAM))
    call("CreateGlobalTable", GlobalTableName="others", ReplicationGroup=HERE)
    page = call("ListGlobalTables", Limit=1)
    rest = call("ListGlobalTables", ExclusiveStartGlobalTableName=page["LastEvaluatedGlobalTableName"])
    assert [each["GlobalTableName"] for each in page["GlobalTables"] + rest["GlobalTables"]] == ["orders", "others"]


@pytest.mark.parametrize(
    ("regions", "code", "message"),
    [
        (["local", "eu-west-1"], "ValidationException", ELSEWHERE),
        ([], "ValidationException", INVALID + "ReplicationGroup must have at least one replica"),
    ],
)
def test_other_regions_are_rejected(
    call: Call, expect_error: ExpectError, regions: list[str], code: str, message: str
) -> None:
    with expect_error(code, message):
        create(call, *regions)


def test_what_must_exist(call: Call, expect_error: ExpectError) -> None:
    with expect_error("TableNotFoundException", "Table not found: missing"):
        call("CreateGlobalTable", GlobalTableName="missing", ReplicationGroup=HERE)
    call("CreateTable", **table("silent"))
    with expect_error("ValidationException"):
        call("CreateGlobalTable", GlobalTableName="silent", ReplicationGroup=HERE)
    create(call, "local")
    with expect_error("GlobalTableAlreadyExistsException", "Global table with name: 'orders' already exists."):
        create(call, "local")


@pytest.mark.parametrize(
    ("update", "code"),
    [
        ({"Create": {"RegionName": "eu-west-1"}}, "ValidationException"),
        ({"Create": {"RegionName": "local"}}, "ReplicaAlreadyExistsException"),
        ({"Delete": {"RegionName": "eu-west-1"}}, "ReplicaNotFoundException"),
        ({}, "ValidationException"),
    ],
)
def test_updates(call: Call, expect_error: ExpectError, update: dict[str, Any], code: str) -> None:
    create(call, "local")
    with expect_error(code):
        call("UpdateGlobalTable", GlobalTableName="orders", ReplicaUpdates=[update])
    with expect_error("ValidationException"):
        call("UpdateGlobalTable", GlobalTableName="orders", ReplicaUpdates=[])


def test_without_its_replica_the_table_is_global_no_more(call: Call, expect_error: ExpectError) -> None:
    create(call, "local")
    call("UpdateGlobalTable", GlobalTableName="orders", ReplicaUpdates=[{"Delete": {"RegionName": "local"}}])
    for operation in ("DescribeGlobalTable", "DescribeGlobalTableSettings", "UpdateGlobalTableSettings"):
        with expect_error("GlobalTableNotFoundException", NONE):
            call(operation, GlobalTableName="orders")
    assert call("DescribeTable", TableName="orders")["Table"]["TableStatus"] == "ACTIVE"


def test_there_are_no_replicas_to_scale(call: Call, expect_error: ExpectError) -> None:
    assert call("DescribeTableReplicaAutoScaling", TableName="orders") == {
        "TableAutoScalingDescription": {"TableName": "orders", "TableStatus": "ACTIVE", "Replicas": []}
    }
    with expect_error("ValidationException"):
        call("UpdateTableReplicaAutoScaling", TableName="orders", ReplicaUpdates=[{"RegionName": "local"}])
    with expect_error("ResourceNotFoundException"):
        call("UpdateTableReplicaAutoScaling", TableName="missing")


def test_replicas_of_update_table_are_rejected_with_the_reason(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", ELSEWHERE):
        call("UpdateTable", TableName="orders", ReplicaUpdates=[{"Create": {"RegionName": "eu-west-1"}}])
