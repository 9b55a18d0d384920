"""Capacity units by DynamoDB's rounding: reads by 4 KB, writes by 1 KB, never less than one step."""

from __future__ import annotations

from typing import Final

READ_UNIT_BYTES: Final = 4096
WRITE_UNIT_BYTES: Final = 1024


def read_units(size: int, consistent: bool) -> float:
    """For one item, or for all bytes of a page. A missing item costs one step."""
    steps = -(-size // READ_UNIT_BYTES) or 1
    return float(steps) if consistent else steps / 2


def transactional_read_units(size: int) -> float:
    """A transaction reads twice: once to prepare and once to commit."""
    return 2 * read_units(size, consistent=True)


def write_units(size: int) -> float:
    """For the larger of the item before and after."""
    return float(-(-size // WRITE_UNIT_BYTES) or 1)


def transactional_write_units(size: int) -> float:
    """A transaction writes twice: once to prepare and once to commit."""
    return 2 * write_units(size)
