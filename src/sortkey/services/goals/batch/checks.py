"""What must be true of the gold tables before anything is written. Each check names what is wrong, with an example."""

from __future__ import annotations

from operator import itemgetter
from typing import Final, NamedTuple

from sortkey.services.goals.batch.batch_run import BatchRejected, BatchRun
from sortkey.services.goals.batch.engine import Engine
from sortkey.services.goals.batch.gold import TABLES

MAX_ID: Final = 256
"""Characters of an id: keys hold it."""


class Check(NamedTuple):
    """Wrong if there is such a row; the message shows its columns, as texts."""

    message: str
    columns: tuple[str, ...]
    rows: str
    """What follows FROM."""

    def sql(self, number: int) -> str:
        shown = [*self.columns, *["NULL"] * (_COLUMNS - len(self.columns))]
        columns = ", ".join(f"CAST({each} AS STRING) AS shown_{place}" for place, each in enumerate(shown))
        return f"SELECT {number} AS number, * FROM (SELECT {columns} FROM {self.rows} LIMIT 1) AS check_{number}"


_COLUMNS: Final = 4
_IDS: Final = {
    "customers": ("person_id",),
    "goals": ("person_id", "goal_id"),
    "contributions": ("person_id", "goal_id"),
}

CHECKS: Final = (
    *(
        Check(
            f"{table}: {column} must have 1 to {MAX_ID} characters, not {{0!r}}",
            (column,),
            f"gold_{table} WHERE {column} = '' OR length({column}) > {MAX_ID}",
        )
        for table, columns in _IDS.items()
        for column in columns
    ),
    Check(
        "contributions: status must be CONFIRMED or REJECTED, not {0!r} (contribution {1})",
        ("status", "contribution_id"),
        "gold_contributions WHERE status NOT IN ('CONFIRMED', 'REJECTED')",
    ),
    Check(
        "goals: target_cents must not be below 0, as {0} of {1}, {2}",
        ("target_cents", "person_id", "goal_id"),
        "gold_goals WHERE target_cents < 0",
    ),
    Check(
        "customers: person_id {0!r} is there {1} times; each person must be there once",
        ("person_id", "count(*)"),
        "gold_customers GROUP BY person_id HAVING count(*) > 1",
    ),
    Check(
        "goals: {0}, {1} is there {3} times in {2}; each goal must be there once in a month",
        ("person_id", "goal_id", "goals.month", "count(*)"),
        "gold_goals AS goals JOIN batch_run ON goals.month = batch_run.month"
        " GROUP BY person_id, goal_id, goals.month HAVING count(*) > 1",
    ),
    Check(
        "contributions: contribution_id {0!r} is there {1} times in the month; the sums would be too high",
        ("contribution_id", "count(*)"),
        "of_month GROUP BY contribution_id HAVING count(*) > 1",
    ),
    Check(
        "rules: no rule for {0}, tier {1}, holds on {day}; add one to goal_rules",
        ("goal_id", "tier"),
        "person_goals WHERE goal_id IS NOT NULL AND special_rate IS NULL",
    ),
)
_ALL: Final = " UNION ALL ".join(check.sql(number) for number, check in enumerate(CHECKS))
"""One query: on Spark, each has a cost of its own."""


def check_gold(engine: Engine, run: BatchRun) -> int:
    """Raises BatchRejected for the first thing that is wrong. Returns the number of persons."""
    rows = {table: _check_nulls(engine, table) for table in TABLES}
    if not rows["customers"]:
        raise BatchRejected("customers: there is no row; an empty load would answer 404 for everybody")
    ((goals,),) = engine.ask("SELECT count(*) FROM gold_goals AS goals JOIN batch_run ON goals.month = batch_run.month")
    if not goals:
        raise BatchRejected(f"goals: there is no goal for the month {run.month}; name another with --month")
    for number, *shown in sorted(engine.ask(_ALL), key=itemgetter(0)):
        raise BatchRejected(CHECKS[number].message.format(*shown, day=run.day))
    return rows["customers"]


def _check_nulls(engine: Engine, table: str) -> int:
    """The number of rows."""
    columns = TABLES[table]
    ((rows, *filled),) = engine.ask(
        f"SELECT count(*), {', '.join(f'count({name})' for name in columns)} FROM gold_{table}"
    )
    for name, number in zip(columns, filled, strict=True):
        if number < rows:
            raise BatchRejected(f"{table}: {name} is null in {rows - number:,} of {rows:,} rows; it must have a value")
    return int(rows)
