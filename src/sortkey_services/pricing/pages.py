"""Pages of what rows show, where some rows show nothing: a product without a price, a cancelled change.

Such rows do not leave a page short: it reads on. It reads one item more than it has, so that it knows whether there is
another page. After MAX_ROWS rows it stops; then the page is short, and its cursor goes on from there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

import sortkey as sk
from sortkey.services.pages import PageArguments, sized_page

DEFAULT_ITEMS: Final = 64
MAX_ITEMS: Final = 2048
MAX_ROWS: Final = 20_000
LEAST_ROWS: Final = 64
"""How many rows a further request reads at least."""

T = TypeVar("T")
R = TypeVar("R", bound=sk.Item)

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

    def _made(self, maker: CursorMaker) -> str:
        cursor, index = maker
        return self._prefix + cursor(index)

    def with_prefix(self, prefix: str) -> FilledPage[T]:
        """The same page, whose cursors begin with this text."""
        made = FilledPage(
            self.items, self._cursors, has_next=self.has_next, has_previous=self.has_previous, ends=self._ends
        )
        made._prefix = prefix
        return made


def page_request(
    first: int | None = None, after: str | None = None, last: int | None = None, before: str | None = None
) -> PageArguments:
    """The part of a list that is asked for, the same for REST and GraphQL. Raises BadRequest."""
    return sized_page(first, after, last, before, default=DEFAULT_ITEMS, most=MAX_ITEMS)


async def filled_page(
    session: sk.AsyncSession, path: sk.AccessPath[R], page: PageArguments, show: Show[R, T], *, consistent: bool
) -> FilledPage[T]:
    """Rows that cannot be read are left out. Raises CursorError, in words for clients."""
    backward = page["last"] is not None
    size = (page["last"] if backward else page["first"]) or 0
    start = cursor = page["before"] if backward else page["after"]
    items: list[T] = []
    cursors: list[CursorMaker] = []
    left, wanted = MAX_ROWS, size + 1
    while True:
        part = await _rows(session, path, wanted, cursor, backward=backward, consistent=consistent)
        shown = await show(part.items)
        order = range(len(shown) - 1, -1, -1) if backward else range(len(shown))
        cursor_of = part.cursor
        for index in order:
            item = shown[index]
            if item is not None:
                items.append(item)
                cursors.append((cursor_of, index))
        more = part.has_previous if backward else part.has_next
        left -= max(len(shown), LEAST_ROWS)
        if not more or len(items) > size or left <= 0:
            break
        cursor = part.start_cursor if backward else part.end_cursor
        wanted = max(size + 1 - len(items), LEAST_ROWS)
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


async def _rows(
    session: sk.AsyncSession,
    path: sk.AccessPath[R],
    wanted: int,
    cursor: str | None,
    *,
    backward: bool,
    consistent: bool,
) -> sk.Page[R]:
    try:
        if backward:
            return await session.page(path, last=wanted, before=cursor, consistent=consistent, undecodable="skip")
        return await session.page(path, first=wanted, after=cursor, consistent=consistent, undecodable="skip")
    except sk.CursorError:
        raise sk.CursorError(
            "the cursor is not one of this list: after and before take a cursor that the same question gave, from a "
            "server with the same secret for cursors"
        ) from None
