"""mypy and pyright accept the right uses in this folder and in the examples, and reject the wrong ones.

A wrong use has a comment that ignores its error, and both report a comment that ignores nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CHECKED = ("tests/model/typing", "examples")

pytestmark = pytest.mark.slow


def run(*command: str) -> None:
    """Runs a checker with the settings in pyproject.toml."""
    # pyright would otherwise look for a newer version.
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy(tmp_path: Path) -> None:
    run("mypy", "--strict", "--cache-dir", str(tmp_path), *CHECKED)


# The package brings pyright itself and a Node, so nothing is fetched here.
def test_pyright() -> None:
    run("pyright", "--pythonpath", sys.executable, *CHECKED)
