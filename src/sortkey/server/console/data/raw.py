"""Requests as DynamoDB takes them: one item, Query, Scan, and SELECTs; and what they cost before they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sortkey.client.statements import meaning_in
from sortkey.errors import ValidationException
from sortkey.expressions.partiql_parser import parse_statement
from sortkey.expressions.partiql_requests import StandsFor
from sortkey.expressions.partiql_tree import Select, Statement
from sortkey.limits import PAGE_BYTES
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.data.paths import PAGE_ROWS, Estimate, Page, dollars_of, units_of
from sortkey.server.console.data.rows import Row, RowMaker
from sortkey.server.console.data.tables import Description, TableBook
from sortkey.server.console.routes import Body, Key, Message, Route, Routes, invalid, missing
from sortkey.server.console.store import StoreRequests
from sortkey.values.size import read_units

STATEMENT: Final = "ExecuteStatement"
READS: Final = ("Query", "Scan", "GetItem", STATEMENT)
FIRST: Final = 50
"""Rows of a page, unless the request says so itself."""
GUESSED_BYTES: Final = 512
_MILLION: Final = 1_000_000
_PARTS: Final = frozenset({"ProjectionExpression", "AttributesToGet", "Select"})
"""Members that leave attributes out."""


class ItemRequest(Body):
    table: str
    key: Key


class ItemAnswer(Message):
    row: Row | None
    units: float
    dollars: float


class RawRequest(Body):
    operation: str
    request: dict[str, Any]


class Price(Message):
    whole: Estimate
    page: Estimate
    pages: int


class RawRequests:
    def __init__(self, store: StoreRequests, declared: Declared, tables: TableBook) -> None:
        self._store = store
        self._declared = declared
        self._tables = tables

    def routes(self) -> Routes:
        return {
            "item": Route(ItemRequest, self.item),
            "price": Route(RawRequest, self.price),
            "run": Route(RawRequest, self.run),
        }

    async def item(self, viewer: Viewer, wanted: ItemRequest) -> ItemAnswer:
        members = {"TableName": wanted.table, "Key": wanted.key, "ReturnConsumedCapacity": "TOTAL"}
        answer = await self._store.call(viewer, "GetItem", members)
        units = units_of(answer)
        item = answer.get("Item")
        maker = self.maker(await self._tables.describe(wanted.table), wanted.table)
        return ItemAnswer(None if item is None else maker.row(item), units, dollars_of(units))

    def maker(
        self, description: Description, table: str, request: Mapping[str, Any] = MappingProxyType({})
    ) -> RowMaker:
        partial = description.is_partial(request.get("IndexName")) or not _PARTS.isdisjoint(request)
        return RowMaker(description.key_names, self._declared.tables.get(table), partial)

    async def price(self, viewer: Viewer, wanted: RawRequest) -> Price:
        checked = _checked(wanted)
        if not viewer.sees(checked.table):
            raise missing(f"There is no table {checked.table}.")
        description = await self._tables.describe(checked.table)
        operation, request, requests = checked.operation, checked.request, 1
        if checked.statement is not None:
            operation, request, requests = _meaning(description, checked.statement, request)
        index = request.get("IndexName")
        row_bytes = description.row_bytes(index) or GUESSED_BYTES
        known = bool(description.row_bytes(index))
        rows = requests if operation == "GetItem" else description.rows(index)
        source = "the table's size and number of items" if known else "a guess: nothing is known of its rows"
        at_most = operation == "Query"
        if at_most:
            source += "; the whole table's, since nothing tells how many rows the partition has"
        consistent = bool(checked.request.get("ConsistentRead"))
        limit = checked.request.get("Limit")
        of_page = rows if limit is None else min(rows, limit, max(1, PAGE_BYTES // row_bytes))
        pages = max(1, ceil(rows / max(1, of_page)))
        return Price(
            _estimate(rows, row_bytes, consistent, source, at_most),
            _estimate(of_page, row_bytes, consistent, source, at_most),
            pages,
        )

    async def run(self, viewer: Viewer, wanted: RawRequest) -> Page:
        checked = _checked(wanted)
        began = perf_counter()
        answer = await self._store.call(viewer, checked.operation, checked.request)
        seconds = perf_counter() - began
        description = await self._tables.describe(checked.table)
        maker = self.maker(description, checked.table, checked.shape)
        items = answer.get("Items", [answer["Item"]] if "Item" in answer else [])
        units = units_of(answer)
        return Page(
            [maker.row(item) for item in items],
            checked.operation,
            checked.request,
            1,
            answer.get("ScannedCount", len(items)),
            units,
            dollars_of(units),
            seconds,
            answer.get("LastEvaluatedKey") if checked.statement is None else answer.get("NextToken"),
        )


class _Checked(NamedTuple):
    operation: str
    table: str
    request: dict[str, Any]
    """With a limit, and its capacity."""
    statement: Statement | None = None

    @property
    def shape(self) -> dict[str, Any]:
        """What tells which attributes the rows have, as in a Query."""
        if self.statement is None or not isinstance(self.statement.body, Select):
            return self.request
        body = self.statement.body
        parts = {} if body.paths is None else {"ProjectionExpression": self.statement.text}
        return parts if body.index is None else {**parts, "IndexName": body.index}


def _checked(wanted: RawRequest) -> _Checked:
    if wanted.operation not in READS:
        raise invalid(f"{wanted.operation!r} is not one of {', '.join(READS)}.")
    request = {**wanted.request, "ReturnConsumedCapacity": "TOTAL"}
    statement = None
    if wanted.operation == STATEMENT:
        statement = _select(request.get("Statement"))
    table = request.get("TableName") if statement is None else statement.table
    if not isinstance(table, str) or table.startswith("arn:"):
        raise invalid("The request names no table: TableName.")
    if wanted.operation != "GetItem":
        limit = request.setdefault("Limit", FIRST)
        if not isinstance(limit, int) or not 1 <= limit <= PAGE_ROWS:
            raise invalid(f"Limit is from 1 to {PAGE_ROWS:,}, not {limit!r}.")
    return _Checked(wanted.operation, table, request, statement)


def _select(text: object) -> Statement:
    if not isinstance(text, str):
        raise invalid("The request has no Statement.")
    try:
        statement = parse_statement(text)
    except ValidationException as error:
        raise invalid(error.message) from None
    if not isinstance(statement.body, Select):
        raise invalid("Only SELECT runs here. Rows are edited where they are shown.")
    return statement


def _meaning(description: Description, statement: Statement, request: Mapping[str, Any]) -> StandsFor:
    try:
        return meaning_in(description.table, statement, request.get("Parameters", []))
    except ValidationException as error:
        raise invalid(error.message) from None


def _estimate(rows: int, row_bytes: int, consistent: bool, source: str, at_most: bool) -> Estimate:
    units = read_units(rows * row_bytes, consistent)
    dollars = dollars_of(units)
    return Estimate(rows, row_bytes, units, dollars, dollars * _MILLION, source, at_most)
