"""The items in an answer, which come as text: read by their class's reader, or by its codec where they are unusual."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

import msgspec

from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.items.codec import Row
from sortkey.model.items.row_reader import NEEDS_CODEC
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import BEGINS_WITH, KeyAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.model.paths.access_path import Path

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
Identity = tuple[Any, ...]
Choice = Callable[[list[Any]], list[Any]]
"""Some of a reader's structures."""


class Found(NamedTuple):
    """Items of a path, and what they were made of: structures of the reader, or rows."""

    items: list[Any]
    rows: list[Any]


def item_of(schema: Schema[S], stored: Unparsed) -> S:
    """The item of a row that is known to be this class's."""
    reader = schema.reader
    if stored.binary and reader.nested:
        return schema.decode(stored.parsed())
    try:
        return reader.item(reader.row(stored.text))
    except NEEDS_CODEC:
        return schema.decode(stored.parsed())


def items_by_key(schema: Schema[S], stored: Unparsed) -> dict[Identity, S]:
    """The items of rows that are known to be this class's, by what `identifier` makes of their keys."""
    found = _read_all(schema, stored, _all)
    if found is None:
        rows: list[Row] = stored.parsed()
        return dict(zip(map(identifier(schema.primary), rows), map(schema.decode, rows), strict=True))
    return dict(zip(map(_structure_identifier(schema.primary), found.rows), found.items, strict=True))


def found_on(path: Path[Any], stored: Unparsed) -> Found:
    """The path's own items among the rows."""
    if not path.collection and path.layout.projection == "ALL" and not path.schema.shares_fields:
        found = _read_all(path.schema, stored, _own(path))
        if found is not None:
            return found
    pairs = [(item, row) for row in stored.parsed() if (item := path.decode(row)) is not None]
    return Found([item for item, _ in pairs], [row for _, row in pairs])


def position(path: Path[Any], row: Any) -> Row:
    """Where the path goes on behind one of the rows found."""
    return path.position(row if isinstance(row, dict) else path.schema.reader.key_attributes(row))


def _read_all(schema: Schema[Any], stored: Unparsed, choose: Choice) -> Found | None:
    reader = schema.reader
    if stored.binary and reader.nested:
        return None
    try:
        rows = choose(reader.rows(stored.text))
        return Found(reader.items(rows), rows)
    except NEEDS_CODEC:
        return None


def _all(rows: list[Any]) -> list[Any]:
    return rows


def _own(path: Path[Any]) -> Choice:
    """Chooses the structures of the path's class, by their primary key. A path of the primary key has its partition,
    which need not be looked at again."""
    partition = None if path.layout.index is None else _shape(path.primary.partition)
    sort = _shape(path.primary.sort)
    if sort is None:
        return _all if partition is None else lambda rows: [row for row in rows if partition(row.partition.content)]
    if partition is not None:
        return lambda rows: [row for row in rows if partition(row.partition.content) and sort(row.sort.content)]
    known = _known_beginning(path)
    if known is None:
        return lambda rows: [row for row in rows if sort(row.sort.content)]
    # Letters and digits are all that is left of most keys, and they can be nothing but the last field.
    return lambda rows: [row for row in rows if row.sort.content[known:].isalnum() or sort(row.sort.content)]


def _known_beginning(path: Path[Any]) -> int | None:
    """How much of each sort key the path has asked for, if nothing but the text of its last field can follow."""
    sort, condition = path.primary.sort, path.condition
    if condition is None or condition.operator != BEGINS_WITH or sort is None or sort.template is None:
        return None
    last = sort.template.parts[-1]
    open_fields = [field for field in sort.fields if field not in path.given]
    if open_fields != [last.field] or last.follower or not last.encoding.textual:
        return None
    return len(condition.values[0]["S"])


def _shape(part: KeyAttribute | None) -> Callable[[str], bool] | None:
    """Whether a key's text may be this part's; a native one is, if it could be read."""
    return None if part is None or part.template is None else part.template.matches


def identifier(layout: KeyLayout) -> Callable[[Row], Identity]:
    """A function that makes of a row's key something to compare by: numbers have several texts."""
    parts = [(part.name, part.tag) for part in layout.attributes]
    if [tag for _, tag in parts] == ["S", "S"]:
        (partition, _), (sort, _) = parts
        return lambda row: (row[partition]["S"], row[sort]["S"])
    return lambda row: tuple(Decimal(row[name]["N"]) if tag == "N" else row[name][tag] for name, tag in parts)


def _structure_identifier(layout: KeyLayout) -> Callable[[Any], Identity]:
    """The same of a reader's structure."""
    tags = [part.tag for part in layout.attributes]
    if tags == ["S", "S"]:
        return lambda row: (row.partition.content, row.sort.content)
    names = list(zip(("partition", "sort"), tags, strict=False))
    return lambda row: tuple(
        Decimal(getattr(row, name).content) if tag == "N" else getattr(row, name).content for name, tag in names
    )
