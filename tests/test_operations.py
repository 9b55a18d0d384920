"""What the operations page tells to run, runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sortkey as sk
from tests.wire.serving import ServerProcess

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "operate" / "operations.md").read_text(encoding="utf-8")


class Note(sk.Item, table="operations-notes"):
    name: str
    key = sk.Key("NOTE#{name}")


def block(language: str, contains: str) -> str:
    """The page's one block of code with this text."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = [text for text in blocks if contains in text]
    return str(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the page's /var is."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "backups").mkdir()
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[ServerProcess]:
    """The service, on a folder with one note."""
    process = ServerProcess("--data", folder / "lib" / "sortkey")
    with sk.connect(process.url) as db:
        db.create_tables(Note)
        db.put(Note(name="before"))
    yield process
    if process.process.poll() is None:
        process.stop()


def run(script: str, folder: Path) -> str:
    """A script of the page, with the folder for /var and this Python's programs. It must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", script.replace("/var/", f"{folder}/")],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_backup_of_a_running_service_is_restored(folder: Path, server: ServerProcess) -> None:
    file = folder / "backups" / "sortkey.gz"
    printed = run(block("sh", "sortkey backup /var/lib/sortkey /var/backups/sortkey.gz"), folder)
    assert printed == f"{file}: {file.stat().st_size:,} bytes\n"
    with sk.connect(server.url) as db:
        db.put(Note(name="after"))
    assert server.stop() == 0
    printed = run(block("sh", "mv /var/lib/sortkey"), folder)
    assert "1 table, 1 item, 0 index rows: 0 problems\n" in printed
    assert "ok    database " in printed
    with sk.connect(folder / "lib" / "sortkey") as db:
        assert db.get(Note.key(name="before")) == Note(name="before")
        assert db.get(Note.key(name="after")) is None


# The second night of the same weekday replaces the first.
@pytest.mark.slow
def test_the_nightly_script_runs_beside_the_service(folder: Path, server: ServerProcess) -> None:
    script = block("sh", "date +%a")
    for items in ("1 item,", "2 items,"):
        assert items in run(script, folder)
        with sk.connect(server.url) as db:
            db.put(Note(name="another"))
    assert len(list((folder / "backups").iterdir())) == 1
