"""Whole items by keys that are pairs of texts, for callers in the process who have made the keys themselves."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sortkey.engine.capacity import units_of_rows
from sortkey.engine.core import Core
from sortkey.engine.stored import Json


class Rows(NamedTuple):
    items: Json
    """A list of those that there are."""
    number: int
    units: float


def rows_of_pairs(core: Core, table_name: str, pairs: Collection[tuple[str, str]], consistent: bool) -> Rows | None:
    """As BatchGetItem, of keys that are distinct, and without its limits."""
    snapshot, tables = core.read_tables()
    try:
        table = tables.get(table_name)
        places = None if table is None else table.pair_places(pairs)
        if places is None:
            return None
        rows = [row for row in map(snapshot.get, places) if row is not None]
    finally:
        snapshot.abort()
    return Rows(Json.items(rows), len(rows), units_of_rows(rows, len(places), consistent))
