"""Pages of what rows show, where some rows show nothing: a product without a price, a cancelled change.

Such rows do not leave a page short: it reads on. It reads one item more than it has, so that it knows whether there is
another page. After so many rows it stops; then the page is short, and its cursor goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

import sortkey as sk
from sortkey.services.pages import PageArguments, PageInfo

T = TypeVar("T")
R = TypeVar("R", bound=sk.Item)

PART_ROWS: Final = 512
"""Of one request: between two of them, others have their turn."""

Show = Callable[[Sequence[R]], Awaitable[Sequence[T | None]]]
"""What each row shows; None if nothing."""
CursorMaker = tuple[Callable[[int], str], int]
"""A function and its argument: quicker to make than a function without one, for each item of a page."""


class FilledPage(Generic[T]):
    """A page: its items in the order of the list, and a cursor for each, which is made when it is asked for."""

    def __init__(
        self,
        items: list[T],
        cursors: Sequence[CursorMaker],
        *,
        has_next: bool,
        has_previous: bool,
        ends: tuple[CursorMaker | None, CursorMaker | None] | None = None,
    ) -> None:
        """`ends` are the cursors that neighbouring pages go on from, if they are not those of the first and the last
        item."""
        self.items = items
        self.has_next = has_next
        self.has_previous = has_previous
        self._prefix = ""
        self._cursors = cursors
        self._ends = ends or ((cursors[0], cursors[-1]) if cursors else (None, None))

    def __len__(self) -> int:
        return len(self.items)

    def cursor(self, index: int) -> str:
        return self._made(self._cursors[index])

    @property
    def start_cursor(self) -> str | None:
        return None if self._ends[0] is None else self._made(self._ends[0])

    @property
    def end_cursor(self) -> str | None:
        return None if self._ends[1] is None else self._made(self._ends[1])

    @property
    def info(self) -> PageInfo:
        return PageInfo(self.has_next, self.has_previous, self.start_cursor, self.end_cursor)

    def _made(self, maker: CursorMaker) -> str:
        cursor, index = maker
        return self._prefix + cursor(index)

    def with_prefix(self, prefix: str) -> FilledPage[T]:
        """The same page, whose cursors begin with this text and a dot."""
        made = FilledPage(
            self.items, self._cursors, has_next=self.has_next, has_previous=self.has_previous, ends=self._ends
        )
        made._prefix = f"{prefix}."
        return made


def without_prefix(page: PageArguments) -> tuple[str | None, PageArguments]:
    """What the cursor of a page begins with, and the page with the rest of the cursor; None without a cursor."""
    after, before = page["after"], page["before"]
    given = after or before
    if given is None:
        return None, page
    prefix, _, rest = given.partition(".")
    inner = PageArguments(
        first=page["first"],
        after=None if after is None else rest,
        last=page["last"],
        before=None if before is None else rest,
    )
    return prefix, inner


async def filled_page(
    session: sk.AsyncSession,
    path: sk.AccessPath[R],
    page: PageArguments,
    show: Show[R, T],
    *,
    consistent: bool,
    most: int,
    least: int,
) -> FilledPage[T]:
    """Reads up to `most` rows; each further request reads at least `least` of them. Rows that cannot be read are left
    out. Raises CursorError."""
    backward = page["last"] is not None
    size = (page["last"] if backward else page["first"]) or 0
    start = cursor = page["before"] if backward else page["after"]
    items: list[T] = []
    cursors: list[CursorMaker] = []
    left, wanted = most, min(most, size + 1, PART_ROWS)
    while True:
        if backward:
            part = await session.page(path, last=wanted, before=cursor, consistent=consistent, undecodable="skip")
        else:
            part = await session.page(path, first=wanted, after=cursor, consistent=consistent, undecodable="skip")
        shown = await show(part.items)
        order = range(len(shown) - 1, -1, -1) if backward else range(len(shown))
        cursor_of = part.cursor
        for index in order:
            item = shown[index]
            if item is not None:
                items.append(item)
                cursors.append((cursor_of, index))
        more = part.has_previous if backward else part.has_next
        left -= max(len(shown), least)
        if not more or len(items) > size or left <= 0:
            break
        cursor = part.start_cursor if backward else part.end_cursor
        wanted = min(left, max(size + 1 - len(items), least), PART_ROWS)
        await asyncio.sleep(0)
    return _filled(items, cursors, size, start, part if more and len(items) <= size else None, backward=backward)


def _filled(
    items: list[T],
    cursors: list[CursorMaker],
    size: int,
    start: str | None,
    stopped: sk.Page[R] | None,
    *,
    backward: bool,
) -> FilledPage[T]:
    """`stopped` is the last part that was read, if the page is short and there is more."""
    more = len(items) > size or stopped is not None
    del items[size:], cursors[size:]
    far = cursors[-1] if cursors else None
    if stopped is not None:
        end = stopped.start_cursor if backward else stopped.end_cursor
        far = far if end is None else (lambda _: end, 0)
    near = cursors[0] if cursors else far
    if backward:
        items.reverse()
        cursors.reverse()
    continued = start is not None
    return FilledPage(
        items,
        cursors,
        has_next=continued if backward else more,
        has_previous=more if backward else continued,
        ends=(far, near) if backward else (near, far),
    )
