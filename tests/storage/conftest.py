from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sortkey.storage import environment
from tests.storage import children
from tests.storage.byte_store import ByteStore, open_store
from tests.storage.large_folder import write_large

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def store() -> Iterator[ByteStore]:
    store = open_store()
    yield store
    store.close()


@pytest.fixture(scope="session")
def written_large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "data"
    write_large(folder)
    return folder


@pytest.fixture
def large_folder(written_large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that is opened as if it were large."""
    monkeypatch.setattr(environment, "CHECKED_BYTES", 0)
    return Path(shutil.copytree(written_large, tmp_path / "data"))


@pytest.fixture
def large_store(large_folder: Path) -> Iterator[ByteStore]:
    store = open_store(large_folder)
    yield store
    store.close()


class Child(subprocess.Popen[str]):
    """A program of `children.py` in a process of its own."""

    def __init__(self, program: str, path: Path, number: int) -> None:
        command = [sys.executable, "-m", children.__name__, program, str(path), str(number)]
        super().__init__(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self) -> str:
        assert self.stdout is not None
        return self.stdout.readline().rstrip("\n")

    def murder(self) -> None:
        self.send_signal(signal.SIGKILL)
        self.wait()


StartChild = Callable[..., Child]


@pytest.fixture
def child() -> Iterator[StartChild]:
    """`child("count", path, 100)`: started at once, and gone when the test is."""
    with ExitStack() as started:

        def start(program: str, path: Path, number: int = 0) -> Child:
            process = started.enter_context(Child(program, path, number))
            started.callback(process.kill)
            return process

        yield start
