"""Drops declared tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sortkey.model.calls.create_tables import POLL, describe, table_request
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.tables.table import Table


class DroppedTable(NamedTuple):
    """A table that `drop_tables` drops."""

    name: str
    rows: int
    """As DescribeTable reports; DynamoDB counts them about every six hours."""
    table_bytes: int


def drop_tables(context: Context, tables: Sequence[Table], dry_run: bool) -> Steps[list[DroppedTable]]:
    """Those of the tables that exist."""
    found: list[DroppedTable] = []
    for table in tables:
        description = yield from describe(context, table.name)
        if description is not None:
            found.append(DroppedTable(table.name, description["ItemCount"], description["TableSizeBytes"]))
    if not dry_run:
        for dropped in found:
            yield from table_request(context, "DeleteTable", {"TableName": dropped.name})
        for dropped in found:
            while (yield from describe(context, dropped.name)) is not None:
                yield POLL
    return found
