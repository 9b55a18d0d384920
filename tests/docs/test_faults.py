"""The tests that docs/guides/faults.md shows pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.files import write_files
from tests.docs.test_testing import run


@pytest.mark.slow
def test_they_pass(tmp_path: Path) -> None:
    write_files("guides/faults.md", tmp_path)
    assert "\n7 passed" in run(tmp_path)
