"""After kills while a backup is copied, or a table is restored, the janitor continues, and nothing is lost or added."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

import sortkey
from sortkey.engine.check.database_check import check
from sortkey.engine.database import Database
from sortkey.engine.janitor import backups, exports
from sortkey.engine.rows.job_records import BACKUPS, EXPORTS, IMPORTS, RESTORES
from sortkey.engine.tables.core import Settings
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
    database = Database(folder, settings=Settings(buckets=folder / "buckets"))
    database.janitor.sweep()
    database.close()


def begun(folder: Path, operation: str, **members: Any) -> dict[str, Any]:
    """Make a request, but do nothing of the work that it leaves."""
    database = Database(folder, settings=Settings(buckets=folder / "buckets"))
    answer = database.call(operation, members)
    database.close()
    return answer


def things(folder: Path, table: str = "things", **more: Any) -> list[dict[str, str | int]]:
    with sortkey.client(folder) as client:
        return sorted(bank.rows(client, table, **more), key=repr)


def positions(folder: Path) -> list[str]:
    environment = open_existing(folder)
    with environment.begin() as snapshot:
        jobs: Iterable[Any] = [*BACKUPS.all(snapshot), *RESTORES.all(snapshot), *EXPORTS.all(snapshot)]
        found = [job.position for job in jobs if job.position]
        found += [f"{job.done} {job.record}" for job in IMPORTS.all(snapshot) if job.status == "IN_PROGRESS"]
    environment.close()
    return found


def kill_often(folder: Path, most_lines: int = 6) -> set[str]:
    seen: set[str] = set()
    for seed in range(KILLS):
        killed(write_on, folder, seed, after_lines=Random(seed).randint(1, most_lines))
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


# The files are named by what they hold, so one that is written again is the same.
def test_an_export_survives_kills(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "FILE_BYTES", SMALL)
    wanted = {"PointInTimeRecoveryEnabled": True}
    begun(folder, "UpdateContinuousBackups", TableName="things", PointInTimeRecoverySpecification=wanted)
    before = things(folder)
    arn = "arn:aws:dynamodb:local:000000000000:table/things"
    made = begun(folder, "ExportTableToPointInTime", TableArn=arn, S3Bucket="bucket")["ExportDescription"]
    assert len(kill_often(folder, most_lines=60)) >= 2
    swept(folder)
    files = list((folder / "buckets").rglob("*.json.gz"))
    found = [orjson.loads(line)["Item"] for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert sorted(map(bank.plain, found), key=repr) == before
    described = begun(folder, "DescribeExport", ExportArn=made["ExportArn"])["ExportDescription"]
    assert described["ExportStatus"] == "COMPLETED"


def test_an_import_survives_kills(folder: Path) -> None:
    random = Random(1)
    items = [bank.wire(chore_writer.thing(number, random)) for number in range(2000)]
    (folder / "buckets" / "bucket").mkdir(parents=True)
    for number in range(2):
        half = items[number * 1000 : (number + 1) * 1000]
        (folder / "buckets" / "bucket" / str(number)).write_bytes(
            b"".join(orjson.dumps({"Item": each}) + b"\n" for each in half)
        )
    begun(
        folder,
        "ImportTable",
        S3BucketSource={"S3Bucket": "bucket"},
        InputFormat="DYNAMODB_JSON",
        TableCreationParameters={
            "TableName": "imported",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    assert len(kill_often(folder)) >= 2
    swept(folder)
    assert things(folder, "imported") == sorted(map(bank.plain, items), key=repr)


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
