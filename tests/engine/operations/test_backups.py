"""CreateBackup, DescribeBackup, ListBackups, DeleteBackup."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s

ARN = "arn:aws:dynamodb:local:000000000000:table/orders"
NONE_SUCH = f"{ARN}/backup/01489602797149-73d8d5bc"


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    create(call, "orders", "pk:S", "sk:N", indexes=[index("by_city", "city:S")])
    for number in range(3):
        call("PutItem", TableName="orders", Item={"pk": s("a"), "sk": n(number), "city": s("Berlin")})


def back_up(call: Call, name: str = "daily", table: str = "orders") -> dict[str, Any]:
    details: dict[str, Any] = call("CreateBackup", TableName=table, BackupName=name)["BackupDetails"]
    return details


def test_a_backup_is_creating_then_available(db: Database, call: Call, clock: ManualClock) -> None:
    details = back_up(call)
    assert details["BackupArn"].startswith(f"{ARN}/backup/")
    assert details | {"BackupArn": ""} == {
        "BackupArn": "",
        "BackupName": "daily",
        "BackupSizeBytes": 3 * (2 + 1 + 2 + 2 + 4 + 6) - 1,
        "BackupStatus": "CREATING",
        "BackupType": "USER",
        "BackupCreationDateTime": clock.now(),
    }
    db.janitor.sweep()
    described = call("DescribeBackup", BackupArn=details["BackupArn"])["BackupDescription"]
    assert described["BackupDetails"] == details | {"BackupStatus": "AVAILABLE"}


def test_a_backup_describes_its_table(call: Call, clock: ManualClock) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    call("UpdateTable", TableName="orders", StreamSpecification=stream)
    ttl = {"Enabled": True, "AttributeName": "until"}
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification=ttl)
    table = call("DescribeTable", TableName="orders")["Table"]
    described = call("DescribeBackup", BackupArn=back_up(call)["BackupArn"])["BackupDescription"]
    assert described["SourceTableDetails"] == {
        "TableName": "orders",
        "TableId": table["TableId"],
        "TableArn": ARN,
        "TableSizeBytes": table["TableSizeBytes"],
        "KeySchema": table["KeySchema"],
        "TableCreationDateTime": clock.now(),
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        "ItemCount": 3,
        "BillingMode": "PAY_PER_REQUEST",
    }
    (by_city,) = table["GlobalSecondaryIndexes"]
    assert described["SourceTableFeatureDetails"] == {
        "GlobalSecondaryIndexes": [
            {name: by_city[name] for name in ("IndexName", "KeySchema", "Projection")}
            | {"ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}}
        ],
        "StreamDescription": stream,
        "TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "until"},
    }


def test_a_deleted_backup_is_gone(db: Database, call: Call, expect_error: ExpectError) -> None:
    arn = back_up(call)["BackupArn"]
    with expect_error("BackupInUseException"):
        call("DeleteBackup", BackupArn=arn)
    db.janitor.sweep()
    assert call("DeleteBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"] == "DELETED"
    for operation in ("DescribeBackup", "DeleteBackup"):
        with expect_error("BackupNotFoundException", f"Backup not found: {arn}"):
            call(operation, BackupArn=arn)
    assert call("ListBackups") == {"BackupSummaries": []}


def test_one_backup_of_a_table_at_a_time(db: Database, call: Call, expect_error: ExpectError) -> None:
    create(call, "others", "pk:S")
    back_up(call)
    with expect_error(
        "BackupInUseException", "There is another ongoing conflicting backup control plane operation on the table"
    ):
        back_up(call)
    back_up(call, table="others")
    db.janitor.sweep()
    back_up(call)


def test_the_table_must_exist(call: Call, expect_error: ExpectError) -> None:
    with expect_error("TableNotFoundException", "Table not found: missing"):
        back_up(call, table="missing")


@pytest.mark.parametrize("arn", [NONE_SUCH, NONE_SUCH.replace("orders", "others"), NONE_SUCH.replace("0000", "1111")])
def test_there_is_no_such_backup(call: Call, expect_error: ExpectError, arn: str) -> None:
    with expect_error("BackupNotFoundException"):
        call("DescribeBackup", BackupArn=arn)


class TestListBackups:
    @pytest.fixture(autouse=True)
    def backups(self, db: Database, call: Call, clock: ManualClock) -> None:
        create(call, "others", "pk:S")
        for name, table in (("first", "orders"), ("second", "others"), ("third", "orders")):
            back_up(call, name, table)
            db.janitor.sweep()
            clock.advance(10)

    def names(self, answer: dict[str, Any]) -> list[str]:
        return [summary["BackupName"] for summary in answer["BackupSummaries"]]

    def test_by_table(self, call: Call) -> None:
        assert self.names(call("ListBackups")) == ["first", "second", "third"]
        assert self.names(call("ListBackups", TableName="orders")) == ["first", "third"]
        assert self.names(call("ListBackups", TableName=ARN)) == ["first", "third"]

    def test_by_time(self, call: Call, clock: ManualClock) -> None:
        second = clock.now() - 20
        assert self.names(call("ListBackups", TimeRangeLowerBound=second)) == ["second", "third"]
        assert self.names(call("ListBackups", TimeRangeUpperBound=second)) == ["first"]

    def test_by_type(self, call: Call) -> None:
        assert self.names(call("ListBackups", BackupType="SYSTEM")) == []
        assert len(self.names(call("ListBackups", BackupType="USER"))) == 3

    def test_by_pages(self, call: Call) -> None:
        first = call("ListBackups", Limit=2)
        assert self.names(first) == ["first", "second"]
        rest = call("ListBackups", Limit=2, ExclusiveStartBackupArn=first["LastEvaluatedBackupArn"])
        assert self.names(rest) == ["third"]
        assert "LastEvaluatedBackupArn" not in rest

    def test_backups_outlive_their_table(self, call: Call) -> None:
        call("DeleteTable", TableName="orders")
        assert self.names(call("ListBackups", TableName="orders")) == ["first", "third"]
