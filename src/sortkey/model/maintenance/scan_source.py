"""What a scan reads, and what it makes of the rows: the items of a class or of its index, those of all classes of a
table, or the rows. `estimate` says what the scan will cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import orjson

from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.create_tables import require_description
from sortkey.model.calls.item_decoder import (
    Decoded,
    ItemTest,
    Undecodable,
    decode_class_items,
    decode_index_items,
    decode_rows,
)
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.changes.query_filter import RowFilter
from sortkey.model.costs import explain
from sortkey.model.errors import DeclarationError, NoAccessPath
from sortkey.model.fields.codec import Row
from sortkey.model.items.item import Item
from sortkey.model.items.key import BoundKey
from sortkey.model.items.schema import Schema
from sortkey.model.items.table import Table
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.values.size import read_units

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ScanSource(Generic[T]):
    scanned: str
    """What is scanned, for messages and cursors."""
    name: str
    """What the meter counts it under."""
    schema: Schema[Any]
    """The class's, or one of the table's."""
    request: dict[str, Any]
    decode: Callable[[Unparsed], Decoded]
    accepts: ItemTest | None = None
    """The test of `where` on items; None if the store's filter is enough."""
    index: KeyLayout | None = None
    """The index that is scanned; None for the table."""

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes of a position: those of the table's primary key, and of the index."""
        parts = (*self.schema.primary.attributes, *(() if self.index is None else self.index.attributes))
        return tuple(dict.fromkeys(part.name for part in parts))

    def with_decoder(self, decode: Callable[[Unparsed], Decoded]) -> ScanSource[Any]:
        """The same rows, made into something else."""
        return replace(self, decode=decode)

    def position(self, row: Any) -> Row:
        """The key of one of the decoded rows."""
        attributes = row if isinstance(row, dict) else self.schema.reader.key_attributes(row)
        return {name: attributes[name] for name in self.key}


Scannable = type[Item] | BoundKey[Any] | Table


def source_of(
    context: Context, scanned: Scannable, where: Where | None, consistent: bool, undecodable: Undecodable
) -> ScanSource[Any]:
    if undecodable not in ("raise", "skip"):
        raise ValueError(f"undecodable must be 'raise' or 'skip', not {undecodable!r}")
    if isinstance(scanned, Table):
        if not requires_nothing(where):
            raise NoAccessPath(f"table {scanned.name} has items of several classes; where works on one class only")
        return _table_source(scanned, consistent, undecodable)
    if isinstance(scanned, BoundKey) and scanned.layout.index is not None:
        schema = context.schema(scanned.schema.owner)
        return _index_source(schema, schema.layouts[scanned.layout.name], where, consistent, undecodable)
    return _class_source(context.schema(_required_class(scanned)), where, consistent, undecodable)


def _required_class(given: object) -> type[Item]:
    if isinstance(given, type) and issubclass(given, Item):
        return given
    raise TypeError(
        f"expected a class, an index or a table to scan, such as Order or Order.by_day, not {given!r}; iterate takes "
        f"paths"
    )


def rows_source(table: Table | type[Item], consistent: bool) -> ScanSource[Row]:
    """The rows of a table, in boto3 shape, whatever they are."""
    owner = table if isinstance(table, Table) else getattr(table, "__table__", None)
    if not isinstance(owner, Table):
        raise TypeError(f"expected a table, or a class of it, not {table!r}")

    def decode(stored: Unparsed) -> Decoded:
        rows = stored.parsed()
        return Decoded(rows, rows)

    return ScanSource(owner.name, f"scan {owner.name}", _any_schema(owner), _request(owner.name, consistent), decode)


def _table_source(table: Table, consistent: bool, undecodable: Undecodable) -> ScanSource[Item]:
    schema = _any_schema(table)

    def decode(stored: Unparsed) -> Decoded:
        return decode_rows(schema, stored.parsed(), table.decode, undecodable)

    return ScanSource(table.name, f"scan {table.name}", schema, _request(table.name, consistent), decode)


def _any_schema(table: Table) -> Schema[Any]:
    if not table.schemas:
        raise DeclarationError(f"table {table.name} has no classes, so its keys are not known")
    return table.schemas[0]


