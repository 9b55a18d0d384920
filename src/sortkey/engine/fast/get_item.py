"""GetItem of a whole item."""

from __future__ import annotations

from typing import Literal

import msgspec

from sortkey.engine.core import Core
from sortkey.engine.fast.fast_path import EMPTY_ANSWER, NOT_FAST, FastAnswer
from sortkey.engine.partition_loads import SMALL_UNITS
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import AttributeMap, Shape, TableName
from sortkey.engine.rows.records import damaged, damaged_page
from sortkey.engine.rows.stored_item import size, text
from sortkey.storage import DAMAGED_PAGE, is_sound
from sortkey.values.attribute import Item
from sortkey.values.size import read_units


class FastGet(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    key: AttributeMap
    consistent_read: bool = False
    return_consumed_capacity: Literal["NONE"] | None = None


_decode = msgspec.json.Decoder(FastGet).decode


def get_item(core: Core, body: bytes) -> FastAnswer | None:
    try:
        request = _decode(body)
        name = table_name_of(request.table_name)
    except NOT_FAST:
        return None
    found = row_by_key(core, name, request.key, request.consistent_read)
    if found is None:
        return None
    row, units = found
    return FastAnswer(EMPTY_ANSWER if row is None else b'{"Item":%b}' % text(row), {name: units})


def row_by_key(core: Core, table_name: str, key: Item, consistent: bool) -> tuple[bytes | None, float] | None:
    """The row of a key, and its read units. None if there is no such table, or the key is not two plain texts."""
    snapshot, tables = core.read_tables()
    try:
        table = tables.get(table_name)
        row_key = None if table is None else table.fast_row_key(key)
        if row_key is None:
            return None
        row = snapshot.get(row_key)
        if row is not None and not is_sound(row):
            raise damaged(snapshot, row_key)
    except DAMAGED_PAGE as error:
        raise damaged_page(error) from error
    finally:
        snapshot.abort()
    units = read_units(0 if row is None else size(row), consistent)
    partitions = core.partitions
    if partitions.reads_left_out and units <= SMALL_UNITS:
        partitions.reads_left_out -= 1
    else:
        partitions.count_read(row_key, units)
    return row, units
