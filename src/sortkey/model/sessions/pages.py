"""Pages of a path: the first so many after a cursor, or the last so many before one.

A page asks for one row more than it gives, so that it knows whether there is a next one. Rows that a filter drops, or
that belong to other classes, do not leave a page short: it reads on, within a budget of rows. Where the budget ends
first, the page says that there is more, and its cursor is where the reading stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sortkey.model.changes.conditions import Where
from sortkey.model.items.codec import Row
from sortkey.model.paths.access_path import Path
from sortkey.model.paths.cursor import Cursors
from sortkey.model.sessions.context import Context
from sortkey.model.sessions.found_items import found_on, position
from sortkey.model.sessions.reads import may_have_binary, question
from sortkey.model.sessions.steps import Steps

T = TypeVar("T")

DEFAULT_SIZE: Final = 50
DEFAULT_BUDGET: Final = 1000
_FILTERED_STEP: Final = 100
"""Rows asked for at a time where a filter may drop most of them."""


class Window(NamedTuple):
    """Which part of a path is wanted."""

    size: int
    cursor: str | None
    backward: bool
    budget: int


def window(first: int | None, after: str | None, last: int | None, before: str | None, budget: int) -> Window:
    backward = last is not None or before is not None
    if backward and (first is not None or after is not None):
        raise ValueError("a page is first and after, or last and before, not both")
    size = (last if backward else first) or (DEFAULT_SIZE if first is None and last is None else 0)
    if size < 1 or budget < 1:
        raise ValueError("a page has at least one item, and reads at least one row")
    # Otherwise a page could never be full.
    return Window(size, before if backward else after, backward, max(budget, size + 1))


class Edge(NamedTuple, Generic[T]):
    cursor: str
    item: T


class Page(Generic[T]):
    """Some items of a path, in its order."""

    def __init__(
        self, path: Path[T], cursors: Cursors, items: list[T], rows: list[Any], wanted: Window, stopped: Row | None
    ) -> None:
        more = len(items) > wanted.size or stopped is not None
        self._stopped = stopped if len(items) <= wanted.size else None
        self._path = path
        self._cursors = cursors
        self._backward = wanted.backward
        self._rows = rows[: wanted.size]
        self.items = items[: wanted.size]
        if wanted.backward:
            self.items.reverse()
            self._rows.reverse()
        continued = wanted.cursor is not None
        self.has_next = continued if wanted.backward else more
        """Whether there is more behind. Of a page read backward: whether it was asked for as being before something."""
        self.has_previous = more if wanted.backward else continued

    def __repr__(self) -> str:
        return f"<page of {self._path!r}: {len(self.items)} items>"

    def cursor(self, index: int) -> str:
        """The cursor of one item, for `after` or `before`."""
        return self._cursors.encode(position(self._path, self._rows[index]))

    @property
    def edges(self) -> list[Edge[T]]:
        return [Edge(self.cursor(index), item) for index, item in enumerate(self.items)]

    @property
    def start_cursor(self) -> str | None:
        """What the page before this one is `before`; None if there was nothing to read."""
        return self._end(0, self._backward)

    @property
    def end_cursor(self) -> str | None:
        """What the page behind this one is `after`."""
        return self._end(-1, not self._backward)

    def _end(self, index: int, leading: bool) -> str | None:
        if leading and self._stopped is not None:
            return self._cursors.encode(self._stopped)
        return self.cursor(index) if self._rows else None


def page(
    context: Context, path: Path[T], wanted: Window, where: Where | None, descending: bool, consistent: bool
) -> Steps[Page[T]]:
    path = context.here(path)
    request = question(path, where, descending, consistent=False)
    cursors = Cursors(context.secret, path, request)
    start = None if wanted.cursor is None else cursors.decode(wanted.cursor)
    asked = dict(request)
    if wanted.backward:
        asked["ScanIndexForward"] = descending
    if consistent:
        asked["ConsistentRead"] = True
    items, rows, stopped = yield from _fill(context, path, asked, wanted, start)
    made = Page(path, cursors, items, rows, wanted, stopped)
    context.meter.returned(path.name, len(made.items))
    return made


def _fill(
    context: Context, path: Path[T], request: Mapping[str, Any], wanted: Window, start: Row | None
) -> Steps[tuple[list[T], list[Any], Row | None]]:
    """One item more than wanted, or all there are, or as many as the budget allows; and where it stopped short."""
    items: list[T] = []
    rows: list[Any] = []
    read = 0
    name, binary = path.name, may_have_binary(path, request)
    while True:
        limit = wanted.size + 1 - len(items)
        if "FilterExpression" in request:
            limit = max(limit, _FILTERED_STEP)
        members = {**request, "Limit": min(limit, wanted.budget - read)}
        if start is not None:
            members["ExclusiveStartKey"] = start
        answer = yield from context.read("Query", members, name, binary)
        found = found_on(path, answer["Items"])
        items += found.items
        rows += found.rows
        read += answer["ScannedCount"]
        start = answer.get("LastEvaluatedKey")
        if start is None or len(items) > wanted.size or read >= wanted.budget:
            return items, rows, start
