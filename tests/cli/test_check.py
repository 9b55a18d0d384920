from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sortkey.cli import check
from sortkey.cli.main import main
from sortkey.engine.check.database_check import CheckReport, Progress
from sortkey.engine.check.discard import Discarded
from sortkey.engine.database import Database

NOBODY = 65534
"""The user without rights."""


def finding(monkeypatch: pytest.MonkeyPatch, *problems: str) -> None:
    """Replace the engine's check, which has tests of its own."""

    def checked(_: Path, progress: Progress) -> CheckReport:
        progress("orders", 1, 2)
        progress("orders", 2, 2)
        return CheckReport(tables=1, items=1200, index_rows=0, problems=list(problems))

    monkeypatch.setattr(check, "check", checked)


def test_sound_folder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    finding(monkeypatch)
    assert main(["check", "data"]) == 0
    assert capsys.readouterr().out == "1 table, 1,200 items, 0 index rows: 0 problems\n"


# A problem names keys, which must not be read as markup or broken into lines.
def test_each_problem_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    problem = "orders: the index row [bold]x of by_day " + "x" * 200 + " has no item"
    finding(monkeypatch, problem)
    assert main(["check", "data"]) == 1
    assert capsys.readouterr().out == f"{problem}\n1 table, 1,200 items, 0 index rows: 1 problem\n"


def test_discarded_records_are_lines_of_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finding(monkeypatch)
    discarded = Discarded(owner="table orders", record="00", lost=True, found='{"id":{"S":"\\n"}}')
    monkeypatch.setattr(check, "discard_damaged", lambda _, report: report(discarded))
    assert main(["check", "data", "--discard-damaged"]) == 0
    line, summary = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {"owner": "table orders", "record": "00", "lost": True, "found": discarded.found}
    assert summary.endswith("0 problems")


# Who only checks loses nothing.
def test_nothing_is_discarded_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    finding(monkeypatch, "a record is damaged")
    monkeypatch.setattr(check, "discard_damaged", lambda *_: pytest.fail("discarded"))
    assert main(["check", "data"]) == 1


def test_what_cannot_be_discarded_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "absent"), "--discard-damaged"]) == 2
    assert "is not a data folder" in capsys.readouterr().err


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A data folder whose parents everyone may enter."""
    with TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent) / "data"
        Database.open(folder).close()
        yield folder
        folder.chmod(0o700)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may read everything, so root becomes another user meanwhile."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("locked", [".", "data.mdb", "lock.mdb"])
def test_a_folder_that_may_not_be_read(own_folder: Path, locked: str, capsys: pytest.CaptureFixture[str]) -> None:
    (own_folder / locked).chmod(0)
    with without_privileges():
        assert main(["check", str(own_folder)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("sortkey check: cannot ")
    assert str(own_folder) in printed.err
    assert printed.err.endswith("Permission denied\n")
    assert printed.err.count("\n") == 1


# A mistyped path must neither pass as sound nor become a new database.
@pytest.mark.parametrize("name", ["missing", "."])
def test_no_data_folder(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / name)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("sortkey check: ")
    assert message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
