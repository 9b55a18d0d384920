"""The test that docs/guides/regions.md shows passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.files import write_files
from tests.docs.test_testing import run


@pytest.mark.slow
def test_it_passes(tmp_path: Path) -> None:
    write_files("guides/regions.md", tmp_path)
    assert "\n1 passed" in run(tmp_path)
