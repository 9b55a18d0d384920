"""Queries of a path: pages of it and their cursors, all of it, or its count.

A page requests one row more than it returns, so that it knows whether there is a next one. Rows that a filter drops, or
that belong to other classes, do not leave a page short: it reads on, within a budget of rows. If the budget ends first,
the page has `has_next`, and its end cursor is where the reading stopped.

A cursor is a row's position on an access path, as opaque text that only the same query accepts:

    version 1 B · binding 8 B · code 16 B · the row's position as JSON            in URL-safe base64

The binding is a digest of the path, its arguments, filter and order. The code authenticates the cursor with the
session's secret (keyed BLAKE2b). A cursor of another query and a forged cursor are rejected, with different messages.
A position is not encrypted: it contains key attributes of a row that the caller has seen.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode, urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, ParamSpec, TypeVar, overload

import orjson

from sortkey.model.calls import lookups, sharded_queries
from sortkey.model.calls.arguments import require_key
from sortkey.model.calls.item_decoder import Undecodable, key_row
from sortkey.model.calls.sharded_queries import ShardMerge
from sortkey.model.calls.steps import Answer, Context, Steps, Turn
from sortkey.model.calls.wanted_items import (
    ALL_PARTS,
    Parts,
    Wanted,
    count_wanted,
    decode_wanted,
    wanted_items,
)
from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.changes.query_filter import QueryFilter
from sortkey.model.costs.meter import Meter
from sortkey.model.errors import CursorError, KeyPartError, NoAccessPath
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.html_table import items_table
from sortkey.model.items.item import Item
from sortkey.model.items.key import BoundKey

if TYPE_CHECKING:
    from sortkey.model.items.key import SignedKey, UnsignedKey

T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=Item)
P = ParamSpec("P")

DEFAULT_SIZE: Final = 50
DEFAULT_BUDGET: Final = 1000
ROWS_A_TURN: Final = 512
"""Of a store in the process: after so many rows, other tasks have their turn."""

_VERSION: Final = b"\x01"
_BINDING: Final = 8
_CODE: Final = 16
_HEADER: Final = len(_VERSION) + _BINDING + _CODE
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_LONGEST: Final = 8192
"""Longer than any position: a key has at most 3 KB, an index key another 3 KB."""


class PageWindow(NamedTuple):
    """The part of a path that a page shows."""

    size: int
    cursor: str | None
    backward: bool
    budget: int


def page_window(first: int | None, after: str | None, last: int | None, before: str | None, budget: int) -> PageWindow:
    backward = last is not None or before is not None
    if backward and (first is not None or after is not None):
        raise ValueError("use first and after, or last and before, not both")
    size = (last if backward else first) or (DEFAULT_SIZE if first is None and last is None else 0)
    if not isinstance(size, int):
        raise TypeError(f"first and last are numbers of items, not {type(size).__name__} {size!r}")
    if size < 1 or budget < 1:
        raise ValueError("first, last and budget must be at least 1")
    cursor = before if backward else after
    if not (cursor is None or isinstance(cursor, str)):
        raise TypeError(f"a cursor is a text, such as page.end_cursor, not {type(cursor).__name__} {cursor!r}")
    # With a smaller budget, a page could never be full.
    return PageWindow(size, cursor, backward, max(budget, size + 1))


class Edge(NamedTuple, Generic[T]):
    """An item of a page, and its cursor."""

    cursor: str
    item: T


@dataclass(init=False, repr=False, eq=False, match_args=False)
class Page(Generic[T]):
    """Some items of a path, in its order.

    As a response type, `sk.Page[Order]`, its JSON has its five attributes. msgspec and pydantic, and so Litestar and
    FastAPI, know how to write and describe a dataclass.
    """

    items: list[T]
    """The items, in the order of the path."""
    has_next: bool
    """Whether there are items after this page. On a page read backward: whether it was read with `before`."""
    has_previous: bool
    """Whether there are items before this page. On a page read forward: whether it was read with `after`."""
    start_cursor: str | None
    """The cursor that the previous page is `before`; None if no row was read."""
    end_cursor: str | None
    """The cursor that the next page is `after`; None if no row was read."""

    def __init__(
        self,
        path: AccessPath[T],
        cursors: Cursors,
        items: list[T],
        rows: list[Any],
        window: PageWindow,
        stopped: Row | None,
    ) -> None:
        more = len(items) > window.size or stopped is not None
        self._stopped = stopped if len(items) <= window.size else None
        self._path = path
        self._cursors = cursors
        self._backward = window.backward
        self._rows = rows[: window.size]
        self.items = items[: window.size]
        if window.backward:
            self.items.reverse()
            self._rows.reverse()
        self._ends = self._rows[:1] + self._rows[-1:]
        """The first and the last row, also if `complete` leaves them out: the next page starts there."""
        continued = window.cursor is not None
        self.has_next = continued if window.backward else more
        self.has_previous = more if window.backward else continued

    def __repr__(self) -> str:
        return f"<page of {self._path!r}: {len(self.items)} items>"

    def _repr_html_(self) -> str:
        return items_table(
            f"{self._path!r}: {len(self.items)} items{', and more' if self.has_next else ''}", self.items
        )

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def complete(self, items: Sequence[T | None]) -> None:
        """Replaces the items by others, in the same order; those that are None are left out."""
        self._rows = [row for row, item in zip(self._rows, items, strict=True) if item is not None]
        self.items = [item for item in items if item is not None]

    def cursor(self, index: int) -> str:
        """The cursor of one item, for `after` or `before`."""
        return self._cursors.encode(key_row(self._path, self._rows[index]))

    @property
    def edges(self) -> list[Edge[T]]:
        """The items, each with its cursor."""
        return [Edge(self.cursor(index), item) for index, item in enumerate(self.items)]

    def _start_cursor(self) -> str | None:
        return self._end(0, self._backward)

    def _end_cursor(self) -> str | None:
        return self._end(-1, not self._backward)

    def _end(self, index: int, leading: bool) -> str | None:
        if leading and self._stopped is not None:
            return self._cursors.encode(self._stopped)
        return self._cursors.encode(key_row(self._path, self._ends[index])) if self._ends else None


# Cursors are made when they are asked for. In the class, properties would be the defaults of the fields.
for _name, _read in {"start_cursor": Page._start_cursor, "end_cursor": Page._end_cursor}.items():
    setattr(Page, _name, property(_read))


def page(
    context: Context,
    path: AccessPath[T],
    window: PageWindow,
    where: Where | None,
    descending: bool,
    consistent: bool,
    undecodable: Undecodable,
    parts: Parts = ALL_PARTS,
) -> Steps[Page[T]]:
    path = context.adapt(path)
    request = query_of(path, where, descending, consistent=False, meter=context.meter)
    cursors = Cursors(context.secret, path, request)
    start = None if window.cursor is None else cursors.decode(window.cursor)
    query = dict(request)
    if window.backward:
        query["ScanIndexForward"] = descending
    if consistent:
        query["ConsistentRead"] = True
    wanted = wanted_items(path, where, undecodable, parts=parts)
    if wanted.only is not None:
        query = wanted.only.added_to(query)
    if path.is_sharded:
        filled = sharded_queries.fill(context, path, query, window.size, window.budget, start, wanted)
    else:
        filled = _fill(context, path, query, window, start, wanted)
    items, rows, stopped = yield from filled
    made = Page(path, cursors, items, rows, window, stopped)
    if wanted.whole:
        partial: list[Any] = made.items
        made.complete((yield from lookups.completed(context, partial, consistent)))
    context.meter.returned(path.name, len(made.items))
    return made


def _fill(
    context: Context,
    path: AccessPath[T],
    query: Mapping[str, Any],
    window: PageWindow,
    start: Row | None,
    wanted: Wanted,
) -> Steps[tuple[list[T], list[Any], Row | None]]:
    """One item more than the page, or fewer if the path or the budget ends; their rows; and where reading stopped."""
    items: list[T] = []
    rows: list[Any] = []
    read = 0
    name, binary = path.name, _may_have_binary(path, query)
    while True:
        limit = wanted.limit(window.size + 1 - len(items), query)
        members = {**query, "Limit": min(limit, window.budget - read)}
        if start is not None:
            members["ExclusiveStartKey"] = start
        answer = yield from context.send_unparsed("Query", members, name, binary)
        decoded = decode_wanted(context.meter, path, answer["Items"], wanted)
        items += decoded.items
        rows += decoded.rows
        read += answer["ScannedCount"]
        start = answer.get("LastEvaluatedKey")
        if start is None or len(items) > window.size or read >= window.budget:
            return items, rows, start


def query_of(
    path: AccessPath[Any], where: Where | None, descending: bool, consistent: bool, meter: Meter | None = None
) -> dict[str, Any]:
    """The Query of a path, with its filter and options. The meter is told which fields the filter has."""
    request = path.request()
    if where is not None and not requires_nothing(where):
        placeholders = Placeholders()
        query_filter = QueryFilter(path, where)
        if meter is not None:
            meter.filtered(path.name, query_filter.fields)
        expression = query_filter.expression(placeholders)
        if expression is not None:
            request["FilterExpression"] = expression
            request = placeholders.added_to(request)
    if descending:
        request["ScanIndexForward"] = False
    if consistent:
        request["ConsistentRead"] = True
    return request


def _may_have_binary(path: AccessPath[Any], query: Mapping[str, Any]) -> bool:
    """Whether binary may occur in a Query: its keys tell; a filter is not examined."""
    return path.has_binary_keys or "FilterExpression" in query


ChunkStart = Row | ShardMerge | None
"""Where `iterate` goes on: after a row, or with the merged reading of a sharded path; None at the beginning and at the
end."""


class ItemChunk(NamedTuple):
    """The items of one request, and where the next request starts."""

    items: list[Any]
    next_start: ChunkStart


def chunk(
    context: Context, path: AccessPath[T], query: Mapping[str, Any], start: ChunkStart, wanted: Wanted
) -> Steps[ItemChunk]:
    """One request of `iterate`, or one for each shard."""
    if path.is_sharded:
        return (yield from _sharded_chunk(context, path, query, start, wanted))
    answer = yield from _send_chunk(context, path, query, start, wanted)
    items = decode_wanted(context.meter, path, answer["Items"], wanted).items
    if wanted.whole:
        items = yield from lookups.whole(context, items, consistent="ConsistentRead" in query)
    items = items[: wanted.most]
    context.meter.returned(path.name, len(items))
    done = wanted.most is not None and len(items) == wanted.most
    return ItemChunk(items, None if done else answer.get("LastEvaluatedKey"))


def _send_chunk(
    context: Context, path: AccessPath[Any], query: Mapping[str, Any], start: ChunkStart, wanted: Wanted
) -> Steps[Answer]:
    members = dict(query) if wanted.only is None else wanted.only.added_to(query)
    if start is not None:
        members["ExclusiveStartKey"] = start
    if wanted.most is not None:
        members["Limit"] = wanted.limit(wanted.most, query)
    if context.in_process:
        members["Limit"] = min(members.get("Limit", ROWS_A_TURN), ROWS_A_TURN)
        if start is not None:
            yield Turn()
    return (yield from context.send_unparsed("Query", members, path.name, _may_have_binary(path, members)))


def _sharded_chunk(
    context: Context, path: AccessPath[T], query: Mapping[str, Any], start: ChunkStart, wanted: Wanted
) -> Steps[ItemChunk]:
    merge = start if isinstance(start, ShardMerge) else ShardMerge(context, path, query, wanted)
    items = yield from sharded_queries.merged_items(merge, wanted.most)
    if wanted.whole:
        items = yield from lookups.whole(context, items, consistent="ConsistentRead" in query)
    items = items[: wanted.most]
    merge.returns(len(items))
    context.meter.returned(path.name, len(items))
    done = merge.stopped is None or (wanted.most is not None and len(items) == wanted.most)
    return ItemChunk(items, None if done else merge)


def first(
    context: Context,
    path: AccessPath[T],
    where: Where | None,
    descending: bool,
    consistent: bool,
    undecodable: Undecodable,
) -> Steps[T | None]:
    """The first item, read with as few rows as possible."""
    path = context.adapt(path)
    query = query_of(path, where, descending, consistent, context.meter)
    wanted = wanted_items(path, where, undecodable, most=1)
    start: ChunkStart = None
    while True:
        items, start = yield from chunk(context, path, query, start, wanted)
        if items or start is None:
            return items[0] if items else None


def count(
    context: Context, path: AccessPath[Any], where: Where | None, consistent: bool, undecodable: Undecodable
) -> Steps[int]:
    """The number of items that `iterate` gives. Only reading the rows tells which of them are items of the class, and
    whether it can read them; no items are made of those that the class's reader accepts."""
    path = context.adapt(path)
    query = query_of(path, where, False, consistent, context.meter)
    wanted = wanted_items(path, where, undecodable)
    if path.is_sharded:
        total = yield from sharded_queries.count(context, path, query, wanted)
        context.meter.returned(path.name, total)
        return total
    total = 0
    start: Row | None = None
    while True:
        answer = yield from _send_chunk(context, path, query, start, wanted)
        counted = count_wanted(context.meter, path, answer["Items"], wanted)
        context.meter.returned(path.name, counted)
        total += counted
        start = answer.get("LastEvaluatedKey")
        if start is None:
            return total


