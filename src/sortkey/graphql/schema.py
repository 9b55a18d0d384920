"""What a schema is written with: fields of the service's own types, connections, and scalars of money and time.

A connection is a page of a list with a cursor for each edge. Cursors are keys of the store, not offsets. A resolver
returns any object with the members of `Page`, such as `sk.Page`; the types say how GraphQL reads it.

What a client sends for a scalar is only checked for its type. A text that is no amount or no instant goes to the
service as it is: its words are those of REST, and it names all mistakes of a list, where GraphQL would stop at the
first ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal as PythonDecimal
from typing import Any, Final, Generic, NamedTuple, NewType, Protocol, TypeVar, cast

import strawberry
from graphql import GraphQLError, ValueNode
from graphql.language import FloatValueNode, IntValueNode, StringValueNode
from strawberry.schema.config import StrawberryConfig
from strawberry.types.scalar import ScalarDefinition

from sortkey.services.interface import Caller

__all__ = ["CALLS", "CONFIG", "Asked", "Connection", "DateTime", "Decimal", "Edge", "PageInfo", "resolved_as"]

CALLS: Final = "calls"
"""A note for the compiled execution: the function that it calls instead of the resolver, with the context and the
arguments as graphql-core has coerced them. Strawberry takes 0.1 ms to make its own object of one with ten fields."""

READS: Final = "reads"
"""Another note, for a field that is not an attribute of the same name: the attribute, or one of the two below."""
ITSELF: Final = "itself"
"""The value is the object itself, read as another type."""
EDGES: Final = "edges"
"""The value is the page's edges."""

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked(Generic[S]):
    """What resolvers see as `info.context`: the service, and who asks.

    async def book(self, info: strawberry.Info[Asked[Shop], None], id: strawberry.ID) -> Book | None:
        return await info.context.service.book(id, info.context.caller.name)
    """

    service: S
    caller: Caller


def resolved_as(graphql_type: Any, **options: Any) -> Callable[[F], F]:
    """A field whose resolver returns a type of the service, which GraphQL shows as one of the schema's.

    Strawberry's own decorator would take the type from the resolver, and leaves it without one for a checker.
    """
    return cast(Callable[[F], F], strawberry.field(graphql_type=graphql_type, **options))


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


MAX_DIGITS: Final = 18
"""Of a number as it is written: longer ones take Python long to read."""
_INSTANT: Final = 'a text such as "2026-08-24T12:30:00+02:00"'

Decimal = NewType("Decimal", PythonDecimal)
DateTime = NewType("DateTime", datetime)


def amount_text(amount: PythonDecimal) -> str:
    """With two decimals. Amounts of the store have them already."""
    text = str(amount)
    return text if text[-3:-2] == "." else f"{amount:.2f}"


def instant_text(instant: datetime) -> str:
    """As msgspec writes instants in REST's answers."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _amount(value: Any) -> str | int | float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    raise GraphQLError('Decimal must be a number, or one as text such as "4.50".')


def _amount_literal(node: ValueNode, _variables: Any = None) -> str | int | float:
    match node:
        case StringValueNode():
            return node.value
        case IntValueNode() if len(node.value) <= MAX_DIGITS:
            return int(node.value)
        case FloatValueNode():
            return float(node.value)
    raise GraphQLError('Decimal must be a number, or one as text such as "4.50".', node)


def _instant(value: Any) -> datetime | str:
    if not isinstance(value, str):
        raise GraphQLError(f"DateTime must be {_INSTANT}.")
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return value
    return value if instant.tzinfo is None else instant


def _instant_literal(node: ValueNode, _variables: Any = None) -> datetime | str:
    if not isinstance(node, StringValueNode):
        raise GraphQLError(f"DateTime must be {_INSTANT}.", node)
    return _instant(node.value)


SCALARS: Final[dict[object, ScalarDefinition]] = {
    Decimal: strawberry.scalar(
        name="Decimal",
        description="A number with two decimals, as text.",
        serialize=amount_text,
        parse_value=_amount,
        parse_literal=_amount_literal,
    ),
    DateTime: strawberry.scalar(
        name="DateTime",
        description="An instant in ISO 8601, with an offset.",
        serialize=instant_text,
        parse_value=_instant,
        parse_literal=_instant_literal,
    ),
}

CONFIG: Final = StrawberryConfig(scalar_map=SCALARS)
