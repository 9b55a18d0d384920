"""Fills docs/internals/reference.md: after each comment `<!-- names …` up to `<!-- end -->` come the entries of those names.

What is outside of the comments is written by hand: the order, the prose and the examples.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.reference.entries import entry

PAGE: Final = Path(__file__).parents[2] / "docs" / "internals" / "reference.md"

_NAMES: Final = re.compile(r"(<!-- names\n(.*?)-->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def filled(page: str) -> str:
    """The page with its entries made again."""
    return _NAMES.sub(lambda found: f"{found[1]}\n{_entries(found[2])}\n{found[4]}", page)


def _entries(names: str) -> str:
    return "".join(entry(line) for line in names.splitlines())


def named(page: str) -> set[str]:
    """The public names that the page has entries of."""
    lines = [line for found in _NAMES.findall(page) for line in found[1].splitlines()]
    return {re.split(r"[\s(:]", line)[0] for line in lines if ":" not in line.split()[0].rstrip(":")}
