"""Decodes the unparsed items of an answer: by their class's reader, or by its codec where the reader cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.skipped_rows import undecodable
from sortkey.model.errors import DeclarationError, DecodeError
from sortkey.model.fields.codec import Row
from sortkey.model.fields.stored_forms import has_respelled_number, other_forms
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.partial_item import decode_partial, partial_reader
from sortkey.model.items.row_reader import NEEDS_CODEC, RowReader
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute, ShardedAttribute
from sortkey.model.keys.key_layout import KeyLayout

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
Identity = tuple[Any, ...]
ItemTest = Callable[[Any], bool]
RowFilter = Callable[[list[Any]], list[Any]]
"""Selects some of a reader's structures."""


class Decoded(NamedTuple):
    """Items of a path, and what they were decoded from: structures of the reader, or rows."""

    items: list[Any]
    rows: list[Any]
    others: Sequence[Row] = ()
    """The rows of other classes, or of none; only their keys are complete."""
    errors: Sequence[DecodeError] = ()
    """The errors of rows that were skipped."""

    def accepted(self, accepts: ItemTest) -> Decoded:
        """Without the items for which the test is false."""
        kept = [index for index, item in enumerate(self.items) if accepts(item)]
        return self._replace(items=[self.items[index] for index in kept], rows=[self.rows[index] for index in kept])


Undecodable = Literal["raise", "skip"]
"""What becomes of a row that its class cannot read."""


def decode_item(schema: Schema[S], stored: Unparsed) -> S | None:
    """The item of a row whose key belongs to this class; None if its tag is that of another."""
    found = _read_item(schema, stored)
    return _own_item(schema, stored.parsed()) if found is None else found


def _read_item(schema: Schema[S], stored: Unparsed) -> S | None:
    """The same; None if the codec has to read the row."""
    reader = schema.reader
    text = stored.text
    if not _is_readable(reader, stored):
        return None
    try:
        if not reader.counts_forms:
            return reader.item(reader.row(text))
        before = other_forms.count
        row = reader.row(text)
        item = reader.item(row)
        if before != other_forms.count:
            schema.keep_forms(item, reader.in_other_forms(row))
        return item
    except NEEDS_CODEC:
        return _item_with_null(schema, text) if reader.may_be_null and _NULL in text else None


def _item_with_null(schema: Schema[S], text: bytes) -> S | None:
    """The item of a row with NULL where its item would be written without; None if the codec has to read it."""
    reader = schema.reader
    try:
        row = reader.with_null.row(text)
        item = reader.item(row)
    except NEEDS_CODEC:
        return None
    schema.keep_forms(item, reader.in_other_forms(row))
    return item


_NULL: Final = b'"NULL"'


def _own_item(schema: Schema[S], row: Row) -> S | None:
    return decode_row(schema, row) if schema.has_own_tag(row) else None


def decode_written(schema: Schema[S], row: Row | Unparsed, path: AccessPath[Any], done: str) -> S:
    """The item of a row that the store returned for a write; an error says that the write was made."""
    found = _read_item(schema, row) if isinstance(row, Unparsed) else None
    if found is not None:
        return found
    try:
        return schema.decode(row.parsed() if isinstance(row, Unparsed) else row)
    except Exception as error:
        raise DecodeError(f"{path!r} {done}, but its row cannot be decoded: {error}", written=True) from error


def decode_items(schema: Schema[S], stored: Unparsed) -> list[S] | None:
    """The items of rows whose keys belong to this class; None if the codec has to read one of them."""
    found = _read_all(schema, stored, _all_rows)
    return None if found is None else found.items


def decode_items_by_key(schema: Schema[S], stored: Unparsed) -> dict[Identity, S]:
    """The items of rows that belong to this class, by the identity of their keys (see `identifier`)."""
    found = _read_all(schema, stored, _all_rows)
    if found is None:
        rows: list[Row] = [row for row in stored.parsed() if schema.has_own_tag(row)]
        return dict(zip(map(identifier(schema.primary), rows), (decode_row(schema, row) for row in rows), strict=True))
    return dict(zip(map(_structure_identifier(schema.primary), found.rows), found.items, strict=True))


def decode_row(schema: Schema[S], row: Row) -> S:
    """The item of a row of this class; an error names the row."""
    try:
        return schema.decode(row)
    except DeclarationError:
        raise
    except Exception as error:
        raise undecodable(schema, row, error) from error


def require_known_version(schema: Schema[Any], row: Row) -> None:
    """Raises DecodeError, which names the row, if its class does not know its version."""
    try:
        schema.row_version(row)
    except DecodeError as error:
        raise undecodable(schema, row, error) from None


def decode_path_items(
    path: AccessPath[Any], stored: Unparsed, accepts: ItemTest | None = None, on_error: Undecodable = "raise"
) -> Decoded:
    """The items of the path's class among the rows; with `accepts`, those that it is true for."""
    found = _decode_path_items(path, stored, on_error)
    return found if accepts is None else found.accepted(accepts)


