"""Vector indexes of tables that are restored."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.vector_samples import create_dishes, dish, names, put, search, vector_index

SOUR, SWEET = vector_index("by_taste", ("kind", "HASH")), vector_index("by_other", DistanceFunction="EUCLIDEAN")


@pytest.fixture(autouse=True)
def dishes(call: Call) -> None:
    create_dishes(call, SOUR, SWEET, kind="S")
    put(call, *(dish(f"d{number}", 1.0, number / 10, 0.0, kind={"S": "soup"}) for number in range(5)), dish("plain"))


def backed_up(db: Database, call: Call) -> str:
    made = call("CreateBackup", TableName="dishes", BackupName="daily")["BackupDetails"]
    db.janitor.sweep()
    arn: str = made["BackupArn"]
    return arn


def soups(call: Call, table: str = "dishes") -> list[str]:
    kind: dict[str, Any] = {
        "SearchConditionExpression": "kind = :k",
        "ExpressionAttributeValues": {":k": {"S": "soup"}},
    }
    return names(search(call, 1.0, 0.0, 0.0, TableName=table, **kind))


@pytest.mark.parametrize("from_backup", [True, False])
def test_they_are_restored_with_their_rows(db: Database, call: Call, from_backup: bool) -> None:
    before = soups(call)
    if from_backup:
        call("RestoreTableFromBackup", TargetTableName="restored", BackupArn=backed_up(db, call))
    else:
        recovery = {"PointInTimeRecoveryEnabled": True}
        call("UpdateContinuousBackups", TableName="dishes", PointInTimeRecoverySpecification=recovery)
        latest = {"SourceTableName": "dishes", "UseLatestRestorableTime": True}
        call("RestoreTableToPointInTime", TargetTableName="restored", **latest)
    creating = call("DescribeTable", TableName="restored")["Table"]["VectorIndexes"]
    assert [each["IndexStatus"] for each in creating] == ["CREATING", "CREATING"]
    db.janitor.sweep()
    described = call("DescribeTable", TableName="restored")["Table"]["VectorIndexes"]
    assert [(each["IndexStatus"], each["ItemCount"]) for each in described] == [("ACTIVE", 5), ("ACTIVE", 5)]
    assert soups(call, "restored") == before == ["d0", "d1", "d2", "d3", "d4"]
    call("PutItem", TableName="restored", Item=dish("new", 1.0, 0.0, 0.0, kind={"S": "soup"}))
    assert len(soups(call, "restored")) == 6


def test_an_override_may_leave_out_some(db: Database, call: Call) -> None:
    arn = backed_up(db, call)
    call("RestoreTableFromBackup", TargetTableName="one", BackupArn=arn, VectorIndexOverride=[SWEET])
    call("RestoreTableFromBackup", TargetTableName="none", BackupArn=arn, VectorIndexOverride=[])
    shown = call("DescribeTable", TableName="one")["Table"]["VectorIndexes"]
    assert [each["IndexName"] for each in shown] == ["by_other"]
    assert "VectorIndexes" not in call("DescribeTable", TableName="none")["Table"]


def test_an_override_may_not_change_one(db: Database, call: Call, expect_error: ExpectError) -> None:
    arn = backed_up(db, call)
    other = SWEET | {"DistanceFunction": "DOT_PRODUCT"}
    with expect_error("ValidationException"):
        call("RestoreTableFromBackup", TargetTableName="one", BackupArn=arn, VectorIndexOverride=[other])
    provisioned = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    with expect_error("ValidationException"):
        call(
            "RestoreTableFromBackup",
            TargetTableName="one",
            BackupArn=arn,
            BillingModeOverride="PROVISIONED",
            ProvisionedThroughputOverride=provisioned,
        )


def test_a_backup_describes_them(db: Database, call: Call) -> None:
    described = call("DescribeBackup", BackupArn=backed_up(db, call))["BackupDescription"]
    assert described["SourceTableFeatureDetails"]["VectorIndexes"] == [SOUR, SWEET]
