"""`only=`: which fields of the items a read returns.

The store then sends only their attributes, and the keys. Where the program needs more of a row, the store sends whole
rows: to upgrade those of an older version, to read those of a subclass that declares a field otherwise, and for a
filter that the store cannot judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from sortkey.model.changes.places import reject_foreign
from sortkey.model.changes.typed_field import F, FieldName
from sortkey.model.errors import NoAccessPath, unknown_field
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import schema_of
from sortkey.model.items.partial_item import decode_only, leave_only, only_reader
from sortkey.model.items.row_reader import RowReader
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema


class OnlyFields:
    def __init__(self, path: AccessPath[Any], only: Iterable[FieldName], *, needs_rows: bool = False) -> None:
        """Raises for what are not fields of the path's class, and for a path that has other items than whole ones of
        its class. With `needs_rows`, the store sends whole rows."""
        if isinstance(only, str | F):
            raise TypeError(f"only= takes a list of fields: only=[{only!r}]")
        if path.collection:
            raise NoAccessPath(f"{path!r} has items of several classes; only= works on one class")
        if path.layout.projection != "ALL":
            raise NoAccessPath(f"{path!r}: {path.layout.index} does not have whole items, so only= has no use there")
        self._path = path
        self._schema: Schema[Any] = path.schema
        self._fields = frozenset(field.name if isinstance(field, F) else field for field in only)
        known = self._schema.codec.by_name
        for name in sorted(self._fields):
            reject_foreign(name, self._schema)
            if name not in known:
                raise unknown_field(self._schema.name, name, known)
        self.needs_rows = needs_rows or self._schema.version > 1 or self._schema.exclusive_tags is not None

    def added_to(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with its projection."""
        if self.needs_rows:
            return dict(request)
        names = {f"#o{number}": name for number, name in enumerate(self._attributes)}
        return {
            **request,
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": {**request.get("ExpressionAttributeNames", {}), **names},
        }

    @cached_property
    def reader(self) -> RowReader[Any] | None:
        """For what was read of rows, unless they are whole; None if only `decode` reads it."""
        return only_reader(self._schema, self._fields, frozenset(self._attributes))

    @cached_property
    def _attributes(self) -> list[str]:
        """Those of the fields, of the path's keys, and of other keys that hold one of the fields: a row may have it
        there only. The version tells whether this program can read the row."""
        schema = self._schema
        keys = [*self._path.primary.attributes, *self._path.layout.attributes]
        for layout in schema.all_indexes:
            if not self._fields.isdisjoint(layout.fields):
                keys += layout.attributes
        stored = [schema.codec.by_name[name].attribute for name in sorted(self._fields - schema.codec.in_key)]
        tag = [] if schema.family is None else [schema.family.attribute]
        return list(dict.fromkeys([*(part.name for part in keys), VERSION_ATTRIBUTE, *tag, *stored]))

    def decode(self, row: Row) -> Any | None:
        """What was read of the item; None for a row of another class."""
        if not self._schema.recognises(row):
            return None
        if self.needs_rows:
            return self._schema.decode(row)
        return decode_only(self._schema.of_row(row), self._fields, row)

    def shown(self, item: Any) -> Any:
        """The partial item of a decoded one."""
        return leave_only(schema_of(type(item)), self._fields, item) if self.needs_rows else item