def _class_source(
    schema: Schema[Any], where: Where | None, consistent: bool, undecodable: Undecodable
) -> ScanSource[Any]:
    wanted = None if where is None or requires_nothing(where) else RowFilter(schema, where, {})
    placeholders = Placeholders()
    tests = [*_key_tests(schema, placeholders)]
    filtered = None if wanted is None else wanted.expression(placeholders)
    if filtered is not None:
        tests.append(filtered)
    request = _request(schema.table, consistent)
    if tests:
        request = placeholders.added_to({**request, "FilterExpression": all_of(tests)})

    accepts = None if wanted is None else wanted.accepts

    def decode(stored: Unparsed) -> Decoded:
        found = decode_class_items(schema, stored, undecodable)
        return found if accepts is None else found.accepted(accepts)

    return ScanSource(f"{schema.table}: {schema.name}", f"scan {schema.name}", schema, request, decode, accepts)


def _index_source(
    schema: Schema[Any], layout: KeyLayout, where: Where | None, consistent: bool, undecodable: Undecodable
) -> ScanSource[Any]:
    """The items of a class that are in one of its indexes; partial ones if the index does not have whole items."""
    if consistent and not layout.local:
        raise ValueError(f"{schema.name}.{layout.name} is a global index, which has no consistent reads")
    of_class = _class_source(schema, where, consistent, undecodable)
    source = replace(
        of_class,
        scanned=f"{of_class.scanned}.{layout.name}",
        name=f"{of_class.name}.{layout.name}",
        request={**of_class.request, "IndexName": layout.index},
        index=layout,
    )
    if layout.projection == "ALL":
        return source
    if not requires_nothing(where):
        raise NoAccessPath(f"{schema.name}.{layout.name} does not have whole items, so a scan of it takes no where")
    return source.with_decoder(lambda stored: decode_index_items(schema, str(layout.index), stored, undecodable))


def _key_tests(schema: Schema[Any], placeholders: Placeholders) -> Iterator[str]:
    """The tests that a key begins as those of the class do: rows of other classes need not be sent."""
    for part in schema.primary.attributes:
        condition = part.prefix([])
        if condition is not None:
            name, value = placeholders.name(part.name), placeholders.value(condition.values[0])
            yield f"{name} = {value}" if condition.operator == "=" else f"begins_with({name}, {value})"


def _request(table: str, consistent: bool) -> dict[str, Any]:
    return {"TableName": table, "ConsistentRead": True} if consistent else {"TableName": table}


@dataclass(frozen=True, slots=True)
class ScanEstimate:
    """The expected cost of one scan. A filter does not make it cheaper, and segments do not make it dearer."""

    scanned: str
    request: dict[str, Any]
    rows: int
    """The rows of the table or the index, of every class; DynamoDB counts them about every six hours."""
    table_bytes: int
    units: float

    @property
    def dollars(self) -> float:
        """The price of the scan: on demand, in us-east-1."""
        return explain.read_dollars_per_million(self.units) / 1_000_000

    def __str__(self) -> str:
        request = orjson.dumps(self.request, default=repr, option=orjson.OPT_INDENT_2).decode()
        return "\n".join(
            [
                f"scan of {self.scanned}",
                f"Scan {request}",
                f"rows      {self.rows:,}, together {self.table_bytes:,} bytes (as of DescribeTable: up to six hours "
                f"old on DynamoDB)",
                f"capacity  {self.units:,g} read units",
                f"cost      ${self.dollars:,.6f} (list price, {explain.REGION}, since {explain.AS_OF})",
            ]
        )


def estimate(context: Context, source: ScanSource[Any]) -> Steps[ScanEstimate]:
    description = yield from require_description(context, source.schema.table)
    rows, size = description["ItemCount"], description["TableSizeBytes"]
    if source.index is not None:
        indexes = [*description.get("GlobalSecondaryIndexes", []), *description.get("LocalSecondaryIndexes", [])]
        (index,) = (each for each in indexes if each["IndexName"] == source.index.index)
        rows, size = index["ItemCount"], index["IndexSizeBytes"]
    units = read_units(size, "ConsistentRead" in source.request)
    return ScanEstimate(source.scanned, source.request, rows, size, units)
