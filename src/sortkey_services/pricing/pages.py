"""Pages of prices and changes, the same for REST and GraphQL: 64 items by default, 2,048 at most."""

from __future__ import annotations

from typing import Final, TypeVar

import sortkey as sk
from sortkey.services.pages import PageArguments, sized_page
from sortkey_services.filled_page import FilledPage, Show, filled_page

DEFAULT_ITEMS: Final = 64
MAX_ITEMS: Final = 2048
MAX_ROWS: Final = 20_000
LEAST_ROWS: Final = 64

T = TypeVar("T")
R = TypeVar("R", bound=sk.Item)


def page_request(
    first: int | None = None, after: str | None = None, last: int | None = None, before: str | None = None
) -> PageArguments:
    """Raises BadRequest."""
    return sized_page(first, after, last, before, default=DEFAULT_ITEMS, most=MAX_ITEMS)


async def shown_page(
    session: sk.AsyncSession, path: sk.AccessPath[R], page: PageArguments, show: Show[R, T], *, consistent: bool
) -> FilledPage[T]:
    """Raises CursorError, in words for clients."""
    try:
        return await filled_page(session, path, page, show, consistent=consistent, most=MAX_ROWS, least=LEAST_ROWS)
    except sk.CursorError:
        raise sk.CursorError(
            "the cursor is not one of this list: after and before take a cursor that the same question gave, from a "
            "server with the same secret for cursors"
        ) from None
