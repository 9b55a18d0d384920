"""`sk.read`: items from rows that did not come through a session.

    {"pk": "ORDER#7", "total": Decimal(3)}                  of boto3's Table resource
    {"pk": {"S": "ORDER#7"}, "total": {"N": "3"}}           of boto3's low-level client, binary as bytes
    {"pk": {"S": "ORDER#7"}, "photo": {"B": "iVBORw0="}}    DynamoDB JSON: binary as base64 text

Key attributes are never maps, so they tell the first form from the others.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, overload

from sortkey.model.calls.skipped_rows import advice, key_text
from sortkey.model.errors import DeclarationError, DecodeError
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.fields.untyped_values import from_untyped
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.schema import Schema
from sortkey.model.items.table import Table

ItemT = TypeVar("ItemT", bound=Item)

_PLAIN_TAGS: Final = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})


@overload
def read(row: Mapping[str, Any], of: type[ItemT]) -> ItemT: ...


@overload
def read(row: Mapping[str, Any], of: Table) -> Item: ...


def read(row: Mapping[str, Any], of: type[ItemT] | Table) -> Item:
    """The item of a row that came from elsewhere: from boto3, an export, or the image of a stream record. `of` is its
    class, or its table, whose classes are told apart by their keys. Raises DecodeError, which names the key."""
    item: Item = RawRowReader(of).item(row)
    return item


class RawRowReader:
    """Reads rows of a class, or of a table."""

    def __init__(self, of: type[Item] | Table) -> None:
        self._schema: Schema[Any] | None = None
        if isinstance(of, Table):
            self._table = of
            if not of.schemas:
                raise DeclarationError(f"table {of.name} has no classes, so its rows cannot be read")
        else:
            _require_class(of)
            self._schema = schema_of(of)
            self._table = of.__table__
        self._any = self._schema or self._table.schemas[0]
        self._key = tuple(part.name for part in self._any.primary.attributes)

    def item(self, given: Mapping[str, Any]) -> Any:
        row = self.row(given)
        schema = self._table.schema_of(row)
        if schema is None:
            raise self._error(row, f"no class of table {self._table.name} recognises it; {advice(self._any, row)}")
        if self._schema is not None and not self._schema.recognises(row):
            raise self._error(row, f"it is of the class {schema.name}, not {self._any.name}")
        return self._decoded(schema, row)

    def own_item(self, row: Row) -> Any | None:
        """The item of a row in boto3's low-level shape; None if it is not of the class, or of no class of the table."""
        schema = self._schema or self._table.schema_of(row)
        if schema is None or (self._schema is not None and not schema.recognises(row)):
            return None
        return self._decoded(schema, row)

    def _decoded(self, schema: Schema[Any], row: Row) -> Any:
        try:
            return schema.decode(row)
        except DeclarationError:
            raise
        except Exception as error:
            # An upgrade, which is the program's own, may raise anything.
            raise self._error(row, _reason(error)) from error

    def recognises(self, row: Row) -> bool:
        """Whether a row in boto3's low-level shape is of the class, or of a class of the table."""
        return self._table.recognises(row) if self._schema is None else self._schema.recognises(row)

    def row(self, given: Mapping[str, Any]) -> Row:
        """In boto3's low-level shape."""
        lacking = _lacking(given, self._key)
        if lacking:
            raise DecodeError(
                f"a row of table {self._table.name} has the key attributes {', '.join(self._key)}; this one lacks "
                f"{', '.join(lacking)}: {given!r}"
            )
        convert: Callable[[Any], Value] = _of_json if isinstance(given[self._key[0]], Mapping) else _of_resource
        row: Row = {}
        for name, value in given.items():
            try:
                row[name] = convert(value)
            except (AttributeError, TypeError, ValueError) as error:
                shown = ", ".join(f"{each}={given[each]!r}" for each in self._key)
                raise DecodeError(
                    f"{name} is not an attribute value: {error}; this is the row of table {self._table.name} with the "
                    f"key {shown}"
                ) from error
        return row

    def _error(self, row: Row, reason: str) -> DecodeError:
        key = {name: row[name] for name in self._key}
        return DecodeError(
            f"the row of table {self._table.name} with the key {key_text(self._any, row)} cannot be read: {reason}",
            key=key,
        )


def _lacking(given: object, key: Sequence[str]) -> list[str]:
    return [name for name in key if not isinstance(given, Mapping) or name not in given]


def _require_class(given: object) -> None:
    if not isinstance(given, type) or not issubclass(given, Item):
        raise TypeError(f"expected the row's class or table, such as Order, not {given!r}")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, DecodeError) else f"{type(error).__name__}: {error}"


def _of_json(value: Any) -> Value:
    """An attribute value with its tag; binary may be base64 text."""
    if len(value) != 1:
        raise ValueError(f"{value!r} has not exactly one type")
    ((tag, content),) = value.items()
    if tag in _PLAIN_TAGS:
        return {tag: content}
    if tag == "B":
        return {tag: _binary(content)}
    if tag == "BS":
        return {tag: [_binary(each) for each in content]}
    if tag == "L":
        return {tag: [_of_json(each) for each in content]}
    if tag == "M":
        return {tag: {name: _of_json(each) for name, each in content.items()}}
    raise ValueError(f"{tag!r} is not a type")


def _binary(content: Any) -> bytes:
    return b64decode(content, validate=True) if isinstance(content, str) else bytes(content)


def _of_resource(value: Any) -> Value:
    """A Python value, as boto3's Table resource has it; its `Binary` holds bytes."""
    return from_untyped(_without_binary_objects(value))


def _without_binary_objects(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_binary_objects(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_binary_objects(each) for each in value]
    if isinstance(value, set):
        return {_without_binary_objects(each) for each in value}
    if isinstance(value, bytearray):
        return bytes(value)
    content = getattr(value, "value", None)
    return bytes(content) if isinstance(content, bytes | bytearray) else value
