"""An answered write survives a power cut. No test can cut the power; these check that the write is synced to disk."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sortkey.storage import environment
from tests.faults import synced_writer

PROJECT = Path(__file__).parents[2]
TIMES = 10
WATCHED = "trace=openat,fsync,fdatasync,pwrite64,pwritev,write"


def test_folders_are_synced_and_memory_is_not(tmp_path: Path) -> None:
    (folder, *_), memory = environment.open_folder(tmp_path), environment.open_memory()
    assert (folder.flags()["sync"], folder.flags()["metasync"]) == (True, True)
    assert (memory.flags()["sync"], memory.flags()["metasync"]) == (False, False)
    folder.close()
    memory.close()


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The system calls of a process that made some transfers."""
    if shutil.which("strace") is None:
        pytest.skip("no strace to watch system calls with")
    folder = tmp_path_factory.mktemp("watched", numbered=False)
    trace = ["strace", "-f", "-e", WATCHED, "-o", str(folder / "calls")]
    program = [sys.executable, "-m", synced_writer.__name__, str(folder / "data"), str(TIMES)]
    done = subprocess.run(trace + program, cwd=PROJECT, capture_output=True, text=True)
    if "ptrace" in done.stderr.lower() and done.returncode:
        pytest.skip("strace may not watch processes here")
    assert done.returncode == 0, done.stderr
    # Without the process's id, which comes first.
    return [line.split(maxsplit=1)[1] for line in (folder / "calls").read_text().splitlines()]


def opened(calls: list[str], file: str, *flags: str) -> str:
    """The descriptor of an open file."""
    lines = [call for call in calls if call.startswith("openat") and f'/{file}"' in call]
    return next(line.rsplit("= ", 1)[1] for line in lines if all(flag in line for flag in flags))


# LMDB writes pages, syncs them, and only then lets a root point at them, in a write that is itself synchronous.
def test_pages_and_then_the_root_are_on_disk_before_the_answer(calls: list[str]) -> None:
    data = opened(calls, "data.mdb", "O_RDWR")
    root = opened(calls, "data.mdb", "O_DSYNC")
    text = "\n".join(calls)
    transfers = re.findall(r'write\(1, "asked\\n".*?write\(1, "answered\\n"', text, re.DOTALL)
    assert len(transfers) == TIMES
    for transfer in transfers:
        assert re.search(rf"fdatasync\({data}\) += 0\n(.*\n)*?pwrite64\({root}, .*\) = \d+\n", transfer), transfer


# A synced file is lost if its folder's entry is not synced.
def test_the_names_of_new_files_are_on_disk_too(calls: list[str]) -> None:
    for folder in ("data", "watched"):
        number = opened(calls, folder, "O_RDONLY|O_CLOEXEC")
        assert any(re.match(rf"fsync\({number}\) += 0", call) for call in calls)
