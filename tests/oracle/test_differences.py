"""The list of known differences: complete in the documentation, and without differences that no longer exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.oracle.difference import Answered, Difference
from tests.oracle.differences import DIFFERENCES
from tests.oracle.pair import Mismatch, Pair
from tests.oracle.tables import ORDERS, PLAIN

# Tokens and streams outlive their tables.
pytestmark = pytest.mark.own_namespace

COMPATIBILITY = Path(__file__).parents[2] / "docs" / "operate" / "compatibility.md"
ROW = re.compile(r"^\| `([a-z0-9-]+)` \|", re.MULTILINE)


def by_id(difference: Difference) -> str:
    return difference.id


def test_ids_are_distinct() -> None:
    assert len({difference.id for difference in DIFFERENCES}) == len(DIFFERENCES)


def test_documentation_lists_exactly_these() -> None:
    section = COMPATIBILITY.read_text(encoding="utf-8").partition("## DynamoDB Local")[2]
    assert sorted(ROW.findall(section)) == sorted(difference.id for difference in DIFFERENCES)


# The example must fail without this entry and pass with it; otherwise the entry is stale. An answer may differ in more
# than one way, so the other corrections are made in both cases.
@pytest.mark.parametrize("difference", DIFFERENCES, ids=by_id)
def test_example_shows_the_difference(pair: Pair, difference: Difference) -> None:
    *before, (operation, members) = difference.example
    pair.create(PLAIN)
    pair.create(ORDERS)
    for step, request in before:
        pair.both(step, request)
    others = [each for each in DIFFERENCES if isinstance(each, Answered) and each is not difference]
    with pytest.raises(Mismatch) as mismatch:
        Pair(pair.ours, pair.theirs, others).compare(operation, members)
    found = mismatch.value
    known = Pair(pair.ours, pair.theirs, [*others, difference])
    assert known.agree(found.request, found.ours, found.theirs), str(found)
