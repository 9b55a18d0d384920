"""`check` and `doctor` on folders of other programs: they say so, and leave everything as it was."""

from __future__ import annotations

from pathlib import Path

import lmdb
import pytest

from sortkey.cli.main import main


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def other_program(folder: Path, version: int) -> None:
    with lmdb.open(str(folder), lib_version=version) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"k", b"v")


@pytest.mark.parametrize("arguments", [["check"], ["check", "--discard-damaged"], ["doctor"]])
@pytest.mark.parametrize("kind", ["empty", "other files", "no database", "lmdb 0.9", "lmdb 1.0"])
@pytest.mark.parametrize("has_lock_file", [True, False])
def test_nothing_is_left_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], kind: str, has_lock_file: bool
) -> None:
    match kind:
        case "other files":
            (tmp_path / "notes.txt").write_text("mine")
        case "no database":
            (tmp_path / "data.mdb").write_text("mine" * 5000)
        case "lmdb 0.9":
            other_program(tmp_path, 0)
        case "lmdb 1.0":
            other_program(tmp_path, 1)
    lock_file = tmp_path / "lock.mdb"
    if not has_lock_file:
        lock_file.unlink(missing_ok=True)
    before = content(tmp_path)
    expected = (0,) if arguments == ["doctor"] and "data.mdb" not in before else (1, 2)
    assert main([*arguments, str(tmp_path)]) in expected
    if arguments != ["doctor"]:
        assert capsys.readouterr().err.count("\n") == 1
    after = content(tmp_path)
    if kind == "lmdb 1.0" and has_lock_file:
        # A snapshot of a database of this version of LMDB registers there, and does not stay.
        before["lock.mdb"] = after["lock.mdb"]
    assert after == before
