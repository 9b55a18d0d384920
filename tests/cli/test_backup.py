"""`sortkey backup` and `sortkey restore`."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.cli.main import main

Printed = pytest.CaptureFixture[str]


class Note(sk.Item, table="backup-notes"):
    name: str
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