def _decode_path_items(path: AccessPath[Any], stored: Unparsed, on_error: Undecodable) -> Decoded:
    if path.layout.projection != "ALL":
        return decode_path_parts(path, stored, _part_reader(path), _partial_decoder(path), on_error)
    if not path.collection and not path.schema.shares_fields:
        found = _read_all(path.schema, stored, lambda rows: _own_rows(path, rows), given=_given_sort_fields(path))
        if found is not None and _are_placed(path.schema, found):
            return found
    return decode_rows(path.schema, stored.parsed(), path.decode, on_error)


def decode_path_parts(
    path: AccessPath[Any],
    stored: Unparsed,
    reader: RowReader[Any] | None,
    decode: Callable[[Row], Any],
    on_error: Undecodable,
) -> Decoded:
    """The partial items of the path's class among the rows, by the reader, or else by `decode`."""
    found = _read_parts(reader, stored, lambda rows: _own_rows(path, rows), given=_given_sort_fields(path))
    return decode_rows(path.schema, stored.parsed(), decode, on_error) if found is None else found


def decode_index_items(schema: Schema[Any], index: str, stored: Unparsed, on_error: Undecodable) -> Decoded:
    """The partial items of a class among any rows of one of its indexes."""

    def decode(row: Row) -> Any:
        return decode_partial(schema.of_row(row), index, row) if schema.recognises(row) else None

    found = _read_parts(partial_reader(schema, index), stored, _rows_with_key(schema.primary))
    return decode_rows(schema, stored.parsed(), decode, on_error) if found is None else found


def _read_parts(
    reader: RowReader[Any] | None, stored: Unparsed, select: RowFilter, *, given: int | None = None
) -> Decoded | None:
    if reader is None or not _is_readable(reader, stored):
        return None
    return _decoded_by_reader(reader, reader.rows, stored, select, given)


def count_path_items(path: AccessPath[Any], stored: Unparsed) -> int | None:
    """How many items `decode_path_items` makes of the rows, of which it makes none; None if only that can tell."""
    schema = path.schema
    if path.collection or schema.shares_fields or schema.primary.sharding is not None:
        return None
    reader = schema.reader if path.layout.projection == "ALL" else _part_reader(path)
    if reader is None or not _is_readable(reader, stored):
        return None
    try:
        rows = reader.rows(stored.text)
        if len(_own_rows(path, rows)) < len(rows):
            return None
        reader.check(rows, stored.text)
    except NEEDS_CODEC:
        return None
    return len(rows)


def _part_reader(path: AccessPath[Any]) -> RowReader[Any] | None:
    """Of an index that does not project whole items."""
    return None if path.collection else partial_reader(path.schema, str(path.layout.index))


def decode_class_items(schema: Schema[Any], stored: Unparsed, on_error: Undecodable) -> Decoded:
    """The items of a class among any rows of its table."""
    if not schema.shares_fields:
        found = _read_all(schema, stored, _rows_with_key(schema.primary))
        if found is not None and _are_placed(schema, found):
            return found
    return decode_rows(schema, stored.parsed(), schema.decode_own, on_error)


def decode_rows(
    schema: Schema[Any], stored: Iterable[Row], decode: Callable[[Row], Any], on_error: Undecodable
) -> Decoded:
    """What `decode` makes of the rows; None for a row of another class. `schema` is one of the table's."""
    items: list[Any] = []
    rows: list[Row] = []
    others: list[Row] = []
    errors: list[DecodeError] = []
    for row in stored:
        try:
            item = decode(row)
        except DeclarationError:
            raise
        except Exception as error:
            # An upgrade, which is the program's own, may raise anything.
            named = undecodable(schema, row, error)
            if on_error == "raise":
                raise named from error
            errors.append(named)
            continue
        if item is None:
            others.append(row)
        else:
            items.append(item)
            rows.append(row)
    return Decoded(items, rows, others, errors)


def _partial_decoder(path: AccessPath[Any]) -> Callable[[Row], Any]:
    """Decodes the rows of an index that does not project whole items; None for a row of another class."""
    index = str(path.layout.index)

    def schema_of_row(row: Row) -> Schema[Any] | None:
        if path.collection:
            found: Schema[Any] | None = path.schema.owner.__table__.schema_of(row)
            return found.joined or found if found is not None and path.schema.is_joined else found
        return path.schema.of_row(row) if path.schema.recognises(row) else None

    def decode(row: Row) -> Any:
        schema = schema_of_row(row)
        return None if schema is None else decode_partial(schema, index, row)

    return decode


def start_key(path: AccessPath[Any], row: Any) -> Row:
    """The ExclusiveStartKey that continues the path after one of the decoded rows."""
    return path.position(key_row(path, row))


def key_row(path: AccessPath[Any], row: Any) -> Row:
    """One of the decoded rows, at least with its key attributes."""
    return row if isinstance(row, dict) else path.schema.reader.key_attributes(row)


