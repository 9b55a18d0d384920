"""Change logs are trimmed to the window, and gone when nobody needs them."""

from __future__ import annotations

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.janitor import backups, change_logs
from sortkey.storage import after_prefix, ascending
from tests.engine.conftest import Call
from tests.engine.samples import create, n, s

DAY = 24 * 3600


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    create(call, "orders", "id:S")


def recovery(call: Call, enabled: bool) -> None:
    wanted = {"PointInTimeRecoveryEnabled": enabled, "RecoveryPeriodInDays": 1}
    call("UpdateContinuousBackups", TableName="orders", PointInTimeRecoverySpecification=wanted)


def put(call: Call, number: int) -> None:
    call("PutItem", TableName="orders", Item={"id": s("x"), "number": n(number)})


def changes(db: Database) -> int | None:
    """The number of records in the log; None if the table has none."""
    with db.read() as snapshot:
        log = db.catalog.require(snapshot, "orders").log
        return None if log is None else sum(1 for _ in ascending(snapshot, log, after_prefix(log)))


def test_a_table_without_recovery_has_no_log(db: Database, call: Call) -> None:
    put(call, 1)
    assert changes(db) is None


def test_a_change_is_logged_once(db: Database, call: Call, clock: ManualClock) -> None:
    recovery(call, True)
    clock.advance(1)
    put(call, 1)
    put(call, 2)
    assert changes(db) == 1
    clock.advance(1)
    put(call, 2)
    assert changes(db) == 1  # The item is the same.
    put(call, 3)
    assert changes(db) == 2


@pytest.mark.parametrize("read", [1, 3, 100])
def test_old_changes_are_removed(
    db: Database, call: Call, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    monkeypatch.setattr(change_logs, "READ", read)
    recovery(call, True)
    for number in range(10):
        clock.advance(DAY / 10)
        put(call, number)
    db.janitor.sweep()
    assert changes(db) == 10
    clock.advance(DAY / 2)
    db.janitor.sweep()
    assert changes(db) == 5


def test_a_log_ends_with_the_recovery(db: Database, call: Call) -> None:
    recovery(call, True)
    put(call, 1)
    recovery(call, False)
    assert changes(db) is None


def test_a_log_stays_while_a_backup_needs_it(db: Database, call: Call) -> None:
    put(call, 1)
    call("CreateBackup", TableName="orders", BackupName="daily")
    put(call, 2)
    assert changes(db) == 1
    recovery(call, True)
    recovery(call, False)
    assert changes(db) == 1
    for _ in backups.copy_backups(db):
        pass
    assert changes(db) is None


# What a backup still needs is older than the window.
def test_a_log_is_not_trimmed_past_a_backup(db: Database, call: Call, clock: ManualClock) -> None:
    recovery(call, True)
    put(call, 1)
    call("CreateBackup", TableName="orders", BackupName="daily")
    clock.advance(1)
    put(call, 2)
    clock.advance(2 * DAY)
    for _ in change_logs.LogTrim()(db):
        pass
    assert changes(db) == 1


# A clock that is set back must not put a change before others.
def test_moments_never_decrease(db: Database, call: Call, clock: ManualClock) -> None:
    recovery(call, True)
    clock.advance(10)
    put(call, 1)
    clock.jump(-5)
    put(call, 2)
    clock.jump(10)
    call("RestoreTableToPointInTime", SourceTableName="orders", TargetTableName="past", RestoreDateTime=clock.now() - 6)
    db.janitor.sweep()
    assert call("Scan", TableName="past")["Items"] == []
