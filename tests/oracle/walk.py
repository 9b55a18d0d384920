"""Reads Query and Scan page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.oracle.canonical import ordered
from tests.oracle.pair import Pair, Side


def pages(side: Side, operation: str, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All pages of one side, each from the LastEvaluatedKey of the one before."""
    start: dict[str, Any] = {}
    while True:
        page = side.call(operation, request | start)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def walk_together(pair: Pair, request: dict[str, Any]) -> int:
    """Compares a query's pages one by one; returns the number of their items."""
    start: dict[str, Any] = {}
    count: int = 0
    while True:
        page = pair.answer("Query", **request, **start)
        count += int(page["Count"])
        if "LastEvaluatedKey" not in page:
            return count
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def walk_apart(pair: Pair, operation: str, request: dict[str, Any]) -> int:
    """Compares the items of all pages together, where the sides' orders differ; returns their number."""
    ours, theirs = (list(pages(side, operation, request)) for side in (pair.ours, pair.theirs))
    assert _items(ours) == _items(theirs)
    assert sum(page["ScannedCount"] for page in ours) == sum(page["ScannedCount"] for page in theirs)
    assert len(ours) == len(theirs), (request, [page["Count"] for page in ours], [page["Count"] for page in theirs])
    return sum(int(page["Count"]) for page in ours)


def _items(walked: list[dict[str, Any]]) -> list[Any]:
    return ordered([item for page in walked for item in page.get("Items", ())])
