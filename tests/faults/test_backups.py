"""After kills while a backup is copied, or a table is restored, the janitor continues, and nothing is lost or added."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import sortkey
from sortkey.engine.check.database_check import check
from sortkey.engine.database import Database
from sortkey.engine.janitor import backups
from sortkey.engine.rows.job_records import BACKUPS, RESTORES
from sortkey.storage import open_existing
from tests.faults import bank, chore_writer
from tests.faults.backup_writer import SMALL, write_on
from tests.faults.processes import killed

KILLS = 5
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "BLOCK_BYTES", SMALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table with thousands of items, and an index."""
    random = Random(0)
    with sortkey.client(tmp_path) as client:
        bank.create(client, "things")
        for start in range(0, chore_writer.ITEMS, 25):
            things = [bank.wire(chore_writer.thing(number, random)) for number in range(start, start + 25)]
            client.batch_write_item(RequestItems={"things": [{"PutRequest": {"Item": thing}} for thing in things]})
        chore_writer.begin_index(client)
    swept(tmp_path)
    return tmp_path


def swept(folder: Path) -> None:
    database = Database(folder)
    database.janitor.sweep()
    database.close()


def begun(folder: Path, operation: str, **members: Any) -> dict[str, Any]:
    """Make a request, but do nothing of the work that it leaves."""
    database = Database(folder)
    answer = database.call(operation, members)
    database.close()
    return answer


def things(folder: Path, table: str = "things", **more: Any) -> list[dict[str, str | int]]:
    with sortkey.client(folder) as client:
        return sorted(bank.rows(client, table, **more), key=repr)


def positions(folder: Path) -> list[str]:
    environment = open_existing(folder)
    with environment.begin() as snapshot:
        jobs: Iterable[Any] = [*BACKUPS.all(snapshot), *RESTORES.all(snapshot)]
        found = [job.position for job in jobs if job.position]
    environment.close()
    return found


def kill_often(folder: Path) -> set[str]:
    seen: set[str] = set()
    for seed in range(KILLS):
        killed(write_on, folder, seed, after_lines=Random(seed).randint(1, 6))
        seen.update(positions(folder))
        assert check(folder).problems == []
    return seen


def test_a_backup_survives_kills(folder: Path) -> None:
    before = things(folder)
    made = begun(folder, "CreateBackup", TableName="things", BackupName="daily")["BackupDetails"]
    assert len(kill_often(folder)) >= 2
    swept(folder)
    assert things(folder) != before
    begun(folder, "RestoreTableFromBackup", TargetTableName="restored", BackupArn=made["BackupArn"])
    swept(folder)
    assert things(folder, "restored") == things(folder, "restored", IndexName="by-colour") == before
    assert check(folder).problems == []


@pytest.mark.parametrize("source", ["backup", "table"])
def test_a_restore_survives_kills(folder: Path, source: str) -> None:
    wanted = {"PointInTimeRecoveryEnabled": True}
    begun(folder, "UpdateContinuousBackups", TableName="things", PointInTimeRecoverySpecification=wanted)
    before = things(folder)
    if source == "backup":
        made = begun(folder, "CreateBackup", TableName="things", BackupName="daily")["BackupDetails"]
        swept(folder)
        begun(folder, "RestoreTableFromBackup", TargetTableName="restored", BackupArn=made["BackupArn"])
    else:
        latest = {"SourceTableName": "things", "UseLatestRestorableTime": True}
        begun(folder, "RestoreTableToPointInTime", TargetTableName="restored", **latest)
    assert len(kill_often(folder)) >= 2
    swept(folder)
    assert things(folder) != before
    assert things(folder, "restored") == things(folder, "restored", IndexName="by-colour") == before
    assert check(folder).problems == []
