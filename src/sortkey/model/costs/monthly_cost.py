"""What a month costs on DynamoDB: units, bytes and calls, by their list prices.

Besides those of read and write units, in `explain.py`, the prices are those of us-east-1, in US dollars without tax, as
quoted on public pages in November 2026: https://aws.amazon.com/dynamodb/pricing/on-demand/ and
https://aws.amazon.com/eventbridge/pricing/. What is free for small accounts is not taken off.

A table with replicas is paid for in each region: storage and recovery, and each write, which every region repeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sortkey.model.costs.explain import DOLLARS_PER_MILLION_READ_UNITS, DOLLARS_PER_MILLION_WRITE_UNITS

DAYS: Final = 30
DOLLARS_PER_GIGABYTE: Final = 0.25
"""And month, of tables and indexes."""
DOLLARS_PER_RECOVERABLE_GIGABYTE: Final = 0.20
"""And month, of tables and local indexes with point-in-time recovery."""
DOLLARS_PER_MILLION_SCHEDULES: Final = 1.00
"""Of EventBridge Scheduler."""
ROW_OVERHEAD_BYTES: Final = 100
"""What DynamoDB adds to each row of a table and of an index, for storage."""

_GIGABYTE: Final = 1024**3
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """What is used in a month, in one region."""

    read_units: float = 0.0
    write_units: float = 0.0
    later_read_units: float = 0.0
    """Of change feeds and timers."""
    later_write_units: float = 0.0
    schedules: float = 0.0
    stored_bytes: float = 0.0
    """Of tables and indexes, with DynamoDB's overhead."""
    recoverable_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class CostLine:
    what: str
    quantity: float
    """In all regions."""
    unit: str
    dollars: float


def monthly_cost(used: Usage, regions: int = 1) -> list[CostLine]:
    """The lines of the bill. Reads happen in one region, whichever it is."""
    read, write = DOLLARS_PER_MILLION_READ_UNITS, DOLLARS_PER_MILLION_WRITE_UNITS
    lines = [
        _units("reads", used.read_units, "read units", read),
        _units("writes", used.write_units * regions, "write units", write),
        _units("reads of feeds and timers", used.later_read_units, "read units", read),
        _units("writes of feeds and timers", used.later_write_units * regions, "write units", write),
        _units("schedules of timers", used.schedules, "schedules", DOLLARS_PER_MILLION_SCHEDULES),
        _bytes("storage", used.stored_bytes * regions, DOLLARS_PER_GIGABYTE),
        _bytes("point-in-time recovery", used.recoverable_bytes * regions, DOLLARS_PER_RECOVERABLE_GIGABYTE),
    ]
    return [line for line in lines if line.quantity]


def _units(what: str, quantity: float, unit: str, price: float) -> CostLine:
    return CostLine(what, quantity, unit, quantity / _MILLION * price)


def _bytes(what: str, quantity: float, price: float) -> CostLine:
    return CostLine(what, quantity / _GIGABYTE, "GB", quantity / _GIGABYTE * price)
