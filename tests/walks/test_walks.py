"""docs/internals/architecture.md walks through five requests. Each walk names the files that its request enters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.walks.traced import OUTSIDE
from tests.walks.walk import ROOT, WALKS

PAGE = (ROOT / "docs" / "internals" / "architecture.md").read_text(encoding="utf-8")
OFTEN = 3
"""A file that so many others enter is visited too often to be read in one go."""


def section(title: str) -> str:
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/internals/architecture.md has no section {title!r}"
    return found[1]


def summary(title: str) -> tuple[int, set[str]]:
    """What the table says of a walk: how many files it has, and which are entered from three others or more."""
    found = re.search(rf"^\| {re.escape(title)} \| (\d+) \| ([^|]*) \|$", PAGE, re.MULTILINE)
    assert found is not None, f"the table of docs/internals/architecture.md has no row {title!r}"
    return int(found[1]), set(re.findall(r"`([\w/]+\.py)`", found[2]))


@pytest.mark.slow
@pytest.mark.parametrize("title", WALKS)
def test_a_walk_names_the_files_that_its_request_enters(title: str, tmp_path: Path) -> None:
    walk = WALKS[title](tmp_path)
    assert set(re.findall(r"`([\w/]+\.py)`", section(title))) == set(walk)
    assert summary(title) == (len(walk), {name for name, callers in walk.items() if len(callers - {OUTSIDE}) >= OFTEN})