@overload
def collection(key: SignedKey[P, ItemT], /, *args: P.args, **partition: P.kwargs) -> AccessPath[Item]: ...
@overload
def collection(key: UnsignedKey[ItemT], /, **partition: Any) -> AccessPath[Item]: ...


def collection(key: BoundKey[ItemT], /, *positional: Any, **partition: Any) -> AccessPath[Item]:
    """The path to all items of one partition of a table or an index: `sk.collection(User.key, user="alice")`."""
    require_key(key)
    needed = key.layout.partition_fields
    if positional:
        raise TypeError(f"a collection of {key.name} takes its fields by name: {', '.join(needed)}")
    if set(partition) != set(needed):
        given = ", ".join(partition) or "nothing"
        raise NoAccessPath(f"a collection of {key.name} needs exactly {', '.join(needed)}, not {given}")
    return key(**partition).of_all_classes()


class Cursors:
    """The cursors of one query. A cursor takes microseconds to make, so everything here is computed on first use:
    `request` must not change any more."""

    def __init__(self, secret: bytes, path: AccessPath[Any], request: Mapping[str, Any]) -> None:
        self._secret = secret
        self._path = path
        self._request = request

    @cached_property
    def _key(self) -> bytes:
        # A key of BLAKE2b has at most 64 bytes; a secret may have any length.
        return blake2b(self._secret, digest_size=32).digest()

    @cached_property
    def _attributes(self) -> tuple[str, ...]:
        parts = (*self._path.primary.attributes, *self._path.layout.attributes)
        return tuple(dict.fromkeys(part.name for part in parts))

    @cached_property
    def _binding(self) -> bytes:
        # The class decides which rows are returned, in addition to the request.
        described = repr((self._path.entity, self._path.collection, sorted(self._request.items()))).encode()
        return blake2b(described, digest_size=_BINDING).digest()

    @cached_property
    def _begun(self) -> Any:
        """The hash of the binding, to which each cursor's payload is added."""
        return blake2b(self._binding, key=self._key, digest_size=_CODE)

    @cached_property
    def _start(self) -> bytes:
        return _VERSION + self._binding

    def encode(self, row: Row) -> str:
        """The cursor of a row, of which only the key attributes count. Raises KeyPartError if one is missing."""
        # A page of GraphQL has a cursor for each edge, so this is written for speed.
        try:
            payload = orjson.dumps([to_json_value(row[name]) for name in self._attributes])
        except KeyError as error:
            raise KeyPartError(f"{self._path.name}: the row has no {error}") from None
        code = self._begun.copy()
        code.update(payload)
        return _text(self._start + code.digest() + payload)

    def decode(self, cursor: str) -> Row:
        """The position, as ExclusiveStartKey. Raises CursorError for a cursor that this query did not make."""
        raw = _bytes(cursor)
        binding, code, payload = raw[1:9], raw[9:_HEADER], raw[_HEADER:]
        if raw[:1] != _VERSION or not hmac.compare_digest(code, self._code(payload, binding)):
            raise CursorError("invalid cursor: it was changed, or signed with another secret")
        if binding != self._binding:
            raise CursorError(f"the cursor belongs to another query than {self._path!r}")
        values = [from_json_value(each) for each in orjson.loads(payload)]
        return dict(zip(self._attributes, values, strict=True))

    def _code(self, payload: bytes, binding: bytes) -> bytes:
        return blake2b(binding + payload, key=self._key, digest_size=_CODE).digest()


def _bytes(cursor: str) -> bytes:
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError:
        raise CursorError("invalid cursor: not base64") from None
    if _text(raw) != cursor:
        # base64 may have spare bits, padding and other signs, which decoding ignores.
        raise CursorError("invalid cursor: it was changed")
    return raw


def _text(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).translate(_URL_SAFE).rstrip(b"=").decode("ascii")


def to_json_value(value: dict[str, Any]) -> Any:
    return {"B": b64encode(value["B"]).decode()} if "B" in value else value


def from_json_value(value: dict[str, Any]) -> dict[str, Any]:
    return {"B": b64decode(value["B"])} if "B" in value else value
