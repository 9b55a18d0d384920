"""Whole items by pairs of text keys, for callers in the process that build the keys themselves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from sortkey.engine.answer_metrics import units_of_rows
from sortkey.engine.core import Core
from sortkey.engine.rows.records import damaged_page, first_damaged
from sortkey.engine.rows.stored_item import HEADER_BYTES, Json
from sortkey.storage import DAMAGED_PAGE, SEAL_BYTES, are_sound

_GAP: Final = bytes(HEADER_BYTES) + b"null" + bytes(SEAL_BYTES)


class Rows(NamedTuple):
    items: Json
    """A list of the items found; with `gaps`, null for each key without an item."""
    number: int
    units: float


def rows_by_text_keys(
    core: Core, table_name: str, pairs: Collection[tuple[str, str]], consistent: bool, gaps: bool
) -> Rows | None:
    """BatchGetItem without its limits: distinct keys, items in the order of the keys."""
    snapshot, tables = core.read_tables()
    try:
        table = tables.get(table_name)
        row_keys = None if table is None else table.fast_row_keys_of_texts(pairs)
        if row_keys is None:
            return None
        found = [*map(snapshot.get, row_keys)]
        rows = [row for row in found if row is not None]
        if core.verifies_many and not are_sound(rows):
            raise first_damaged(snapshot, row_keys)
    except DAMAGED_PAGE as error:
        raise damaged_page(error) from error
    finally:
        snapshot.abort()
    listed = rows if len(rows) == len(found) or not gaps else [row or _GAP for row in found]
    units = units_of_rows(rows, len(row_keys), consistent)
    core.partitions.count_batch(row_keys, units)
    return Rows(Json.items(listed), len(rows), units)
