"""The built page in the package is, byte for byte, what its sources give."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.console import ROOT, needs_axe

BUILT = ROOT / "src" / "sortkey" / "server" / "console" / "static"
NPM = shutil.which("npm")

pytestmark = [needs_axe, pytest.mark.skipif(NPM is None, reason="npm is not installed")]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_a_build_gives_the_same_bytes(tmp_path: Path) -> None:
    assert NPM is not None
    command = [NPM, "exec", "--", "vite", "build", "--logLevel", "error", "--outDir", str(tmp_path), "--emptyOutDir"]
    subprocess.run(command, cwd=ROOT / "console", check=True, timeout=120)
    assert contents(tmp_path) == contents(BUILT)


def test_what_the_page_computes() -> None:
    assert NPM is not None
    done = subprocess.run([NPM, "test"], cwd=ROOT / "console", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
