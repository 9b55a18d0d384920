"""`ConsumedCapacity`: what an operation took, in the detail that the request asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sortkey.engine.rows.stored_item import HEADER_BYTES, size
from sortkey.engine.tables.table import Table
from sortkey.values.capacity_units import READ_UNIT_BYTES, read_units


class Consumed:
    """Units that one operation took from a table and its indexes."""

    __slots__ = ("indexes", "table", "units")

    def __init__(self, table: Table, units: float = 0.0, indexes: Mapping[str, float] | None = None) -> None:
        self.table = table
        self.units = units
        self.indexes: dict[str, float] = {} if indexes is None else dict(indexes)

    def add(self, units: float, indexes: Mapping[str, float] | None = None) -> None:
        self.units += units
        for name, more in (indexes or {}).items():
            self.indexes[name] = self.indexes.get(name, 0.0) + more

    def total(self) -> float:
        return self.units + sum(self.indexes.values()) if self.indexes else self.units

    def shape(self, detail: str | None, kind: str | None = None) -> dict[str, Any]:
        """The answer's member. Transactions also say the `kind` of their units, `Read` or `Write`."""
        if kind is None and detail != "INDEXES":
            # The endpoint counts what each request consumed, so this is on the way of every one of them.
            return {"TableName": self.table.name, "CapacityUnits": self.total()}
        shape: dict[str, Any] = {"TableName": self.table.name, **_units(self.total(), kind)}
        if detail != "INDEXES":
            return shape
        shape["Table"] = _units(self.units, kind)
        for member, local in (("LocalSecondaryIndexes", True), ("GlobalSecondaryIndexes", False)):
            found = {
                name: _units(units, kind)
                for name, units in self.indexes.items()
                if self.table.indexes[name].entry.local is local
            }
            if found:
                shape[member] = found
        return shape


def _units(units: float, kind: str | None) -> dict[str, float]:
    return {"CapacityUnits": units} if kind is None else {"CapacityUnits": units, f"{kind}CapacityUnits": units}


def units_of_rows(rows: list[bytes], asked: int, consistent: bool) -> float:
    """Read units of a batch, in which each key costs by itself, also those that found nothing.

    Most rows cost one step, which the length of the longest tells for all of them.
    """
    step = read_units(0, consistent)
    if not rows or max(map(len, rows)) <= READ_UNIT_BYTES + HEADER_BYTES:
        return asked * step
    return (asked - len(rows)) * step + sum(read_units(size(row), consistent) for row in rows)


def asked(detail: str | None) -> bool:
    return detail is not None and detail != "NONE"
