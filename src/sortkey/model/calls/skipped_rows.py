"""Rows that a query or a scan read and made no item of: counted in the meter, and warned of once for each path.

A row of another class is none of these. A row is *unrecognised* if no class of the table has keys of its form, and
*undecodable* if its class cannot read it; the latter is skipped only where the caller asks for that.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from sortkey.model.costs.meter import Meter
from sortkey.model.errors import DecodeError
from sortkey.model.fields.codec import Row
from sortkey.model.items.family import NoTag
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute
from sortkey.model.keys.template import format_hint

_logger = logging.getLogger(__name__)
_CHOICE: Final = ". Repair it, or leave out such rows of iterate, page and scan with undecodable='skip'"


def report_others(meter: Meter, name: str, schema: Schema[Any], others: Sequence[Row]) -> None:
    """Reports those among the rows of other classes that belong to no class. `name` is what the meter counts under."""
    find = schema.owner.__table__.schema_of
    unrecognised = [row for row in others if find(row) is None]
    if unrecognised and meter.skipped(name, unrecognised=len(unrecognised)):
        row = unrecognised[0]
        _logger.warning(
            "%s: table %s has a row with the key %s, which no class recognises, so it is not returned; %s. The meter "
            "counts such rows",
            name,
            schema.table,
            key_text(schema, row),
            advice(schema, row),
        )


def report_undecodable(meter: Meter, name: str, errors: Sequence[DecodeError]) -> None:
    if meter.skipped(name, undecodable=len(errors)):
        reason = str(errors[0]).removesuffix(_CHOICE)
        _logger.warning("%s: a row is skipped, and counted by the meter: %s", name, reason)


def undecodable(schema: Schema[Any], row: Row, error: Exception) -> DecodeError:
    """The error of a row that its class cannot read; it names the row, and how to go on without it."""
    reason = str(error) if isinstance(error, DecodeError) else f"{type(error).__name__}: {error}"
    # To skip rows without a tag would empty every answer of an index that does not project it.
    choice = "" if isinstance(error, NoTag) else _CHOICE
    return DecodeError(
        f"{reason}; this is the row of table {schema.table} with the key {key_text(schema, row)}{choice}",
        key={part.name: row[part.name] for part in schema.primary.attributes},
    )


def key_text(schema: Schema[Any], row: Row) -> str:
    """The primary key of a row, such as `pk='ORDER#3'`."""
    parts = [(part.name, *row.get(part.name, {"": None}).values()) for part in schema.primary.attributes]
    return ", ".join(f"{name}={value!r}" for name, value in parts)


def advice(first: Schema[Any], row: Row) -> str:
    """The declaration that would read a row which no class recognises; `first` is a class of its table."""
    misplaced = first.owner.__table__.schema_of_misplaced(row)
    if misplaced is not None:
        return (
            f"its shard is not that of its fields, as if {misplaced.name}.{misplaced.primary.name} had had another "
            f"number of shards; sortkey audit tells its shard"
        )
    for schema in dict.fromkeys((first, *first.owner.__table__.schemas)):
        hints = [_hint(schema, part, row) for part in schema.primary.attributes]
        if None not in hints:
            names = tuple(part.name for part in schema.primary.attributes)
            arguments = [*map(repr, hints), *([] if names == ("pk", "sk")[: len(names)] else [f"names={names!r}"])]
            return f"{schema.name}.{schema.primary.name} = sk.Key({', '.join(arguments)}) would read it"
    return "declare a class with such a key to read it"


def _hint(schema: Schema[Any], part: KeyAttribute, row: Row) -> str | None:
    value = row.get(part.name)
    if value is None or part.sharding is not None:
        return None
    if part.matches(value):
        return f"{{{part.fields[0]}}}" if part.template is None else part.template.text
    content = value.get("S")
    if part.template is None or content is None:
        return None
    return format_hint(part.template, schema.codec.annotations(set(part.fields)), content)
