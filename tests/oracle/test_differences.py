"""The list of known differences: complete in the documentation, and without differences that no longer exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.difference import Answered, Detected, Difference, Rejected
from tests.oracle.differences import DIFFERENCES
from tests.oracle.pair import Mismatch, Pair
from tests.oracle.tables import ORDERS, PLAIN

# Tokens and streams outlive their tables.
pytestmark = pytest.mark.own_namespace

ROOT = Path(__file__).parents[2]
TABLES = Path(__file__).with_name("differences.md")
PAGE = ROOT / "docs" / "internals" / "dynamodb-local.md"
"""Includes the tables when the site is built."""


def by_id(difference: Difference) -> str:
    return difference.id


def test_ids_are_distinct() -> None:
    assert len({difference.id for difference in DIFFERENCES}) == len(DIFFERENCES)


def tables() -> str:
    """What the page says of the differences."""
    rejected = [each for each in DIFFERENCES if isinstance(each, Rejected | Detected)]
    answered = [each for each in DIFFERENCES if isinstance(each, Answered)]
    return "\n".join(
        [
            "## Errors\n",
            "| id | why Sortkey answers as AWS does, and otherwise than DynamoDB Local |",
            "|---|---|",
            *(f"| `{each.id}` | {each.why} |" for each in rejected),
            "\n## Answers\n",
            "| id | Sortkey, as AWS | DynamoDB Local |",
            "|---|---|---|",
            *(f"| `{each.id}` | {each.why} | {each.local} |" for each in answered),
            "",
        ]
    )


# `python -m tests.oracle.test_differences` writes the tables again.
def test_documentation_lists_exactly_these() -> None:
    assert tables() == TABLES.read_text(encoding="utf-8")
    assert f'\n--8<-- "{TABLES.relative_to(ROOT)}"\n' in PAGE.read_text(encoding="utf-8")


# The example must fail without this entry and pass with it; otherwise the entry is stale. An answer may differ in more
# than one way, and an error may be one of `Detected`, so the other corrections are made in both cases.
@pytest.mark.parametrize("difference", DIFFERENCES, ids=by_id)
def test_example_shows_the_difference(pair: Pair, difference: Difference) -> None:
    *before, (operation, members) = difference.example
    pair.create(PLAIN)
    pair.create(ORDERS)
    for step, request in before:
        pair.both(step, request)
    others = [each for each in DIFFERENCES if isinstance(each, Answered | Detected) and each is not difference]
    with pytest.raises(Mismatch) as mismatch:
        Pair(pair.ours, pair.theirs, others).compare(operation, members)
    found = mismatch.value
    known = Pair(pair.ours, pair.theirs, [*others, difference])
    assert known.agree(found.request, found.ours, found.theirs), str(found)


if __name__ == "__main__":
    TABLES.write_text(tables(), encoding="utf-8")
