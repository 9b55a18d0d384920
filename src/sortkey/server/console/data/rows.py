"""Rows as the page shows them: as stored, typed by their class, and with a mark that stands for their content.

The mark, `seen`, is a hash of the row. An edit sends it back, so what was shown need not be sent back whole, and an
edit of a row that changed meanwhile is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final

import msgspec
import orjson

from sortkey.client.boto3_shapes import convert_member
from sortkey.model.errors import DecodeError
from sortkey.model.fields.field_texts import text_of
from sortkey.model.items.schema import Schema
from sortkey.model.items.table import Table
from sortkey.server.console.routes import Item, Key, Message
from sortkey.values.size import item_size

_SETS: Final = ("SS", "NS", "BS")


class Row(Message):
    item: Item
    key: Key
    bytes: int
    class_: str | None = msgspec.field(name="class")
    fields: dict[str, str] | None
    problem: str | None
    partial: bool
    seen: str | None


class RowMaker:
    """Of the rows of one table, or of one of its indexes."""

    def __init__(self, key: Iterable[str], table: Table | None, partial: bool) -> None:
        self._key = tuple(key)
        self._table = table
        self._partial = partial

    def row(self, item: Item) -> Row:
        schema, fields, problem = self.typed(item)
        return Row(
            item,
            self.key(item),
            item_size(item),
            schema,
            fields,
            problem,
            self._partial,
            None if self._partial else seen(item),
        )

    def key(self, item: Item) -> Key:
        return {name: item[name] for name in self._key if name in item}

    def typed(self, item: Item) -> tuple[str | None, dict[str, str] | None, str | None]:
        """Class, fields as text, and why the class cannot read it."""
        if self._table is None:
            return None, None, None
        row = convert_member("", item)
        try:
            schema = self._table.schema_of(row)
            if schema is None:
                return None, None, None
            if self._partial:
                return schema.name, _held(schema, row), None
            decoded = schema.decode(row)
        except DecodeError as error:
            return None if schema is None else schema.name, None, str(error)
        return schema.name, shown(decoded), None


def _held(schema: Schema[Any], row: Item) -> dict[str, str]:
    """The fields that the key of a part of a row tells."""
    return {name: text_of(value) for name, value in (schema.primary.parse(row) or {}).items()}


def shown(decoded: Any) -> dict[str, str]:
    """The fields of an item as text. What its class does not declare is in the row."""
    return {name: text_of(getattr(decoded, name)) for name in decoded.__struct_fields__}


def seen(item: Item) -> str:
    """Equal for equal items, in whatever order a store sends their attributes and the elements of their sets."""
    return blake2b(orjson.dumps(_ordered(item), option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(each) for each in value]
    if isinstance(value, dict):
        return {
            name: sorted(inner) if name in _SETS and isinstance(inner, list) else _ordered(inner)
            for name, inner in value.items()
        }
    return value
