"""What a copy will take, before it is made: from what DescribeTable says, so about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from sortkey.client.stores import AWS, Capabilities
from sortkey.copies.table_shape import TableShape
from sortkey.model.costs.explain import DOLLARS_PER_MILLION_READ_UNITS, DOLLARS_PER_MILLION_WRITE_UNITS
from sortkey.values.size import write_units

ROWS_PER_SECOND: Final = 2_000
"""Without a rate, on a machine with two cores: copied and compared."""

_READ_UNIT_BYTES: Final = 4096
_SCANS: Final = 2
"""Of the source: one to copy, one to compare."""
_MILLION: Final = 1_000_000


class Estimate(NamedTuple):
    rows: int
    bytes: int
    write_units: float
    """Of the target, index rows included."""
    read_units: float
    """Of the source."""
    seconds: float
    dollars: float
    """Of those of both stores that are DynamoDB, on demand."""


def estimate(tables: Sequence[TableShape], rate: float | None, source: Capabilities, target: Capabilities) -> Estimate:
    rows, size = sum(table.rows for table in tables), sum(table.bytes for table in tables)
    writes = sum(_write_units(table) for table in tables)
    scan_units = sum(math.ceil(table.bytes / _READ_UNIT_BYTES) for table in tables)
    seconds = rows / ROWS_PER_SECOND
    if rate is not None:
        seconds = max(seconds, writes / rate)
    dollars = 0.0
    if target == AWS:
        dollars += writes / _MILLION * DOLLARS_PER_MILLION_WRITE_UNITS
        dollars += scan_units / _MILLION * DOLLARS_PER_MILLION_READ_UNITS
    if source == AWS:
        dollars += _SCANS * scan_units / _MILLION * DOLLARS_PER_MILLION_READ_UNITS
    return Estimate(rows, size, writes, float(_SCANS * scan_units), seconds, dollars)


def _write_units(table: TableShape) -> float:
    if not table.rows:
        return 0.0
    return table.rows * write_units(math.ceil(table.bytes / table.rows)) * (1 + len(table.index_keys))
