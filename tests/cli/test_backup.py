"""`sortkey backup` and `sortkey restore`: files, places of copies, and copies at an interval."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

import sortkey as sk
from sortkey.cli.main import main
from sortkey.storage import restore
from sortkey.storage.copy_places import copy_place, time_text
from tests.object_storage import Bucket, rejected

Printed = pytest.CaptureFixture[str]


class Note(sk.Item, table="backup-notes"):
    name: str
    text: str = ""
    key = sk.Key("NOTE#{name}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    with sk.connect(made, tables=[Note]) as db:
        db.create_tables()
        db.put(Note(name="a"))
    return made


@pytest.fixture
def file(folder: Path, capsys: Printed) -> Path:
    made = folder.with_suffix(".gz")
    assert main(["backup", str(folder), str(made)]) == 0
    assert capsys.readouterr().out == f"{made}: {made.stat().st_size:,} bytes\n"
    return made


def test_a_folder_is_restored_and_checked(file: Path, tmp_path: Path, capsys: Printed) -> None:
    assert main(["restore", str(file), str(tmp_path / "restored")]) == 0
    assert capsys.readouterr() == ("1 table, 1 item, 0 index rows: 0 problems\n", "")
    with sk.connect(tmp_path / "restored", tables=[Note]) as db:
        assert list(db.scan(Note)) == [Note(name="a")]


def test_a_file_that_is_there_stays_unless_it_is_to_be_replaced(folder: Path, file: Path, capsys: Printed) -> None:
    assert main(["backup", str(folder), str(file)]) == 2
    assert capsys.readouterr().err == (
        f"sortkey backup: {file} is there already; name another file, or replace it with --replace\n"
    )
    assert main(["backup", str(folder), str(file), "--replace"]) == 0


def test_wrong_arguments_are_one_line(folder: Path, file: Path, tmp_path: Path, capsys: Printed) -> None:
    foreign = tmp_path / "foreign.gz"
    foreign.write_bytes(gzip.compress(b"hello"))
    for arguments, error in [
        (["backup", tmp_path / "absent", tmp_path / "x"], f"{tmp_path / 'absent'} is not a data folder of Sortkey"),
        (["backup", folder, tmp_path], f"{tmp_path} is a folder; name the file that the backup is written to"),
        (["backup", folder, tmp_path / "no" / "x"], f"cannot write {tmp_path / 'no' / 'x'}: No such file or directory"),
        (["restore", file, folder], f"{folder} is not empty; name a new folder, or move this one away first"),
        (["restore", foreign, tmp_path / "y"], f"{foreign} is not a backup of a data folder of Sortkey"),
        (
            ["restore", tmp_path / "absent", tmp_path / "y"],
            f"cannot restore {tmp_path / 'absent'} to {tmp_path / 'y'}: No such file or directory",
        ),
    ]:
        assert main(list(map(str, arguments))) == 2
        assert capsys.readouterr() == ("", f"sortkey {arguments[0]}: {error}\n")
    assert {path.name for path in tmp_path.iterdir()} == {"data", "data.gz", "foreign.gz"}


# A damaged record is no reason to lose all others.
def test_damage_of_the_folder_is_restored_with_it_and_told(folder: Path, tmp_path: Path, capsys: Printed) -> None:
    data = folder / "data.mdb"
    whole = data.read_bytes()
    assert whole.count(b"NOTE#a") >= 1
    data.write_bytes(whole.replace(b"name", b"nbme"))
    file = tmp_path / "data.gz"
    assert main(["backup", str(folder), str(file)]) == 0
    capsys.readouterr()
    assert main(["restore", str(file), str(tmp_path / "restored")]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) >= 2
    assert not printed[-1].endswith(" 0 problems")
    assert (tmp_path / "restored" / "data.mdb").is_file()


def test_a_terminal_shows_a_bar(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["backup", str(folder), str(tmp_path / "data.gz")]) == 0
    shown = capsys.readouterr().err
    assert "copied: ━━━" in shown
    assert shown.endswith("\r\x1b[K")


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "copies")
    bucket: Bucket = request.getfixturevalue("bucket")
    return f"s3://{bucket.name}/copies"


def add(folder: Path, name: str) -> None:
    with sk.connect(folder, tables=[Note]) as db:
        db.put(Note(name=name))


def names(folder: Path) -> list[str]:
    with sk.connect(folder, tables=[Note]) as db:
        return sorted(note.name for note in db.scan(Note))


def test_a_place_keeps_copies_of_several_times(folder: Path, place: str, tmp_path: Path, capsys: Printed) -> None:
    assert main(["backup", str(folder), place, "--keep", "2"]) == 0
    (first,) = copy_place(place).copies()
    assert capsys.readouterr().out == f"{first.packed.name}: {first.packed.size:,} bytes\n"
    add(folder, "b")
    assert main(["backup", str(folder), place, "--keep", "2"]) == 0
    between = (first.at + copy_place(place).copies()[1].at) / 2
    at = f"{time_text(between).removesuffix('Z')}.{int(between % 1 * 1e6):06}+00:00"
    assert main(["restore", f"{place}@{at}", str(tmp_path / "then")]) == 0
    assert main(["restore", place, str(tmp_path / "now")]) == 0
    assert capsys.readouterr().out.endswith("1 table, 2 items, 0 index rows: 0 problems\n")
    assert (names(tmp_path / "then"), names(tmp_path / "now")) == (["a"], ["a", "b"])
    assert main(["backup", str(folder), place, "--keep", "1"]) == 0
    assert len(copy_place(place).copies()) == 1
    assert main(["restore", f"{place}@2026-01-01T00:00:00Z", str(tmp_path / "before")]) == 2
    assert f"{place}" in capsys.readouterr().err


def test_wrong_places_are_one_line(folder: Path, bucket: Bucket, tmp_path: Path, capsys: Printed) -> None:
    place = f"s3://{bucket.name}/copies/"
    for arguments, error in [
        (["backup", folder, place, "--keep", "0"], "--keep must be at least 1"),
        (["backup", folder, place, "--replace"], "--replace is for a file; a place of copies keeps --keep N of them"),
        (["backup", folder, "gs://b/k"], "gs://b/k: gs:// cannot be read; name a path, or s3://bucket/key"),
        (["restore", place, tmp_path / "y"], f"there is no copy in {place}; sortkey backup makes them"),
        (["restore", f"{place}@2026-08-24", tmp_path / "y"], "'2026-08-24' is no time with an offset; write @2026-"),
    ]:
        assert main(list(map(str, arguments))) == 2
        assert capsys.readouterr().err.startswith(f"sortkey {arguments[0]}: {error}")
    with pytest.raises(SystemExit):
        main(["backup", str(folder), place, "--every", "15"])
    assert "argument --every: '15' is no duration; write 30s, 15m, 6h or 1d" in capsys.readouterr().err


class Backup(subprocess.Popen[str]):
    """`sortkey backup --every`, which has looked at the place."""

    def __init__(self, *arguments: str | Path) -> None:
        command = [sys.executable, "-m", "sortkey", "backup", *map(str, arguments)]
        super().__init__(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
        assert self.stdout is not None
        self.url = self.stdout.readline().removeprefix("ready ").strip()

    def metrics(self) -> str:
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=60) as answer:
            return str(answer.read().decode())

    def next_error(self) -> str:
        errors: IO[str] | None = self.stderr
        assert errors is not None
        return errors.readline()


@pytest.fixture
def started() -> Iterator[list[Backup]]:
    processes: list[Backup] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_copies_come_until_sigterm(folder: Path, place: str, started: list[Backup]) -> None:
    backup = Backup(folder, place, "--every", "1s", "--keep", "2")
    started.append(backup)
    while 'sortkey_backups_total{outcome="ok"} 3' not in (found := backup.metrics()):
        assert 'outcome="failed"} 0' in found
    assert "sortkey_backup_copies 2\n" in found
    backup.send_signal(signal.SIGTERM)
    assert backup.communicate(timeout=60) == ("", "")
    assert backup.returncode == 0
    assert len(copy_place(place).copies()) == 2


@pytest.mark.slow
def test_a_failure_is_a_line_and_the_copies_go_on(bucket: Bucket, folder: Path, started: list[Backup]) -> None:
    broken = [True]
    bucket.server.answer = lambda request: (
        rejected("403 Forbidden", "AccessDenied") if broken[0] and request.method == "PUT" else None
    )
    place = f"s3://{bucket.name}/copies/"
    backup = Backup(folder, place, "--every", "1h")
    started.append(backup)
    line = backup.next_error()
    assert line.startswith(f"sortkey backup: {place}2")
    assert "access is denied; allow s3:ListBucket" in line
    assert line.endswith("; the next attempt is in 1 s\n")
    broken[0] = False
    while 'sortkey_backups_total{outcome="ok"} 1' not in backup.metrics():
        pass
    backup.send_signal(signal.SIGINT)
    assert backup.communicate(timeout=60) == ("", "")
    assert backup.returncode == 0


# A kill comes at any moment: between two copies, while one is compressed or sent, or while an older one is removed.
@pytest.mark.slow
def test_what_is_a_copy_after_kills_is_whole(folder: Path, place: str, tmp_path: Path, started: list[Backup]) -> None:
    with sk.connect(folder, tables=[Note]) as db:
        for number in range(20):
            db.put(Note(name=f"{number}", text=os.urandom(100_000).hex()))
    for wait in (0.0, 0.02, 0.05, 0.1, 0.2):
        backup = Backup(folder, place, "--every", "1s", "--keep", "2")
        started.append(backup)
        time.sleep(wait)  # the kill's moment, for which nothing waits
        backup.kill()
        backup.wait()
    assert main(["backup", str(folder), place, "--keep", "3"]) == 0
    copies = copy_place(place).copies()
    assert 1 <= len(copies) <= 3
    for number, copy in enumerate(copies):
        restored = tmp_path / f"restored-{number}"
        restore(copy.packed, restored, lambda _: None, lambda *_: None)
        assert len(names(restored)) == 21
