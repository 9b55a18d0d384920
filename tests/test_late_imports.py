"""The garbage collector pauses while modules are imported, and does not walk them afterwards."""

from __future__ import annotations

import subprocess
import sys

import pytest

MADE_MEANWHILE = """
import gc
from sortkey.late_imports import collector_paused
with collector_paused():
    assert not gc.isenabled()
    made = [[] for _ in range(10)]
young = {id(each) for each in gc.get_objects(generation=0)}
print(gc.isenabled(), gc.get_freeze_count(), len(young & set(map(id, made))))
"""
FROZEN_BEFORE = """
import gc
from sortkey.late_imports import collector_paused
gc.freeze()
with collector_paused():
    made = [[] for _ in range(10)]
print(gc.isenabled(), gc.get_freeze_count() > 0)
"""
COLLECTOR_OFF = """
import gc
from sortkey.late_imports import collector_paused
gc.disable()
with collector_paused():
    pass
print(gc.isenabled())
"""


def printed(program: str) -> str:
    """What a program of its own prints: the tests' process may have frozen objects."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


# Python 3.12 has frozen objects of its own from the start.
@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="what is frozen stays so")
def test_what_was_made_meanwhile_is_old() -> None:
    assert printed(MADE_MEANWHILE) == "True 0 0\n"


# Else a program that has frozen its objects would pay for them again.
def test_what_the_program_has_frozen_stays_so() -> None:
    assert printed(FROZEN_BEFORE) == "True True\n"


def test_a_collector_that_is_off_stays_off() -> None:
    assert printed(COLLECTOR_OFF) == "False\n"
