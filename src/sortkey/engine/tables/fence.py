"""Fences: tables that take no writes for a moment, or for good because their items have moved.

A fence is the tag `sortkey:fence` of a table. Its value is `until SECONDS`, the time of this store's clock at which the
fence falls by itself, or a text that says where the items are now, such as `moved to http://db:8000`.

Tags are in the catalog, and every write looks its table up there, in the writer's transaction. So a fence holds for all
processes from one commit on, and a table without one pays nothing: the tables that may be written are counted once for
each version of the catalog.
"""

from __future__ import annotations

import re
from typing import Final

from sortkey.engine.tables.table import Table
from sortkey.errors import DynamoDBError, TableFencedException, TableMovedException

FENCE_TAG: Final = "sortkey:fence"

_UNTIL: Final = re.compile(r"until (\d+(?:\.\d+)?)")


def has_fence(table: Table) -> bool:
    """Whether there is one, which may have fallen."""
    return FENCE_TAG in table.entry.tags


def is_fenced(table: Table, now: float) -> bool:
    return has_fence(table) and fence_error(table, now) is not None


def fence_error(table: Table, now: float) -> DynamoDBError | None:
    """The error of a write to a table with a fence; None if the fence has fallen."""
    text = table.entry.tags[FENCE_TAG]
    until = _UNTIL.fullmatch(text)
    if until is None:
        return TableMovedException(f"Nothing was written: table {table.name} has {text}")
    if now >= float(until[1]):
        return None
    return TableFencedException(f"Nothing was written: table {table.name} is fenced for a moment; try again")
