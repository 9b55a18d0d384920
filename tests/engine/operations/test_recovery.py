"""UpdateContinuousBackups, DescribeContinuousBackups, RestoreTableToPointInTime, and backups of deleted tables."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, n, s

ARN = "arn:aws:dynamodb:local:000000000000:table/orders"
DAY = 24 * 3600


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    create(call, "orders", "id:S")


def switch(call: Call, enabled: bool, table: str = "orders", **more: Any) -> dict[str, Any]:
    wanted = {"PointInTimeRecoveryEnabled": enabled, **more}
    return recovery(call("UpdateContinuousBackups", TableName=table, PointInTimeRecoverySpecification=wanted))


def described(call: Call) -> dict[str, Any]:
    return recovery(call("DescribeContinuousBackups", TableName="orders"))


def recovery(answer: dict[str, Any]) -> dict[str, Any]:
    description = answer["ContinuousBackupsDescription"]
    assert description["ContinuousBackupsStatus"] == "ENABLED"
    found: dict[str, Any] = description["PointInTimeRecoveryDescription"]
    return found


def put(call: Call, text: str) -> None:
    call("PutItem", TableName="orders", Item={"id": s("x"), "text": s(text)})


def restored(db: Database, call: Call, **when: Any) -> list[str]:
    call("RestoreTableToPointInTime", SourceTableName="orders", TargetTableName="restored", **when)
    db.janitor.sweep()
    texts = [item["text"]["S"] for item in call("Scan", TableName="restored")["Items"]]
    call("DeleteTable", TableName="restored")
    return texts


def test_it_is_off_at_first(call: Call) -> None:
    assert described(call) == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert switch(call, False) == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_the_window_begins_when_it_is_enabled(call: Call, clock: ManualClock) -> None:
    began = clock.now()
    enabled = switch(call, True)
    assert enabled == {
        "PointInTimeRecoveryStatus": "ENABLED",
        "RecoveryPeriodInDays": 35,
        "EarliestRestorableDateTime": began,
        "LatestRestorableDateTime": began,
    } | {"LatestRestorableDateTime": enabled["LatestRestorableDateTime"]}
    clock.advance(10)
    assert described(call)["LatestRestorableDateTime"] == began + 10
    clock.advance(40 * DAY)
    assert described(call)["EarliestRestorableDateTime"] == clock.now() - 35 * DAY
    assert switch(call, True, RecoveryPeriodInDays=2)["RecoveryPeriodInDays"] == 2
    assert described(call)["EarliestRestorableDateTime"] == clock.now() - 2 * DAY


def test_the_window_begins_anew_when_it_was_off(call: Call, clock: ManualClock) -> None:
    switch(call, True)
    clock.advance(10)
    switch(call, False)
    clock.advance(10)
    switch(call, True)
    assert described(call)["EarliestRestorableDateTime"] == pytest.approx(clock.now(), abs=1e-4)


def test_a_restored_table_is_the_table_at_the_time(db: Database, call: Call, clock: ManualClock) -> None:
    switch(call, True)
    clock.advance(1)
    put(call, "first")
    clock.advance(10)
    put(call, "second")
    put(call, "third")
    clock.advance(10)
    call("DeleteItem", TableName="orders", Key={"id": s("x")})
    assert restored(db, call, RestoreDateTime=clock.now() - 21) == []
    assert restored(db, call, RestoreDateTime=clock.now() - 20) == ["first"]
    assert restored(db, call, RestoreDateTime=clock.now() - 10.5) == ["first"]
    assert restored(db, call, RestoreDateTime=clock.now() - 10) == ["third"]
    assert restored(db, call, UseLatestRestorableTime=True) == []


# The restored table must not have what was written after the request, however soon.
def test_changes_after_the_request_are_not_restored(db: Database, call: Call, clock: ManualClock) -> None:
    switch(call, True)
    for target, when in (("one", {"UseLatestRestorableTime": True}), ("two", {"RestoreDateTime": clock.now()})):
        put(call, "before")
        call("RestoreTableToPointInTime", SourceTableName="orders", TargetTableName=target, **when)
        put(call, "after")
    db.janitor.sweep()
    for target in ("one", "two"):
        assert call("Scan", TableName=target)["Items"] == [{"id": s("x"), "text": s("before")}]


def test_the_description_of_a_restored_table(call: Call, clock: ManualClock) -> None:
    switch(call, True)
    clock.advance(5)
    answer = call(
        "RestoreTableToPointInTime", SourceTableArn=ARN, TargetTableName="restored", RestoreDateTime=clock.now() - 2
    )
    assert answer["TableDescription"]["RestoreSummary"] == {
        "SourceTableArn": ARN,
        "RestoreDateTime": clock.now() - 2,
        "RestoreInProgress": True,
    }


@pytest.mark.parametrize("seconds", [-1.0, 11.0, 1e308])
def test_a_time_outside_of_the_window(
    call: Call, clock: ManualClock, expect_error: ExpectError, seconds: float
) -> None:
    began = clock.now()
    switch(call, True)
    clock.advance(10)
    with expect_error("InvalidRestoreTimeException"):
        call(
            "RestoreTableToPointInTime",
            SourceTableName="orders",
            TargetTableName="restored",
            RestoreDateTime=began + seconds,
        )


def test_what_cannot_be_restored(call: Call, clock: ManualClock, expect_error: ExpectError) -> None:
    latest = {"TargetTableName": "restored", "UseLatestRestorableTime": True}
    with expect_error("TableNotFoundException", "Table not found: missing"):
        call("RestoreTableToPointInTime", SourceTableName="missing", **latest)
    with expect_error(
        "PointInTimeRecoveryUnavailableException", "Point in time recovery is not enabled for table 'orders'"
    ):
        call("RestoreTableToPointInTime", SourceTableName="orders", **latest)
    switch(call, True)
    with expect_error("TableAlreadyExistsException", "Table already exists: orders"):
        call("RestoreTableToPointInTime", SourceTableName="orders", **latest | {"TargetTableName": "orders"})
    for wrong in ({}, {"UseLatestRestorableTime": True, "RestoreDateTime": clock.now()}):
        with expect_error("ValidationException"):
            call("RestoreTableToPointInTime", SourceTableName="orders", TargetTableName="restored", **wrong)
    with expect_error("ValidationException"):
        call("RestoreTableToPointInTime", **latest)


def test_no_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("TableNotFoundException", "Table not found: missing"):
        call("DescribeContinuousBackups", TableName="missing")
    with expect_error("TableNotFoundException", "Table not found: missing"):
        switch(call, True, "missing")


def test_a_deleted_table_leaves_a_system_backup(db: Database, call: Call, clock: ManualClock) -> None:
    switch(call, True)
    put(call, "last")
    call("DeleteTable", TableName="orders")
    create(call, "orders", "id:S")
    put(call, "another table")
    db.janitor.sweep()
    (backup,) = call("ListBackups", TableName="orders", BackupType="SYSTEM")["BackupSummaries"]
    assert backup["BackupName"] == "orders$DeletedTableBackup"
    assert backup["BackupExpiryDateTime"] == clock.now() + 35 * DAY
    call("RestoreTableFromBackup", TargetTableName="restored", BackupArn=backup["BackupArn"])
    db.janitor.sweep()
    assert call("Scan", TableName="restored")["Items"] == [{"id": s("x"), "text": s("last")}]
    clock.advance(35 * DAY + 1)
    db.janitor.sweep()
    assert call("ListBackups") == {"BackupSummaries": []}


def test_a_source_that_is_deleted_meanwhile_is_restored(db: Database, call: Call) -> None:
    switch(call, True)
    put(call, "kept")
    call(
        "RestoreTableToPointInTime", SourceTableName="orders", TargetTableName="restored", UseLatestRestorableTime=True
    )
    put(call, "later")
    switch(call, False)
    call("DeleteTable", TableName="orders")
    db.janitor.sweep()
    assert call("Scan", TableName="restored")["Items"] == [{"id": s("x"), "text": s("kept")}]


def test_numbers_and_expired_items_are_restored(db: Database, call: Call, clock: ManualClock) -> None:
    switch(call, True)
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    item = {"id": s("x"), "until": n(int(clock.now()) + 5), "text": s("old")}
    call("PutItem", TableName="orders", Item=item)
    clock.advance(10)
    db.janitor.sweep()
    assert restored(db, call, UseLatestRestorableTime=True) == []
    assert restored(db, call, RestoreDateTime=clock.now() - 10) == ["old"]
