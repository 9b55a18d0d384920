"""A vector index as the operations see it: which items are in it, and what writes to its attributes must satisfy.

The index is sparse: an item without the vector, or without the HASH attribute of the search schema, is not in it. A
write of an attribute in another form is rejected. So only items that are older than the index can have one, and the
backfill leaves them out.

AWS's messages for these rejections end their first sentence with a stop where others have a colon.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Container
from struct import Struct
from typing import Any, Final

import orjson

from sortkey.engine.rows.catalog_entries import TableEntry, VectorIndexEntry
from sortkey.engine.rows.records import PARTITION_BYTES, space_bytes
from sortkey.errors import ValidationException
from sortkey.expressions import KeyAttribute
from sortkey.limits import PARTITION_KEY_BYTES
from sortkey.values import number
from sortkey.values.attribute import AttributeValue, Item, type_of
from sortkey.values.key_bytes import partition_hash
from sortkey.values.size import value_size

NO_PARTITION: Final = bytes(PARTITION_BYTES)
"""The partition of all rows of an index without a HASH attribute."""

LARGEST: Final = 3.4028234663852886e38
"""Of a 32-bit floating point number."""

_LARGEST_DIGITS: Final = 39

_INVALID: Final = "One or more parameter values were invalid. "
_FLOAT: Final = Struct("<f")
_is_decimal = re.compile(r"[-.0-9,]*+").fullmatch
_DIGITS: Final = range(6, 10)
"""Nine digits distinguish all 32-bit floating point numbers; most need fewer."""


class VectorIndex:
    __slots__ = (
        "_filled_to",
        "_pack",
        "attribute",
        "dimensions",
        "entry",
        "filters",
        "kept",
        "log",
        "name",
        "partition",
        "projects_vector",
        "schema",
        "space",
        "vector_bytes",
    )

    def __init__(self, entry: VectorIndexEntry, table: TableEntry) -> None:
        self.entry = entry
        self.name = entry.name
        self.space = space_bytes(entry.space)
        self.log = space_bytes(entry.log)
        self.attribute = entry.attribute
        self.dimensions = entry.dimensions
        self.vector_bytes = 4 * entry.dimensions
        self._pack = Struct(f"<{entry.dimensions}f").pack
        types = table.attributes
        self.partition = None if entry.partition is None else KeyAttribute(entry.partition, types[entry.partition])
        self.filters = tuple(KeyAttribute(name, types[name]) for name in entry.filters)
        self.schema = {name: types[name] for name in entry.schema}
        self.projects_vector = entry.projection == "ALL" or entry.attribute in entry.included
        """Whether a search can return the vector."""
        self.kept = self._kept(table)
        """The projected attributes; None if all are projected. The vector is kept in any case, but apart."""
        self._filled_to = None if entry.backfilled_to is None else bytes.fromhex(entry.backfilled_to)

    def _kept(self, table: TableEntry) -> frozenset[str] | None:
        if self.entry.projection == "ALL":
            return None
        names = {table.partition, *self.schema, *self.entry.included}
        return frozenset(names if table.sort is None else names | {table.sort})

    def reaches(self, row_key: bytes) -> bool:
        """Whether the index covers this table row: while it is being filled, it has no rows for later ones."""
        return self._filled_to is None or row_key <= self._filled_to

    def vector_of(self, item: Item) -> bytes | None:
        """The item's vector; None if the item is not in the index."""
        value = item.get(self.attribute)
        if value is None or not self._has_schema(item):
            return None
        return self.packed(value.get("L"))

    def packed(self, elements: Any) -> bytes | None:
        """A list of attribute values as 32-bit floating point numbers; None if it is no such vector."""
        if elements is None or len(elements) != self.dimensions:
            return None
        try:
            return self._pack(*_floats([element["N"] for element in elements]))
        except (KeyError, TypeError, ValueError, OverflowError, struct.error):
            return None

    def _has_schema(self, item: Item) -> bool:
        """Whether the attributes of the search schema have their types. Only the HASH attribute must exist."""
        for name, tag in self.schema.items():
            value = item.get(name)
            if value is not None and tag not in value:
                return False
        if self.partition is None:
            return True
        value = item.get(self.partition.name)
        return value is not None and bool(value[self.partition.type]) and not _is_too_long(value)

    def partition_of(self, item: Item) -> bytes:
        """The first bytes of an item's row key, after the space."""
        if self.partition is None:
            return NO_PARTITION
        name, tag = self.partition
        return partition_hash(tag, item[name][tag])

    def check(self, item: Item, changed: Container[str] | None = None) -> None:
        """Raise AWS's error if an item must not be written. Of an update, only `changed` attributes are checked."""
        value = item.get(self.attribute)
        if value is not None and (changed is None or self.attribute in changed):
            self._check_vector(value)
        for name, tag in self.schema.items():
            value = item.get(name)
            if value is None or (changed is not None and name not in changed):
                continue
            if tag not in value:
                raise ValidationException(
                    f"{_INVALID}Attribute '{name}' type mismatch. Expected: {tag}, Actual: {type_of(value)}. "
                    f"IndexName: {self.name}"
                )
            if self.partition is not None and name == self.partition.name and _is_too_long(value):
                raise ValidationException(
                    f"{_INVALID}Size limit exceeded for attribute '{name}'. IndexName: {self.name}"
                )

    def _has_short_numbers(self, elements: Any) -> bool:
        """Whether it is a vector by its length, and by the lengths of its numbers: canonical ones of fewer digits than
        the largest 32-bit number are floats. To make them floats, as `packed` does, takes four times as long."""
        if elements is None or len(elements) != self.dimensions:
            return False
        try:
            return max([len(element["N"]) for element in elements]) < _LARGEST_DIGITS
        except KeyError:
            return False

    def _check_vector(self, value: AttributeValue) -> None:
        if self._has_short_numbers(value.get("L")) or self.packed(value.get("L")) is not None:
            return
        name, where = self.attribute, f"IndexName: {self.name}"
        if "L" not in value:
            raise ValidationException(
                f"{_INVALID}Invalid type for parameter {name}, Expected: 32-bit floating point number list {where}"
            )
        elements: list[AttributeValue] = value["L"]
        if len(elements) != self.dimensions:
            raise ValidationException(
                f"{_INVALID}Invalid size for parameter {name}, Expected: {self.dimensions}, "
                f"Actual: {len(elements)} {where}"
            )
        for position, element in enumerate(elements):
            if "N" not in element:
                raise ValidationException(
                    f"{_INVALID}Invalid type for parameter {name}[{position}], Expected: 32-bit floating point number, "
                    f"Actual: {type_of(element)}. {where}"
                )
            if not _is_float(element["N"]):
                raise ValidationException(
                    f"{_INVALID}Invalid value for parameter {name}[{position}], Value: {element['N']} is outside valid "
                    f"range [-3.4028235E38, 3.4028235E38]. {where}"
                )


