"""A schema with everything that an answer can have: nulls and missing values, enums, amounts, instants of other zones,
objects in objects, lists, pages, and resolvers that fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal as PythonDecimal
from enum import Enum
from typing import Any

import strawberry
from botocore.exceptions import EndpointConnectionError

import sortkey as sk
from sortkey.graphql.cost import PageSizes
from sortkey.graphql.endpoint import GraphQLEndpoint
from sortkey.graphql.schema import CONFIG, Asked, Connection, DateTime, Decimal, resolved_as
from sortkey.graphql.settings import GraphQLSettings, Introspection, Limits

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
SUMMER_TIME = timezone(timedelta(hours=2))


class Genre(Enum):
    NOVEL = 1
    ATLAS = 2


@dataclass
class AuthorRow:
    name: str
    born: datetime | None = None


@dataclass
class BookRow:
    id: str
    title: Any = "A title"
    """None stands for a row that breaks the schema's promise."""
    genre: Genre = Genre.NOVEL
    price: PythonDecimal = PythonDecimal("4.50")
    discount: PythonDecimal | None = None
    published: datetime = NOON
    author: AuthorRow | None = None
    tags: Sequence[str] = ()
    in_print: bool = True


BOOKS = [
    BookRow("1", author=AuthorRow("Ada", NOON), tags=["old", "é\u2028"]),
    BookRow(
        "2", "", Genre.ATLAS, PythonDecimal("0.00"), PythonDecimal("5"), NOON.astimezone(SUMMER_TIME), AuthorRow("")
    ),
    BookRow(
        "3", 'with "quotes"\n', discount=PythonDecimal("1E+2"), published=NOON.replace(microsecond=1), in_print=False
    ),
]
BROKEN = BookRow("4", None)


@dataclass
class Page:
    items: list[BookRow]
    has_next: bool = True
    has_previous: bool = False

    def cursor(self, index: int) -> str:
        return f"after {self.items[index].id}"

    @property
    def start_cursor(self) -> str | None:
        return self.cursor(0) if self.items else None

    @property
    def end_cursor(self) -> str | None:
        return self.cursor(-1) if self.items else None


@dataclass
class Shop:
    """The service. Counts what its resolvers are asked."""

    calls: list[str] = field(default_factory=list)

    async def book(self, number: str) -> BookRow | None:
        self.calls.append(number)
        if number in FAILURES:
            raise FAILURES[number]
        return {each.id: each for each in [*BOOKS, BROKEN]}.get(number)

    async def books(self, shelf: str, size: int) -> Page:
        self.calls.append(shelf)
        if shelf in FAILURES:
            raise FAILURES[shelf]
        return Page([] if shelf == "empty" else [*BOOKS, BROKEN] if shelf == "broken" else BOOKS[:size])


FAILURES: dict[str, Exception] = {
    "bad": sk.services.BadRequest("the id is bad", ["[3].id: bad"]),
    "cursor": sk.CursorError("invalid cursor"),
    "missing": sk.services.NotFound("there is no such book"),
    "full": sk.services.Conflict("the shelf is full", code="full"),
    "late": sk.DeadlineExceeded("not done within 30 s"),
    "away": EndpointConnectionError(endpoint_url="http://store"),
    "secret": RuntimeError("a secret"),
}


@strawberry.type
class Author:
    name: str
    born: DateTime | None


@strawberry.type
class Book:
    id: strawberry.ID
    title: str
    genre: Genre
    price: Decimal
    discount: Decimal | None
    published: DateTime
    author: Author | None
    tags: list[str]
    in_print: bool

    @strawberry.field
    def shout(root: strawberry.Parent[Any]) -> str:  # noqa: N805
        """Has a resolver that only graphql-core can call."""
        row: BookRow = root
        return str(row.title).upper()


strawberry.enum(Genre)


@strawberry.type
class Query:
    @resolved_as(Book | None)
    async def book(self, info: strawberry.Info[Asked[Shop], None], number: str = "1") -> BookRow | None:
        return await info.context.service.book(number)

    @resolved_as(Connection[Book])
    async def books(
        self,
        info: strawberry.Info[Asked[Shop], None],
        shelf: str = "all",
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> Page:
        del after, before
        return await info.context.service.books(shelf, first or last or 64)

    @resolved_as(str | None)
    async def who_asks(self, info: strawberry.Info[Asked[Shop], None]) -> str | None:
        return info.context.caller.name


@strawberry.type
class Mutation:
    @resolved_as(list[Book])
    async def add(self, info: strawberry.Info[Asked[Shop], None], ids: list[str]) -> list[BookRow]:
        info.context.service.calls.extend(ids)
        for each in ids:
            if each in FAILURES:
                raise FAILURES[each]
        return [BookRow(each) for each in ids]


SCHEMA = strawberry.Schema(Query, Mutation, config=CONFIG)._schema
SIZES = PageSizes(default=64, most=2048)


class Caller:
    """Of a request, with these rights."""

    def __init__(self, address: str = "127.0.0.1", *rights: str) -> None:
        self.address = address
        self.name: str | None = None
        self.rights = rights or ("read", "write")
        self.gone = False

    def require(self, right: str) -> None:
        if right not in self.rights:
            raise PermissionError(right)


def endpoint(
    shop: Shop | None = None, introspection: Introspection = "loopback", limits: Limits | None = None
) -> GraphQLEndpoint:
    return GraphQLEndpoint(SCHEMA, shop or Shop(), SIZES, GraphQLSettings(introspection, limits or Limits()))