def _read_all(schema: Schema[Any], stored: Unparsed, select: RowFilter, *, given: int | None = None) -> Decoded | None:
    """`given` if the rows are of one partition: how many fields of the sort key are the same in all."""
    reader = schema.reader
    if not _is_readable(reader, stored):
        return None
    before = other_forms.count
    found = _decoded_by_reader(reader, reader.rows, stored, select, given)
    if found is not None and before == other_forms.count:
        return found
    if found is None and reader.may_be_null and _NULL in stored.text:
        found = _decoded_by_reader(reader, reader.with_null.rows, stored, select, given)
    if found is not None:
        for item, row in zip(found.items, found.rows, strict=True):
            schema.keep_forms(item, reader.in_other_forms(row))
    return found


def _is_readable(reader: RowReader[Any], stored: Unparsed) -> bool:
    """Whether the reader reads text such as this."""
    return not ((stored.binary and reader.nested) or (stored.is_foreign and has_respelled_number(stored.text)))


def _decoded_by_reader(
    reader: RowReader[Any],
    rows_of: Callable[[bytes], list[Any]],
    stored: Unparsed,
    select: RowFilter,
    given: int | None,
) -> Decoded | None:
    try:
        read = rows_of(stored.text)
    except NEEDS_CODEC:
        return None
    if given is not None:
        # Handles the common case: all rows are of the class.
        all_items = _partition_items(reader, read, stored.text, given)
        if all_items is not None:
            return Decoded(all_items, read)
    try:
        rows = select(read)
        items = reader.items(rows, stored.text)
    except NEEDS_CODEC:
        return None
    if len(rows) == len(read):
        return Decoded(items, rows)
    own = set(map(id, rows))
    return Decoded(items, rows, [reader.key_attributes(row) for row in read if id(row) not in own])


def _partition_items(reader: RowReader[S], rows: list[Any], text: bytes, given: int) -> list[S] | None:
    try:
        return reader.partition_items(rows, text, given)
    except NEEDS_CODEC:
        return None


def _are_placed(schema: Schema[Any], found: Decoded) -> bool:
    """Whether all structures are in the shards of their items; if not, the codec sorts them out."""
    part = schema.primary.partition
    if not isinstance(part, ShardedAttribute):
        return True
    by = part.sharding.by
    return all(
        part.is_placed(row.partition.content, [getattr(item, field) for field in by])
        for item, row in zip(found.items, found.rows, strict=True)
    )


def _given_sort_fields(path: AccessPath[Any]) -> int | None:
    """How many fields of the sort key a path of the primary key gives; None for an index."""
    if path.layout.index is not None:
        return None
    return len([field for field in path.primary.sort_fields if field in path.given])


def _all_rows(rows: list[Any]) -> list[Any]:
    return rows


def _own_rows(path: AccessPath[Any], rows: list[Any]) -> list[Any]:
    """Selects the structures of the path's class by their primary key. On a path of the primary key, all rows have its
    partition key, which is not checked again."""
    if path.layout.index is not None:
        return _rows_with_key(path.primary)(rows)
    sort = _matcher(path.primary.sort)
    return rows if sort is None else [row for row in rows if sort(row.sort.content)]


def _rows_with_key(primary: KeyLayout) -> RowFilter:
    """Selects the structures of a class by their primary key, among any rows."""
    partition, sort = _matcher(primary.partition), _matcher(primary.sort)
    if sort is None:
        if partition is None:
            return _all_rows
        return lambda rows: [row for row in rows if partition(row.partition.content)]
    if partition is None:
        return lambda rows: [row for row in rows if sort(row.sort.content)]
    return lambda rows: [row for row in rows if partition(row.partition.content) and sort(row.sort.content)]


def _matcher(part: KeyAttribute | None) -> Callable[[str], bool] | None:
    """Tests whether a text may be this key attribute. None for one without a template: any value that decodes is."""
    return None if part is None or part.template is None else part.template.matches


def identifier(layout: KeyLayout) -> Callable[[Row], Identity]:
    """A function from a row to the identity of its key. Numbers are compared as numbers: one number has several
    texts."""
    parts = [(part.name, part.tag) for part in layout.attributes]
    if [tag for _, tag in parts] == ["S", "S"]:
        (partition, _), (sort, _) = parts
        return lambda row: (row[partition]["S"], row[sort]["S"])
    return lambda row: tuple(Decimal(row[name]["N"]) if tag == "N" else row[name][tag] for name, tag in parts)


def _structure_identifier(layout: KeyLayout) -> Callable[[Any], Identity]:
    """The same, for a reader's structure."""
    tags = [part.tag for part in layout.attributes]
    if tags == ["S", "S"]:
        return lambda row: (row.partition.content, row.sort.content)
    names = list(zip(("partition", "sort"), tags, strict=False))
    return lambda row: tuple(
        Decimal(getattr(row, name).content) if tag == "N" else getattr(row, name).content for name, tag in names
    )
