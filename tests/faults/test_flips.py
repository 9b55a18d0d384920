"""A flipped bit is never served: each answer is what was written, or an error that names the damage.

`make flips N=10000` flips more of them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sortkey.engine.check.database_check import check
from tests.faults.flips.folder import write_folder
from tests.faults.flips.outcomes import (
    CLEAN,
    EQUAL,
    ERROR,
    KILLED,
    NAMED,
    OPENINGS,
    REFUSED,
    UNREAD,
    WRONG,
    Outcome,
    is_failure,
)

FLIPS = 240
pytestmark = pytest.mark.faults


def test_folder_before_any_flip_is_sound(tmp_path: Path) -> None:
    write_folder(tmp_path)
    assert check(tmp_path).problems == []


# In a process of its own, because it forks, and a test runner may have other threads.
def test_flipped_bits_are_found() -> None:
    command = [sys.executable, "-m", "tests.faults.flips", "--count", str(FLIPS), "--seed", "12"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    assert all(outcome in run.stdout for outcome in (EQUAL, ERROR, REFUSED)), run.stdout
    assert all(f"{opening.name}: {ERROR}" in run.stdout for opening in OPENINGS), run.stdout


@pytest.mark.parametrize(
    ("read", "checked", "fails"),
    [
        (EQUAL, CLEAN, False),
        (EQUAL, NAMED, False),
        (ERROR, NAMED, False),
        (ERROR, CLEAN, True),
        (UNREAD, CLEAN, True),
        (REFUSED, CLEAN, True),
        (WRONG, NAMED, True),
        (KILLED, NAMED, True),
        (EQUAL, KILLED, True),
    ],
)
def test_what_a_failure_is(read: str, checked: str, fails: bool) -> None:
    assert is_failure(Outcome(read, ""), Outcome(checked, "")) == fails
