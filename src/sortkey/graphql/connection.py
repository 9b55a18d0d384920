"""Connections: a page of a list with a cursor for each edge. Cursors are keys of the store, not offsets.

A resolver returns any object with the members of `Page`, such as `sk.Page`. The types say how GraphQL reads it; each
field that is not an attribute of the same name has a note for the compiled execution, which does without its resolver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import strawberry

from sortkey.graphql.resolved_as import resolved_as

READS: Final = "reads"
"""The note: the attribute that a field's value comes from, or one of the two below."""
ITSELF: Final = "itself"
"""The value is the object itself, read as another type."""
EDGES: Final = "edges"
"""The value is the page's edges."""

T = TypeVar("T")


class Page(Protocol):
    """What a connection is made of."""

    @property
    def items(self) -> Sequence[Any]: ...

    @property
    def has_next(self) -> bool: ...

    @property
    def has_previous(self) -> bool: ...

    @property
    def start_cursor(self) -> str | None: ...

    @property
    def end_cursor(self) -> str | None: ...

    def cursor(self, index: int, /) -> str:
        """Of one item."""
        ...


class PageEdge(NamedTuple):
    page: Page
    place: int
    node: Any

    @property
    def cursor(self) -> str:
        return self.page.cursor(self.place)


Root = strawberry.Parent[Any]


@strawberry.type(description="Where a page is in its list.")
class PageInfo:
    @resolved_as(bool, metadata={READS: "has_next"}, description="Whether there are nodes after this page.")
    def has_next_page(root: Root) -> bool:  # noqa: N805
        page: Page = root
        return page.has_next

    @resolved_as(bool, metadata={READS: "has_previous"}, description="Whether there are nodes before this page.")
    def has_previous_page(root: Root) -> bool:  # noqa: N805
        page: Page = root
        return page.has_previous

    start_cursor: str | None = strawberry.field(description="For `before`, to read the previous page.")
    end_cursor: str | None = strawberry.field(description="For `after`, to read the next page.")


@strawberry.type(description="A node of a page, and its cursor.")
class Edge(Generic[T]):
    cursor: str
    node: T


@strawberry.type(description="A page of a list.")
class Connection(Generic[T]):
    @resolved_as(list[Edge[T]], metadata={READS: EDGES})
    def edges(root: Root) -> list[PageEdge]:  # noqa: N805
        page: Page = root
        return [PageEdge(page, place, node) for place, node in enumerate(page.items)]

    @resolved_as(list[T], metadata={READS: "items"})
    def nodes(root: Root) -> Sequence[Any]:  # noqa: N805
        page: Page = root
        return page.items

    @resolved_as(PageInfo, metadata={READS: ITSELF})
    def page_info(root: Root) -> Page:  # noqa: N805
        page: Page = root
        return page
