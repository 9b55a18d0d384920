"""Browsing by access path: the request that a path becomes, its price, and its pages.

The requests are the path's own, sent as they are, so that the page can show them: the session's meter does not count
what consoles read. Of a sharded path, each shard is asked for a page, and the rows are merged in order; a cursor has
the place in each shard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from time import perf_counter
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.client.boto3_shapes import convert_member, to_dynamodb_json
from sortkey.model.costs.explain import GUESSED_BYTES, explain, read_dollars_per_million
from sortkey.model.fields.field_texts import text_of
from sortkey.model.items.access_path import AccessPath
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.declared import Declared, Examples, ExamplesRequest, PathRequest
from sortkey.server.console.data.rows import Row, RowMaker
from sortkey.server.console.data.tables import TableBook
from sortkey.server.console.routes import Item, Message, Route, Routes, invalid
from sortkey.server.console.store import StoreRequests

PAGE_ROWS: Final = 1000
EXAMPLE_ROWS: Final = 100
"""Read for examples."""
EXAMPLES: Final = 20
_MILLION: Final = 1_000_000


class Estimate(Message):
    rows: float
    row_bytes: int
    units: float
    dollars: float
    dollars_per_million: float
    source: str
    at_most: bool


class Plan(Message):
    operation: str
    request: dict[str, Any]
    index: str | None
    requests: int
    estimate: Estimate
    text: str


class Page(Message):
    rows: list[Row]
    operation: str
    request: dict[str, Any]
    requests: int
    rows_read: int
    units: float
    dollars: float
    seconds: float
    next: Any


class Place(msgspec.Struct):
    """Where a sharded path goes on, in one shard."""

    shard: int
    after: Item | None = None
    """None is its beginning."""


class Requests(NamedTuple):
    """A path as requests in DynamoDB JSON, without page, cursor and direction."""

    operation: str
    each: Sequence[dict[str, Any]]


def units_of(answer: Mapping[str, Any]) -> float:
    consumed = answer.get("ConsumedCapacity") or {}
    return float(consumed.get("CapacityUnits", 0.0))


def dollars_of(read_units: float) -> float:
    return read_dollars_per_million(read_units) / _MILLION


class PathBrowser:
    def __init__(self, store: StoreRequests, session: AsyncSession, declared: Declared, tables: TableBook) -> None:
        self._store = store
        self._session = session
        self._declared = declared
        self._tables = tables

    def routes(self) -> Routes:
        return {
            "plan": Route(PathRequest, self.plan),
            "page": Route(PathRequest, self.page),
            "examples": Route(ExamplesRequest, self.examples),
        }

    async def plan(self, viewer: Viewer, wanted: PathRequest) -> Plan:
        path = self._path(viewer, wanted)
        requests = requests_of(path)
        return Plan(
            requests.operation,
            _limited(requests, wanted)[0],
            path.layout.index,
            len(requests.each),
            await self._estimate(path, len(requests.each), wanted.first),
            repr(path),
        )

    def _path(self, viewer: Viewer, wanted: PathRequest) -> AccessPath[Any]:
        if not 1 <= wanted.first <= PAGE_ROWS:
            raise invalid(f"first is from 1 to {PAGE_ROWS:,}, not {wanted.first}.")
        return context_of(self._session).adapt(self._declared.path(viewer, wanted))

    async def _estimate(self, path: AccessPath[Any], requests: int, first: int) -> Estimate:
        """Of one page. How many rows the partition has, nothing tells before it is read."""
        description = await self._tables.describe(path.table)
        index = path.layout.index
        mean = description.row_bytes(index)
        rows = min(first * requests, description.rows(index) or first * requests)
        found = explain(path, rows=rows, row_bytes=mean or GUESSED_BYTES)
        million = found.dollars_per_million
        source = (
            f"by the mean size of {'the table' if index is None else index}'s rows" if mean else "its size is a guess"
        )
        return Estimate(
            found.rows,
            found.row_bytes,
            found.units,
            million / _MILLION,
            million,
            source,
            found.operation == "Query",
        )

    async def page(self, viewer: Viewer, wanted: PathRequest) -> Page:
        path = self._path(viewer, wanted)
        description = await self._tables.describe(path.table)
        maker = RowMaker(
            description.key_names, self._declared.tables.get(path.table), description.is_partial(path.layout.index)
        )
        began = perf_counter()
        requests = requests_of(path)
        limited = _limited(requests, wanted)
        if requests.operation == "GetItem":
            answers = [await self._store.call(viewer, "GetItem", limited[0])]
            items, following = [answers[0]["Item"]] if "Item" in answers[0] else [], None
        elif len(limited) == 1:
            answers = [await self._store.call(viewer, "Query", {**limited[0], **_start(wanted.after)})]
            items, following = answers[0]["Items"], answers[0].get("LastEvaluatedKey")
        else:
            answers, items, following = await self._merged(viewer, path, limited, wanted)
        units = sum(map(units_of, answers))
        return Page(
            [maker.row(item) for item in items],
            requests.operation,
            limited[0],
            len(answers),
            sum(answer.get("ScannedCount", len(items)) for answer in answers),
            units,
            dollars_of(units),
            perf_counter() - began,
            following,
        )

    async def _merged(
        self, viewer: Viewer, path: AccessPath[Any], limited: Sequence[dict[str, Any]], wanted: PathRequest
    ) -> tuple[list[dict[str, Any]], list[Item], Any]:
        """The answers, the first rows of all shards in order, and where each shard goes on."""
        places = _places(wanted.after, len(limited))
        answers = await asyncio.gather(
            *(self._store.call(viewer, "Query", limited[each.shard] | _start(each.after)) for each in places)
        )
        names = [part.name for part in path.layout.sorts]
        found = [
            (_order(item, names), number, item) for number, answer in enumerate(answers) for item in answer["Items"]
        ]
        found.sort(key=lambda each: each[0], reverse=wanted.descending)
        taken = found[: wanted.first]
        following = []
        for number, (place, answer) in enumerate(zip(places, answers, strict=True)):
            own = [item for _, of, item in taken if of == number]
            if own:
                place.after = to_dynamodb_json(path.position(convert_member("", own[-1])))
            if len(own) < len(answer["Items"]) or "LastEvaluatedKey" in answer:
                following.append(place)
        return list(answers), [item for _, _, item in taken], following or None

    async def examples(self, viewer: Viewer, wanted: ExamplesRequest) -> Examples:
        """Of the fields of a path, from its first rows; those that agree with what was given."""
        key = self._declared.key(viewer, wanted.path)
        members: dict[str, Any] = {"TableName": key.schema.table, "Limit": EXAMPLE_ROWS}
        if key.layout.index is not None:
            members["IndexName"] = key.layout.index
        answer = await self._store.call(viewer, "Scan", {**members, "ReturnConsumedCapacity": "TOTAL"})
        found: dict[tuple[str, ...], dict[str, str]] = {}
        for item in answer["Items"]:
            held = key.layout.parse(convert_member("", item))
            if held is None or not key.schema.primary.matches(convert_member("", item)):
                continue
            texts = {name: text_of(value) for name, value in held.items()}
            if all(texts.get(name) == text for name, text in wanted.fields.items()):
                found.setdefault(tuple(texts.values()), texts)
        return Examples(list(found.values())[:EXAMPLES], units_of(answer))


def requests_of(path: AccessPath[Any]) -> Requests:
    if path.is_exact and not path.collection:
        return Requests("GetItem", [to_dynamodb_json({"TableName": path.table, "Key": path.key()})])
    if not path.is_sharded or path.layout.sharding is None:
        return Requests("Query", [to_dynamodb_json(path.request())])
    shards = path.layout.sharding.numbers
    sent = (msgspec.structs.replace(path, equal=path.equal_in_shard(shard)) for shard in shards)
    return Requests("Query", [to_dynamodb_json(each.request()) for each in sent])


def _limited(requests: Requests, wanted: PathRequest) -> list[dict[str, Any]]:
    own: dict[str, Any] = {"ReturnConsumedCapacity": "TOTAL"}
    if requests.operation == "Query":
        own |= {"Limit": wanted.first, **({"ScanIndexForward": False} if wanted.descending else {})}
    return [{**each, **own} for each in requests.each]


def _start(after: Any) -> dict[str, Any]:
    return {} if after is None else {"ExclusiveStartKey": after}


def _places(after: Any, shards: int) -> list[Place]:
    if after is None:
        return [Place(shard) for shard in range(shards)]
    try:
        places = msgspec.convert(after, list[Place])
    except msgspec.ValidationError as error:
        raise invalid(f"after is not a cursor of this path: {error}") from None
    if any(not 0 <= each.shard < shards for each in places):
        raise invalid("after is not a cursor of this path.")
    return places


def _order(item: Item, names: Sequence[str]) -> tuple[Any, ...]:
    """By which DynamoDB sorts: text by its bytes, numbers by their value."""
    return tuple(_ordered(item[name]) for name in names if name in item)


def _ordered(value: Mapping[str, Any]) -> Any:
    ((tag, content),) = value.items()
    return Decimal(content) if tag == "N" else content.encode()
