"""A data folder whose file was cut, at any page: an error, never a killed process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 240


@pytest.mark.slow
def test_every_cut_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.engine.check.cut_folders", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ended.returncode == 0, f"{ended.stdout.splitlines()[-1:]} {ended.stderr}"
