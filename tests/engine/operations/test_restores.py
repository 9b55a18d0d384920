"""RestoreTableFromBackup, and what it has in common with RestoreTableToPointInTime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.janitor import backups as copying
from sortkey.engine.janitor import restores as filling
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s

ARN = "arn:aws:dynamodb:local:000000000000:table/orders"
Members = dict[str, Any]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BLOCK_BYTES", 200)
    monkeypatch.setattr(filling, "CHUNK_ROWS", 3)


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    create(
        call,
        "orders",
        "pk:S",
        "sk:N",
        local=[index("by_sum", "pk:S", "sum:N")],
        indexes=[index("by_city", "city:S", include=["sum"])],
    )
    for number in range(20):
        put(call, number)


def put(call: Call, number: int, city: str = "Berlin") -> None:
    item = {"pk": s(f"p{number % 3}"), "sk": n(number), "city": s(city), "sum": n(number * 2)}
    call("PutItem", TableName="orders", Item=item)


def back_up(call: Call) -> str:
    arn: str = call("CreateBackup", TableName="orders", BackupName="daily")["BackupDetails"]["BackupArn"]
    return arn


def restore(call: Call, arn: str, **more: Any) -> Members:
    answer = call("RestoreTableFromBackup", TargetTableName="restored", BackupArn=arn, **more)
    description: Members = answer["TableDescription"]
    return description


def rows(call: Call, table: str = "orders", **more: Any) -> list[Members]:
    found = call("Scan", TableName=table, **more)["Items"]
    return sorted(found, key=repr)


def change_everything(call: Call) -> None:
    for number in range(0, 20, 2):
        put(call, number, city="Rome")
    for number in range(1, 20, 4):
        call("DeleteItem", TableName="orders", Key={"pk": s(f"p{number % 3}"), "sk": n(number)})
    for number in range(20, 30):
        put(call, number)


def change_and_delete(call: Call) -> None:
    change_everything(call)
    call("DeleteTable", TableName="orders")


@pytest.mark.parametrize(
    "change",
    [
        lambda _call: None,
        change_everything,
        lambda call: call("DeleteTable", TableName="orders"),
        change_and_delete,
    ],
    ids=["unchanged", "changed", "deleted", "changed and deleted"],
)
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_backup_is_the_table_at_the_request(
    db: Database, call: Call, change: Callable[[Call], object], steps: int
) -> None:
    before = {name: rows(call, **more) for name, more in INDEXES.items()}
    arn = back_up(call)
    copied = copying.copy_backups(db)
    for _ in range(steps):
        next(copied)
    change(call)
    db.janitor.sweep()
    restore(call, arn)
    db.janitor.sweep()
    assert {name: rows(call, "restored", **more) for name, more in INDEXES.items()} == before
    described = call("DescribeTable", TableName="restored")["Table"]
    assert described["ItemCount"] == 20
    assert [each["ItemCount"] for each in described["GlobalSecondaryIndexes"]] == [20]


INDEXES: dict[str, Members] = {"table": {}, "by_sum": {"IndexName": "by_sum"}, "by_city": {"IndexName": "by_city"}}


def test_a_restored_table_is_creating_until_it_is_filled(
    db: Database, call: Call, clock: ManualClock, expect_error: ExpectError
) -> None:
    arn = back_up(call)
    made_at = clock.now()
    db.janitor.sweep()
    clock.advance(60)
    description = restore(call, arn)
    assert description["TableStatus"] == "CREATING"
    assert description["RestoreSummary"] == {
        "SourceBackupArn": arn,
        "SourceTableArn": ARN,
        "RestoreDateTime": made_at,
        "RestoreInProgress": True,
    }
    next(filling.fill_restored_tables(db))
    assert call("DescribeTable", TableName="restored")["Table"]["TableStatus"] == "CREATING"
    for operation, more in (("GetItem", {"Key": {"pk": s("p0"), "sk": n(0)}}), ("Scan", {}), ("PutItem", {"Item": {}})):
        with expect_error("ResourceNotFoundException", "Requested resource not found"):
            call(operation, TableName="restored", **more)
    with expect_error("ResourceInUseException"):
        call("UpdateTable", TableName="restored", DeletionProtectionEnabled=True)
    with expect_error("TableInUseException"):
        call("CreateBackup", TableName="restored", BackupName="daily")
    db.janitor.sweep()
    described = call("DescribeTable", TableName="restored")["Table"]
    assert (described["TableStatus"], described["RestoreSummary"]["RestoreInProgress"]) == ("ACTIVE", False)


def test_a_table_may_be_deleted_while_it_is_restored(db: Database, call: Call) -> None:
    arn = back_up(call)
    db.janitor.sweep()
    restore(call, arn)
    next(filling.fill_restored_tables(db))
    call("DeleteTable", TableName="restored")
    db.janitor.sweep()
    assert call("ListTables")["TableNames"] == ["orders"]
    call("DeleteBackup", BackupArn=arn)


def test_streams_ttl_tags_and_protection_are_not_restored(db: Database, call: Call) -> None:
    call("UpdateTable", TableName="orders", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    call("UpdateTable", TableName="orders", DeletionProtectionEnabled=True)
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    call("TagResource", ResourceArn=ARN, Tags=[{"Key": "team", "Value": "red"}])
    arn = back_up(call)
    db.janitor.sweep()
    restore(call, arn)
    db.janitor.sweep()
    described = call("DescribeTable", TableName="restored")["Table"]
    assert "StreamSpecification" not in described
    assert not described["DeletionProtectionEnabled"]
    assert call("ListTagsOfResource", ResourceArn=ARN.replace("orders", "restored"))["Tags"] == []
    ttl = call("DescribeTimeToLive", TableName="restored")["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "DISABLED"}


def test_overrides(db: Database, call: Call) -> None:
    arn = back_up(call)
    db.janitor.sweep()
    units = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}
    restore(
        call,
        arn,
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=units,
        GlobalSecondaryIndexOverride=[],
        LocalSecondaryIndexOverride=[_as_requested(index("by_sum", "pk:S", "sum:N"))],
        SSESpecificationOverride={"Enabled": True},
    )
    db.janitor.sweep()
    described = call("DescribeTable", TableName="restored")["Table"]
    assert described["ProvisionedThroughput"] == units | {"NumberOfDecreasesToday": 0}
    assert "GlobalSecondaryIndexes" not in described
    assert {each["AttributeName"] for each in described["AttributeDefinitions"]} == {"pk", "sk", "sum"}
    assert described["SSEDescription"]["SSEType"] == "KMS"
    assert len(rows(call, "restored", IndexName="by_sum")) == 20


def _as_requested(sample: Members) -> Members:
    names = [part.split(":")[0] for part in sample["key"]]
    schema = [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=True)]
    return {"IndexName": sample["IndexName"], "KeySchema": schema, "Projection": sample["Projection"]}


def test_an_index_cannot_be_changed(db: Database, call: Call, expect_error: ExpectError) -> None:
    arn = back_up(call)
    db.janitor.sweep()
    with expect_error("ValidationException"):
        restore(call, arn, GlobalSecondaryIndexOverride=[_as_requested(index("by_city", "city:S", "sum:N"))])
    assert call("ListTables")["TableNames"] == ["orders"]


def test_what_cannot_be_restored(db: Database, call: Call, expect_error: ExpectError) -> None:
    arn = back_up(call)
    with expect_error("BackupInUseException"):
        restore(call, arn)
    db.janitor.sweep()
    with expect_error("TableAlreadyExistsException", "Table already exists: orders"):
        call("RestoreTableFromBackup", TargetTableName="orders", BackupArn=arn)
    missing = f"{ARN}/backup/01489602797149-73d8d5bc"
    with expect_error("BackupNotFoundException", f"Backup not found: {missing}"):
        restore(call, missing)
    restore(call, arn)
    with expect_error("BackupInUseException"):
        call("DeleteBackup", BackupArn=arn)


def test_an_empty_table(db: Database, call: Call) -> None:
    create(call, "empty", "pk:S")
    arn = call("CreateBackup", TableName="empty", BackupName="daily")["BackupDetails"]["BackupArn"]
    db.janitor.sweep()
    restore(call, arn)
    db.janitor.sweep()
    assert rows(call, "restored") == []
