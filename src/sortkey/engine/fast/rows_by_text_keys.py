"""Whole items by keys that are pairs of texts, for callers in the process who have made the keys themselves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from sortkey.engine.answer_metrics import units_of_rows
from sortkey.engine.core import Core
from sortkey.engine.rows.stored_item import HEADER_BYTES, Json

_GAP: Final = bytes(HEADER_BYTES) + b"null"


class Rows(NamedTuple):
    items: Json
    """A list of those that there are; with nulls for the others, if the caller wants that."""
    number: int
    units: float


def rows_by_text_keys(
    core: Core, table_name: str, pairs: Collection[tuple[str, str]], consistent: bool, gaps: bool
) -> Rows | None:
    """As BatchGetItem, of keys that are distinct, in their order, and without its limits."""
    snapshot, tables = core.read_tables()
    try:
        table = tables.get(table_name)
        places = None if table is None else table.fast_row_keys_of_texts(pairs)
        if places is None:
            return None
        found = [*map(snapshot.get, places)]
    finally:
        snapshot.abort()
    rows = [row for row in found if row is not None]
    listed = rows if len(rows) == len(found) or not gaps else [row or _GAP for row in found]
    return Rows(Json.items(listed), len(rows), units_of_rows(rows, len(places), consistent))
