"""Builds the site as `make docs` does, of a copy of what it is made of."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = (
    "docs",
    "src",
    "tests/oracle/differences.md",
    "tests/engine/operations/words.md",
    "tests/sortkey_services/pricing/schema.graphql",
    "tools",
    "zensical.toml",
)

_COMMAND: Final = re.compile(r"^docs:.*\n(?:\t.*\n)*?\t\$\(BIN\)/(zensical .*)$", re.MULTILINE)


def build_site(folder: Path) -> Path:
    """The folder of the site, in an empty folder. A warning of Zensical is an error."""
    program = Path(sys.executable).parent / "zensical"
    if not program.exists():
        pytest.skip("zensical is not installed; make docs installs it")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (command,) = _COMMAND.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
    _, *arguments = shlex.split(command)
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"
