"""Explains an access path: its request, its index and its expected cost.

The number and size of rows are given by the caller, taken from sample items or from what the session has measured on
the path, or guessed; the explanation names the source. A session measures rows and capacity units, not bytes: units are
rounded up, so the size of a measured row, and the units computed from it, are upper bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from sortkey.client.boto3_shapes import to_dynamodb_json
from sortkey.model.costs.meter import Reading
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.html_table import html_table
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.stamps import computed_item
from sortkey.values.size import READ_UNIT_BYTES, item_size, read_units

# Capacity prices: AWS's list prices for on-demand tables in us-east-1 (N. Virginia), standard class, in US dollars
# without tax, since 1 November 2024, when they were halved. Other regions cost up to twice as much. The source is
# https://aws.amazon.com/dynamodb/pricing/on-demand/, where the prices depend on the selected region. In November 2026
# they were compared with quotes on several public pages of 2025 and 2026, which agreed, except that one page still had
# the old price of a read.
AS_OF: Final = "2024-11-01"
REGION: Final = "us-east-1"
DOLLARS_PER_MILLION_READ_UNITS: Final = 0.125
DOLLARS_PER_MILLION_WRITE_UNITS: Final = 0.625


def read_dollars_per_million(units: float) -> float:
    """The price of a million requests with this many read units each."""
    return units * DOLLARS_PER_MILLION_READ_UNITS


def write_dollars_per_million(units: float) -> float:
    return units * DOLLARS_PER_MILLION_WRITE_UNITS


GUESSED_ROWS: Final = 50
GUESSED_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class Explanation:
    """The request of an access path and its expected cost. Printed, it is a text."""

    path: str
    operation: str
    request: dict[str, Any]
    index: str | None
    """DynamoDB's name of the index; None for the table itself."""
    rows: int
    """Rows read."""
    row_bytes: int
    units: float
    source: str
    """Where `rows` and `row_bytes` come from."""
    at_most: bool = False
    """Whether `row_bytes` and `units` are upper bounds."""
    requests: int = 1
    """How many requests are sent: one to each shard. `request` is the first of them, the figures are of all."""

    @property
    def dollars_per_million(self) -> float:
        """The price of a million such calls: on demand, in us-east-1."""
        return read_dollars_per_million(self.units)

    def __str__(self) -> str:
        lines = (f"{name:8}  {text}" for name, text in self._figures.items())
        return "\n".join([self.path, f"{self.operation} {self._request_text}", *lines])

    def _repr_html_(self) -> str:
        figures = [*self._figures.items(), ("request", self.operation)]
        return f"{html_table(self.path, (), figures)}<pre>{escape(self._request_text)}</pre>"

    @property
    def _request_text(self) -> str:
        return orjson.dumps(self.request, default=repr, option=orjson.OPT_INDENT_2).decode()

    @property
    def _figures(self) -> dict[str, str]:
        bound = "at most " if self.at_most else ""
        price = f"(list price, {REGION}, since {AS_OF})"
        shards = {"requests": f"{self.requests:,}, one to each shard"} if self.requests > 1 else {}
        return {
            "index": self.index or "none: the table itself",
            **shards,
            "rows": f"{self.rows:,} of {bound}{self.row_bytes:,} bytes ({self.source})",
            "capacity": f"{bound}{self.units:g} read units",
            "cost": f"{bound}${self.dollars_per_million:,.2f} a million {price}",
        }


def explain(
    path: AccessPath[Any],
    measured: Reading | None = None,
    *,
    rows: int | None = None,
    row_bytes: int | None = None,
    sample: Sequence[Item] = (),
    consistent: bool = False,
) -> Explanation:
    operation = "GetItem" if path.is_exact else "Query"
    shards = path.layout.sharding.numbers if path.layout.sharding is not None and path.is_sharded else ()
    sent = msgspec.structs.replace(path, equal=path.equal_in_shard(shards[0])) if shards else path
    request: dict[str, Any] = {"TableName": path.table, "Key": path.key()} if path.is_exact else sent.request()
    if consistent:
        request["ConsistentRead"] = True
    requests = len(shards) or 1
    expected = _expectation(path, measured, rows, row_bytes, sample, requests)
    read = 1 if path.is_exact else expected.rows
    units = requests * read_units(ceil(read / requests) * expected.row_bytes, consistent)
    return Explanation(
        repr(path), operation, request, path.layout.index, read, expected.row_bytes, units, *expected[2:], requests
    )


class _Expectation(NamedTuple):
    rows: int
    row_bytes: int
    source: str
    at_most: bool = False


def _expectation(
    path: AccessPath[Any],
    measured: Reading | None,
    rows: int | None,
    row_bytes: int | None,
    sample: Sequence[Item],
    requests: int,
) -> _Expectation:
    if rows is not None and row_bytes is not None:
        return _Expectation(rows, row_bytes, "as given")
    if sample:
        size = sum(size_of(item) for item in sample) // len(sample)
        return _Expectation(rows or len(sample), row_bytes or size, f"sample of {len(sample)}")
    if measured is not None and measured.rows_read:
        calls = max(1, measured.calls // requests)
        per_call = max(1, round(measured.rows_read / calls))
        source = f"measured over {calls:,} {'call' if calls == 1 else 'calls'}"
        if row_bytes is not None:
            return _Expectation(rows or per_call, row_bytes, f"{source}; bytes as given")
        # A store that does not report consumed capacity leaves the size unknown.
        bound = int(measured.blocks_read * READ_UNIT_BYTES / measured.rows_read)
        if not bound:
            return _Expectation(rows or per_call, GUESSED_BYTES, f"{source}; bytes are a guess")
        return _Expectation(rows or per_call, bound, f"{source}; average bytes from the capacity units", at_most=True)
    return _Expectation(rows or (1 if path.is_exact else GUESSED_ROWS), row_bytes or GUESSED_BYTES, "a guess")


def size_of(item: Item) -> int:
    """The item's size as DynamoDB counts it, with its key attributes."""
    schema = schema_of(type(item))
    return item_size(to_dynamodb_json(schema.encode(computed_item(schema.computed, item) if schema.computed else item)))
