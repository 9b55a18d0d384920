from __future__ import annotations

from pathlib import Path

import pytest

from sortkey.cli import check
from sortkey.cli.main import main
from sortkey.engine.check.database_check import CheckReport
from sortkey.engine.check.findings import Progress


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


# A mistyped path must neither pass as sound nor become a new database.
@pytest.mark.parametrize("name", ["missing", "."])
def test_no_data_folder(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / name)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("sortkey check: ")
    assert message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
