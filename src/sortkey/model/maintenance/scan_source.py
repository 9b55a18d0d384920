"""What a scan reads, and what it makes of the rows: the items of a class, of all classes of a table, or the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.changes.combination import Where, requires_nothing
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.changes.requirements import Requirement
from sortkey.model.errors import DeclarationError, NoAccessPath
from sortkey.model.items.codec import Row
from sortkey.model.items.item import Item
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema
from sortkey.model.sessions.item_decoder import Decoded, ItemTest, Undecodable, decode_class_items, decode_rows
from sortkey.model.sessions.steps import Context
from sortkey.model.tables.table import Table

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

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes of the table's primary key."""
        return tuple(part.name for part in self.schema.primary.attributes)

    def with_decoder(self, decode: Callable[[Unparsed], Decoded]) -> ScanSource[Any]:
        """The same rows, made into something else."""
        return replace(self, decode=decode)

    def position(self, row: Any) -> Row:
        """The key of one of the decoded rows."""
        attributes = row if isinstance(row, dict) else self.schema.reader.key_attributes(row)
        return {name: attributes[name] for name in self.key}


def source_of(
    context: Context, scanned: type[Item] | Table, where: Where | None, consistent: bool, undecodable: Undecodable
) -> ScanSource[Any]:
    if undecodable not in ("raise", "skip"):
        raise ValueError(f"undecodable must be 'raise' or 'skip', not {undecodable!r}")
    if isinstance(scanned, Table):
        if not requires_nothing(where):
            raise NoAccessPath(f"table {scanned.name} has items of several classes; where works on one class only")
        return _table_source(scanned, consistent, undecodable)
    _require_class(scanned)
    return _class_source(context.schema(scanned), where, consistent, undecodable)


def _require_class(given: object) -> None:
    if not isinstance(given, type) or not issubclass(given, Item):
        raise TypeError(f"expected a class or a table to scan, such as Order, not {given!r}; iterate takes paths")


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
    required = None if requires_nothing(where) else Requirement(schema, where, {})
    placeholders = Placeholders()
    tests = [*_key_tests(schema, placeholders), *_field_tests(schema, required, placeholders)]
    request = _request(schema.table, consistent)
    if tests:
        request = placeholders.added_to({**request, "FilterExpression": all_of(tests)})

    accepts = None if required is None or _is_exact(schema, required) else required.accepts

    def decode(stored: Unparsed) -> Decoded:
        found = decode_class_items(schema, stored, undecodable)
        return found if accepts is None else found.accepted(accepts)

    return ScanSource(f"{schema.table}: {schema.name}", f"scan {schema.name}", schema, request, decode, accepts)


def _is_exact(schema: Schema[Any], required: Requirement) -> bool:
    """Whether the store drops all rows that do not match."""
    return schema.version == 1 and all(leaf.is_exact for leaf in required.leaves)


def _key_tests(schema: Schema[Any], placeholders: Placeholders) -> Iterator[str]:
    """The tests that a key begins as those of the class do: rows of other classes need not be sent."""
    for part in schema.primary.attributes:
        condition = part.prefix([])
        if condition is not None:
            name, value = placeholders.name(part.name), placeholders.value(condition.values[0])
            yield f"{name} = {value}" if condition.operator == "=" else f"begins_with({name}, {value})"


def _field_tests(schema: Schema[Any], required: Requirement | None, placeholders: Placeholders) -> Iterator[str]:
    """The tests of the store, which let pass what only the program can tell."""
    if required is None:
        return
    tests = required.render(lambda leaf: leaf.render(True, placeholders))
    if schema.version == 1:
        yield tests
    else:
        current = placeholders.value(schema.version_mark[1])
        yield any_of(f"{placeholders.name(VERSION_ATTRIBUTE)} <> {current}", tests)


def _request(table: str, consistent: bool) -> dict[str, Any]:
    return {"TableName": table, "ConsistentRead": True} if consistent else {"TableName": table}
