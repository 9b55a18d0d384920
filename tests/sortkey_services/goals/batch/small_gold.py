"""A small gold, which tests change before it is written: two persons in May 2026, and Bea, who has no goal."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sortkey_services.goals.batch.job import BatchInputs
from sortkey_services.goals.rules import Rule, Rules
from sortkey_services.goals.rules_database import write_rules

AS_OF = datetime(2026, 5, 16, tzinfo=UTC)
RULES = Rules(
    [
        Rule("SAVINGS_ACCOUNT", "GOLD", Decimal("0.08")),
        Rule("GOVERNMENT_BONDS", "GOLD", Decimal("0.12")),
        Rule("SAVINGS_ACCOUNT", "BASIC", Decimal("0.07")),
    ]
)
TYPES = {
    "notifications": pa.bool_(),
    "target_cents": pa.int64(),
    "amount_cents": pa.int64(),
    "effective_at": pa.timestamp("us"),
}

Columns = dict[str, list[Any]]


def may(day: int, hour: int = 12, minute: int = 0) -> datetime:
    return datetime(2026, 5, day, hour, minute)  # noqa: DTZ001  the file has no zone


TABLES: dict[str, Columns] = {
    "customers": {
        "person_id": ["ana", "carl", "bea"],
        "name": ["Ana Silva", "Carl Ek", "Bea Ott"],
        "tier": ["GOLD", "BASIC", "BASIC"],
        "language": ["pt-BR", "sv-SE", "de-DE"],
        "notifications": [True, False, True],
    },
    "goals": {
        "person_id": ["ana", "ana", "carl", "bea"],
        "goal_id": ["SAVINGS_ACCOUNT", "GOVERNMENT_BONDS", "SAVINGS_ACCOUNT", "SAVINGS_ACCOUNT"],
        "month": ["2026-05", "2026-05", "2026-05", "2026-04"],
        "target_cents": [50_000, 150_000, 20_000, 100],
    },
    "contributions": {
        "contribution_id": ["c1", "c2", "c3", "c4"],
        "person_id": ["ana", "ana", "ana", "carl"],
        "goal_id": ["SAVINGS_ACCOUNT"] * 4,
        "status": ["CONFIRMED", "CONFIRMED", "REJECTED", "CONFIRMED"],
        "amount_cents": [20_000, 12_000, 9_900, 20_000],
        "effective_at": [may(2), may(14, 23, 59), may(3), may(1, 0)],
    },
}


class SmallGold:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "gold"
        self.rules = f"sqlite:///{folder / 'rules.db'}"
        self.tables = deepcopy(TABLES)
        self.types: dict[str, Any] = dict(TYPES)
        self.as_spark_writes = False
        """Spark writes timestamps in 96 bits, unless it is told otherwise."""
        write_rules(self.rules, RULES)

    @property
    def contributions(self) -> Columns:
        return self.tables["contributions"]

    def contribute(self, **given: Any) -> None:
        """Adds a contribution; what is not given is that of Ana's first."""
        number = len(self.contributions["contribution_id"]) + 1
        row = {name: values[0] for name, values in TABLES["contributions"].items()}
        for name, value in (row | {"contribution_id": f"c{number}"} | given).items():
            self.contributions[name].append(value)

    def write(self) -> BatchInputs:
        for name, columns in self.tables.items():
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            arrays = {column: pa.array(values, self.types.get(column)) for column, values in columns.items()}
            file = self.folder / name / "part-0.parquet"
            pq.write_table(pa.table(arrays), file, use_deprecated_int96_timestamps=self.as_spark_writes)
        return BatchInputs(self.folder, self.rules, AS_OF)


FOLDERS = ("gold[12]", "gold*", "gold?", "{gold1,gold2}", "gold [!a] 100%20", "[", "**")
"""Names that an engine could take for patterns."""


def pattern_folder(parent: Path, name: str) -> BatchInputs:
    """The small gold in a folder of this name, beside other golds that the name matches as a pattern."""
    for other in ("gold1", "gold2"):
        there = SmallGold(parent)
        there.folder = parent / other
        there.tables["customers"]["person_id"][0] = "of another gold"
        there.write()
    gold = SmallGold(parent)
    gold.folder = parent / name
    return gold.write()
