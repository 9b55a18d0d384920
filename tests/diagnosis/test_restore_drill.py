"""The drill tells whether the newest copy can be restored, and leaves nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.cli.main import main
from sortkey.clock import ManualClock
from sortkey.diagnosis.finding import Finding
from sortkey.diagnosis.restore_drill import examine_copies
from sortkey.storage.copy_places import copy_place, make_copy
from tests.object_storage import Bucket, rejected

NOON = 1_787_572_800.0


class Note(sk.Item, table="drill-notes"):
    name: str
    key = sk.Key("NOTE#{name}")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with sk.connect(tmp_path / "data", tables=[Note]) as db:
        db.create_tables()
        db.put(Note(name="a"))
        db.put(Note(name="b"))
    return tmp_path / "data"


@pytest.fixture
def place(data: Path, bucket: Bucket) -> str:
    """With two copies; the newer one is of noon."""
    name = f"s3://{bucket.name}/copies/"
    for at in (NOON - 900, NOON):
        make_copy(data, copy_place(name), None, ManualClock(at), lambda *_: None)
    return name


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def examined(place: str, seconds_later: float, temporary: Path) -> dict[str, Finding]:
    findings = examine_copies(place, 3600.0, ManualClock(NOON + seconds_later))
    assert list(temporary.iterdir()) == []
    return {finding.subject: finding for finding in findings}


def test_a_good_copy(place: str, temporary: Path) -> None:
    found = examined(place, 300, temporary)
    assert found["copies"].status == "ok"
    assert found["copies"].found == "2, the newest of 2026-08-24T12:00:00Z: 5 minutes ago"
    assert found["copies"].numbers["age"] == 300
    drill = found["restore drill"]
    assert (drill.status, drill.numbers["items"], drill.numbers["problems"]) == ("ok", 2, 0)
    assert drill.found.endswith(": 1 table, 2 items, 0 index rows, 0 problems")


def test_a_copy_that_is_too_old(place: str, temporary: Path) -> None:
    found = examined(place, 3 * 3600, temporary)
    assert found["copies"].status == "fail"
    assert found["copies"].found.endswith("3 hours ago, more than 60 minutes")
    assert "sortkey backup --every" in found["copies"].advice
    assert found["restore drill"].status == "ok"


def test_a_copy_that_is_damaged(place: str, bucket: Bucket, temporary: Path) -> None:
    key = copy_place(place).copies()[-1].packed.name.partition(f"{bucket.name}/")[2]
    body = bucket.server.client.get_object(Bucket=bucket.name, Key=key)["Body"].read()
    bucket.put(key, body[:200])
    found = examined(place, 300, temporary)["restore drill"]
    assert found.status == "fail"
    assert "is not a whole backup" in found.found
    assert found.advice.startswith("keep the older copies")


def test_a_copy_of_a_damaged_folder(data: Path, tmp_path: Path, temporary: Path) -> None:
    file = data / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"name", b"nbme"))
    place = str(tmp_path / "copies")
    make_copy(data, copy_place(place), None, ManualClock(NOON), lambda *_: None)
    found = examined(place, 300, temporary)["restore drill"]
    assert found.status == "fail"
    assert found.numbers["problems"] > 0
    assert "; the first: " in found.found


def test_no_copies_and_no_place(bucket: Bucket, temporary: Path) -> None:
    assert examined(f"s3://{bucket.name}/", 0, temporary)["copies"].found == f"there is none in s3://{bucket.name}/"
    bucket.server.answer = lambda _: rejected("403 Forbidden", "AccessDenied")
    found = examined(f"s3://{bucket.name}/", 0, temporary)
    assert [(each.subject, each.status) for each in found.values()] == [("copies", "fail")]
    assert "access is denied; allow s3:ListBucket" in found["copies"].found


def test_no_room_for_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    found = {each.subject: each for each in examine_copies(place, 3600.0, ManualClock(NOON))}["restore drill"]
    assert found.status == "fail"
    assert "TMPDIR" in found.advice


def test_doctor_prints_it(place: str, capsys: pytest.CaptureFixture[str], data: Path) -> None:
    assert main(["doctor", str(data), "--restore-drill", place, "--max-age", "9999d"]) == 0
    printed = capsys.readouterr().out
    assert "ok    copies         2, the newest of 2026-08-24T12:00:00Z: " in printed
    assert "ok    restore drill  " in printed
    assert main(["doctor", str(data), "--restore-drill", f"{place}absent"]) == 1
    assert f"fail  copies         there is none in {place}absent" in capsys.readouterr().out
