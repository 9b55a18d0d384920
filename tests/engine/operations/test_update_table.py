"""UpdateTable: throughput, billing, streams and settings. (test_update_table_indexes.py covers indexes.)"""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.clock import ManualClock
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import INVALID, UNITS, attributes, index, provisioned, table

START = 1_750_000_000.0
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def update(call: Call, **members: Any) -> dict[str, Any]:
    answer = call("UpdateTable", TableName="orders", **members)["TableDescription"]
    assert call("DescribeTable", TableName="orders")["Table"] == answer
    return dict(answer)


def test_an_update_of_nothing_is_rejected(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **table())
    with expect_error(
        "ValidationException",
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates "
        "or SSESpecification or ReplicaUpdates is required",
    ):
        call("UpdateTable", TableName="orders")


def test_a_missing_table_is_named(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found: Table: orders not found"):
        call("UpdateTable", TableName="orders", DeletionProtectionEnabled=True)


def test_throughput_remembers_its_last_changes(call: Call, clock: ManualClock) -> None:
    call("CreateTable", **provisioned())
    clock.advance(10)
    assert update(call, ProvisionedThroughput=units(7, 6))["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 0,
        "LastIncreaseDateTime": START + 10,
        **units(7, 6),
    }
    clock.advance(10)
    assert update(call, ProvisionedThroughput=units(7, 5))["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 1,
        "LastIncreaseDateTime": START + 10,
        "LastDecreaseDateTime": START + 20,
        **units(7, 5),
    }


def test_decreases_are_counted_by_the_day(call: Call, clock: ManualClock) -> None:
    call("CreateTable", **provisioned())
    update(call, ProvisionedThroughput=units(4, 4))
    assert update(call, ProvisionedThroughput=units(3, 3))["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 2
    clock.advance(24 * 3600)
    shown = call("DescribeTable", TableName="orders")["Table"]
    assert shown["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    assert update(call, ProvisionedThroughput=units(2, 2))["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1


def test_throughput_must_change(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **provisioned())
    with expect_error(
        "ValidationException",
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "
        "Current WriteCapacityUnits provisioned for the table: 6. Requested WriteCapacityUnits: 6. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
    ):
        call("UpdateTable", TableName="orders", ProvisionedThroughput=UNITS)


@pytest.mark.parametrize("members", [{}, {"BillingMode": "PAY_PER_REQUEST"}])
def test_on_demand_has_no_throughput(call: Call, expect_error: ExpectError, members: dict[str, Any]) -> None:
    call("CreateTable", **table())
    with expect_error(
        "ValidationException",
        INVALID
        + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
    ):
        call("UpdateTable", TableName="orders", ProvisionedThroughput=UNITS, **members)


def test_to_on_demand_and_back(call: Call, clock: ManualClock) -> None:
    call(
        "CreateTable",
        **provisioned(
            AttributeDefinitions=attributes(p="S", s="N", g="S"),
            GlobalSecondaryIndexes=[index(ProvisionedThroughput=UNITS)],
        ),
    )
    clock.advance(5)
    shown = update(call, BillingMode="PAY_PER_REQUEST")
    assert shown["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": START + 5,
    }
    assert shown["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert shown["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 0
    update(call, OnDemandThroughput={"MaxReadRequestUnits": 9})
    clock.advance(5)
    shown = update(
        call,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(1, 2),
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by_g", "ProvisionedThroughput": units(3, 4)}}],
    )
    assert shown["BillingModeSummary"] == {
        "BillingMode": "PROVISIONED",
        "LastUpdateToPayPerRequestDateTime": START + 5,
    }
    assert shown["ProvisionedThroughput"]["WriteCapacityUnits"] == 2
    assert shown["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 3
    assert "OnDemandThroughput" not in shown


def test_provisioned_mode_needs_throughput_for_the_table(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **table())
    with expect_error(
        "ValidationException",
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
    ):
        call("UpdateTable", TableName="orders", BillingMode="PROVISIONED")


def test_provisioned_mode_needs_throughput_for_each_index(call: Call, expect_error: ExpectError) -> None:
    call(
        "CreateTable",
        **table(AttributeDefinitions=attributes(p="S", s="N", g="S"), GlobalSecondaryIndexes=[index()]),
    )
    with expect_error("ValidationException", INVALID + "ProvisionedThroughput must be specified for index: by_g"):
        call("UpdateTable", TableName="orders", BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)


def test_a_stream_can_be_switched_on_off_and_on_again(call: Call, clock: ManualClock) -> None:
    call("CreateTable", **table())
    first = update(call, StreamSpecification=STREAM)
    assert first["StreamSpecification"] == STREAM
    disabled = update(call, StreamSpecification={"StreamEnabled": False})
    assert "StreamSpecification" not in disabled
    assert disabled["LatestStreamArn"] == first["LatestStreamArn"]
    clock.advance(1)
    second = update(call, StreamSpecification=STREAM)
    assert second["LatestStreamArn"] != first["LatestStreamArn"]


def test_a_table_has_one_stream_at_a_time(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **table(StreamSpecification=STREAM))
    with expect_error("ValidationException", "Table already has an enabled stream: TableName: orders"):
        call("UpdateTable", TableName="orders", StreamSpecification=STREAM)


def test_there_must_be_a_stream_to_disable(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **table())
    with expect_error("ValidationException", "Table has no stream to disable: TableName: orders"):
        call("UpdateTable", TableName="orders", StreamSpecification={"StreamEnabled": False})


def test_settings_change_one_by_one(call: Call) -> None:
    call("CreateTable", **table())
    assert update(call, TableClass="STANDARD_INFREQUENT_ACCESS")["TableClassSummary"] == {
        "TableClass": "STANDARD_INFREQUENT_ACCESS"
    }
    key = "arn:aws:kms:eu-west-1:123:key/x"
    assert update(call, SSESpecification={"Enabled": True, "KMSMasterKeyId": key})["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": key,
    }
    update(call, OnDemandThroughput={"MaxReadRequestUnits": 3})
    shown = update(call, OnDemandThroughput={"MaxWriteRequestUnits": 4})
    assert shown["OnDemandThroughput"] == {"MaxReadRequestUnits": 3, "MaxWriteRequestUnits": 4}
    # The answer still has what removes a maximum.
    removal = {"MaxReadRequestUnits": -1}
    shown = call("UpdateTable", TableName="orders", OnDemandThroughput=removal)["TableDescription"]
    assert shown["OnDemandThroughput"] == {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 4}
    shown = call("DescribeTable", TableName="orders")["Table"]
    assert shown["OnDemandThroughput"] == {"MaxWriteRequestUnits": 4}
    assert shown["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert "SSEDescription" not in update(call, SSESpecification={"Enabled": False})


def test_a_warmed_table_cannot_be_cooled(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **table())
    shown = update(call, WarmThroughput={"WriteUnitsPerSecond": 5_000})
    assert shown["WarmThroughput"] == {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 5_000, "Status": "ACTIVE"}
    with expect_error("ValidationException"):
        call("UpdateTable", TableName="orders", WarmThroughput={"WriteUnitsPerSecond": 4_999})


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("MultiRegionConsistency", "STRONG"),
        ("GlobalTableWitnessUpdates", [{}]),
    ],
)
def test_unsupported_changes_are_rejected_and_not_ignored(
    call: Call, expect_error: ExpectError, member: str, value: object
) -> None:
    call("CreateTable", **table())
    with expect_error("ValidationException") as rejected:
        call("UpdateTable", TableName="orders", DeletionProtectionEnabled=True, **{member: value})
    assert rejected.value.message.startswith(INVALID + f"{member} is not supported here")
    assert call("DescribeTable", TableName="orders")["Table"]["DeletionProtectionEnabled"] is False