def _floats(texts: list[str]) -> list[float]:
    joined = ",".join(texts)
    # Canonical numbers are JSON, which is parsed in a seventh of the time. What else is JSON of these characters has
    # another number of elements, and is no vector.
    if _is_decimal(joined):
        try:
            parsed: list[float] = orjson.loads(f"[{joined}]")
            return parsed
        except orjson.JSONDecodeError:
            # Numbers that are searched for may begin with zeros.
            pass
    return list(map(float, texts))


def _is_too_long(value: AttributeValue) -> bool:
    return value_size(value) > PARTITION_KEY_BYTES


def is_component(value: AttributeValue) -> bool:
    """Whether it may be a component of a vector."""
    return isinstance(text := value.get("N"), str) and _is_float(text)


def _is_float(text: str) -> bool:
    try:
        _FLOAT.pack(float(text))
    except (OverflowError, ValueError, struct.error):
        return False
    return True


def vector_value(vector: bytes) -> AttributeValue:
    """A stored vector as an attribute value: each number with the fewest digits that mean it."""
    return {"L": [{"N": number.canonical(_shortest(value))} for (value,) in _FLOAT.iter_unpack(vector)]}


def _shortest(value: float) -> str:
    wanted = _FLOAT.pack(value)
    for digits in _DIGITS:
        text = f"{value:.{digits}g}"
        if abs(float(text)) <= LARGEST and _FLOAT.pack(float(text)) == wanted:
            return text
    return repr(value)
