"""Lists over HTTP: every one is a page, with cursors in both directions.

    GET /favourites/ada?first=20&after=CURSOR
    {"items": […], "pageInfo": {"hasNextPage", "hasPreviousPage", "startCursor", "endCursor"}}

A handler takes `page: AskedPage` and declares where it comes from: `dependencies={"page": PAGE}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Generic, TypedDict, TypeVar

import msgspec
from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter

from sortkey.model.calls.queries import Page
from sortkey.services.interface import BadRequest

__all__ = [
    "PAGE",
    "AskedPage",
    "PageAnswer",
    "PageArguments",
    "PageInfo",
    "page_answer",
    "page_arguments",
    "sized_page",
]

DEFAULT_ITEMS: Final = 50
MAX_ITEMS: Final = 1000

T = TypeVar("T")
A = TypeVar("A")


class PageArguments(TypedDict):
    """The part of a list that is asked for, as arguments of `db.page`."""

    first: int | None
    after: str | None
    last: int | None
    before: str | None


class PageInfo(msgspec.Struct, frozen=True, rename="camel"):
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


class PageAnswer(msgspec.Struct, Generic[A], frozen=True, rename="camel"):
    items: list[A]
    page_info: PageInfo


def page_answer(page: Page[T], shown: Callable[[T], A]) -> PageAnswer[A]:
    """A page of the store as the answer; `shown` is what the answer has of an item."""
    info = PageInfo(page.has_next, page.has_previous, page.start_cursor, page.end_cursor)
    return PageAnswer([shown(item) for item in page], info)


def page_arguments(
    first: Annotated[int | None, QueryParameter(description=f"The first items; {DEFAULT_ITEMS} by default")] = None,
    after: Annotated[str | None, QueryParameter(description="after this cursor")] = None,
    last: Annotated[int | None, QueryParameter(description="The last items")] = None,
    before: Annotated[str | None, QueryParameter(description="before this cursor")] = None,
) -> PageArguments:
    """Raises BadRequest for a size out of bounds, and for both directions at once."""
    return sized_page(first, after, last, before)


def sized_page(
    first: int | None,
    after: str | None,
    last: int | None,
    before: str | None,
    *,
    default: int = DEFAULT_ITEMS,
    most: int = MAX_ITEMS,
) -> PageArguments:
    """The same for lists with a default and a largest size of their own."""
    if (first is not None or after is not None) and (last is not None or before is not None):
        raise BadRequest("use first and after, or last and before, not both")
    for name, size in (("first", first), ("last", last)):
        if size is not None and not 1 <= size <= most:
            raise BadRequest(f"{name}: must be from 1 to {most:,}, not {size}")
    if before is not None and last is None:
        last = default
    if last is None and first is None:
        first = default
    return PageArguments(first=first, after=after, last=last, before=before)


AskedPage = NamedDependency[PageArguments]
PAGE: Final = Provide(page_arguments, sync_to_thread=False)
