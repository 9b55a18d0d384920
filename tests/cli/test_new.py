"""`sortkey new`: the project that it writes is typed, formatted and passes its tests."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sortkey.cli.main import main

RUFF = ("--isolated", "--line-length", "120", "--target-version", "py311")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_it_writes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "my-notes"]) == 0
    assert "sortkey serve my-notes\n" in capsys.readouterr().out
    project = folder / "my-notes"
    written = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert written == {
        ".gitignore",
        "README.md",
        "pyproject.toml",
        "my_notes/__init__.py",
        "my_notes/model.py",
        "my_notes/service.py",
        "tests/test_my_notes.py",
    }
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert declared["entry-points"] == {"sortkey.services": {"my-notes": "my_notes.service:MY_NOTES"}}
    assert "class MyNotesService:" in (project / "my_notes" / "service.py").read_text(encoding="utf-8")
    assert [name for name in written if "$" in (project / name).read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Notes", "'Notes' is not a name: use 3 to 40 lower-case letters and digits, with - or _ between words"),
        ("a/b", "'a/b' is not a name"),
        ("../notes", "'../notes' is not a name"),
        ("ab", "'ab' is not a name"),
        ("n" * 41, "is not a name"),
        ("json", "'json' means something else in Python"),
        ("class", "'class' means something else in Python"),
        ("tests", "'tests' means something else in Python"),
        ("msgspec", "there is a package 'msgspec' already"),
        ("boosts", "there is a service 'boosts' already"),
    ],
)
def test_names_that_cannot_be(folder: Path, capsys: pytest.CaptureFixture[str], name: str, line: str) -> None:
    assert main(["new", name]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith("sortkey new: ")
    assert line in printed.err
    assert list(folder.iterdir()) == []


def test_nothing_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").touch()
    assert main(["new", "notes"]) == 2
    assert capsys.readouterr().err == "sortkey new: there is a notes in this folder already; nothing was written\n"
    assert [file.name for file in (folder / "notes").iterdir()] == ["mine.txt"]


def test_a_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    assert main(["new", "notes"]) == 2
    assert list(folder.iterdir()) == []


def run(*command: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["note-2"])
def test_the_project_is_typed_formatted_and_passes_its_tests(folder: Path, name: str) -> None:
    assert main(["new", name]) == 0
    project = folder / name
    assert re.search(r"^3 passed", run("pytest", "-q", "-W", "error", "-p", "no:cacheprovider", folder=project), re.M)
    run("mypy", "--strict", "--cache-dir", str(folder / "cache"), ".", folder=project)
    run("ruff", "check", *RUFF, "--select", "E,F,W,I,N,UP,B,ARG,RET,SIM", ".", folder=project)
    run("ruff", "format", *RUFF, "--check", ".", folder=project)
