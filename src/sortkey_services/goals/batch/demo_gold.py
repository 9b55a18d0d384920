"""Gold tables and rules of any size, the same on every run: for the demonstration, the tests and the benchmark.

Persons are `p0000000` and on. Ana (`ana`) is written out, for the examples in the documentation: she has saved 320.00
of 500.00, nothing of 1,500.00, and all of 2,000.00.

The demonstration's batch also has the deposits that visitors have made. A real bank's gold has a deposit some hours
after its event. Here the gold of each batch is generated anew, and every pending balance that is stored becomes a
contribution: so a batch confirms what a visitor has posted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

import duckdb

import sortkey as sk
from sortkey_services.goals.batch.batch_run import micros_of
from sortkey_services.goals.batch.duckdb_engine import literal_path
from sortkey_services.goals.batch.job import BatchInputs
from sortkey_services.goals.ledger import balance, by_month
from sortkey_services.goals.model import DEMO_COMPETES_AS, GOALS, Pending
from sortkey_services.goals.months import month_of, zone_of
from sortkey_services.goals.rules import Rule, Rules
from sortkey_services.goals.rules_database import write_rules

TIERS: Final = ("BASIC", "SILVER", "GOLD")
RATES: Final = {"SAVINGS_ACCOUNT": "0.08", "GOVERNMENT_BONDS": "0.12", "CERTIFICATE_OF_DEPOSIT": "0.14"}
ANA: Final = "ana"
PERSONS: Final = 500
"""Of the demonstration."""
AFTER: Final = timedelta(hours=6)
"""How far gold goes beyond the instant up to which it is complete: systems deliver at different times."""
_PART: Final = 250_000
"""Persons in one file."""

Saved = Mapping[tuple[str, str], int]
"""Cents by person and goal."""


class Deposit(NamedTuple):
    """One more contribution."""

    contribution: str
    person: str
    goal: str
    cents: int
    at: datetime
    status: str = "CONFIRMED"


async def demo_inputs(
    session: sk.AsyncSession, folder: Path, now: datetime, as_of: datetime | None = None, timezone: str = "UTC"
) -> BatchInputs:
    """Writes gold and rules to a folder; gold is complete up to `as_of`, which is `now` by default."""
    complete = as_of or now
    pending = [each async for each in session.scan(Pending, undecodable="skip")]
    return await asyncio.to_thread(_write, folder, now, complete, pending, timezone)


def _write(folder: Path, now: datetime, as_of: datetime, pending: list[Pending], timezone: str) -> BatchInputs:
    gold = folder / "gold"
    # What is drawn depends on the day alone, so that a person's savings do not change from batch to batch.
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    write_gold(gold, persons=PERSONS, as_of=midnight)
    deposits = _deposits(pending, _saved(gold, as_of), now, timezone) if pending else []
    if deposits:
        write_gold(gold, persons=PERSONS, as_of=midnight, deposits=deposits)
    rules = f"sqlite:///{folder / 'rules.db'}"
    write_rules(rules, demo_rules())
    return BatchInputs(gold, rules, as_of, timezone=timezone, competes_as=DEMO_COMPETES_AS)


def _deposits(pending: list[Pending], saved: Saved, now: datetime, timezone: str) -> list[Deposit]:
    """One for each balance that is above what gold has. A balance below it never came, as far as gold knows."""
    zone = zone_of(timezone)
    found = []
    for row in pending:
        for month, events in by_month(row.events, zone).items():
            before = saved.get((row.person, row.goal), 0) if month == month_of(now, zone) else 0
            said = balance(events, before)
            at = events[-1].updated
            # One that is for another month than that of its time would be a contribution of that other month.
            if said.is_pending and said.cents is not None and month_of(at, zone) == month:
                name = f"visitor-{row.person}-{row.goal}-{month}"
                found.append(Deposit(name, row.person, row.goal, said.cents - before, at))
    return [each for each in found if each.cents > 0]


def _saved(gold: Path, as_of: datetime) -> Saved:
    files = literal_path(str(gold / "contributions")) + "/*.parquet"
    sums = """
        SELECT person_id, goal_id, sum(amount_cents)::BIGINT FROM read_parquet($1)
        WHERE status = 'CONFIRMED' AND epoch_us(effective_at) <= $2 GROUP BY ALL
    """
    with duckdb.connect() as connection:
        rows = connection.execute(sums, [files, micros_of(as_of)]).fetchall()
    return {(person, goal): cents for person, goal, cents in rows}


def demo_rules() -> Rules:
    """Better tiers have better rates; all rates rose in July 2025."""
    turn = date(2025, 7, 1)
    return Rules(
        rule
        for goal, rate in RATES.items()
        for step, tier in enumerate(TIERS)
        for rule in (
            Rule(goal, tier, Decimal(rate) + Decimal("0.005") * (step - 1), date(2020, 1, 1), turn),
            Rule(goal, tier, Decimal(rate) + Decimal("0.01") * (step - 1), turn, None),
        )
    )


def write_gold(folder: Path, *, persons: int, as_of: datetime, deposits: Sequence[Deposit] = ()) -> None:
    """Writes the tables of as-of's month (UTC); replaces those that are there. Deposits are added to what is drawn."""
    first = as_of.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(_MIX)
        for name, sql, examples in (
            ("customers", _CUSTOMERS, _ana_customer()),
            ("goals", _GOALS, _ana_goals(f"{first:%Y-%m}")),
            ("contributions", _CONTRIBUTIONS, _contributions([*_ana_deposits(first, as_of), *deposits])),
        ):
            _replace(folder / name)
            bounds = {"month": f"{first:%Y-%m}", "first": micros_of(first), "end": micros_of(as_of + AFTER)}
            for part, start in enumerate(range(0, persons, _PART)):
                numbers = {"start": start, "stop": min(start + _PART, persons)}
                _copy(connection, sql.format(**bounds, **numbers), folder / name / f"part-{part:05}.parquet")
            _copy(connection, examples, folder / name / "part-examples.parquet")


def _replace(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("part-*.parquet"):
        path.unlink()


def _copy(connection: duckdb.DuckDBPyConnection, sql: str, path: Path) -> None:
    quoted = str(path).replace("'", "''")
    connection.execute(f"COPY ({sql}) TO '{quoted}' (FORMAT parquet)")


# Numbers that look random and depend on nothing but their arguments, in every version of DuckDB.
_MIX: Final = """
CREATE MACRO mix(n, salt) AS
    ((((n * 31 + salt) * 2654435761) % 4294967296) * 40503 + (n * 31 + salt) * 9973) % 1000003
"""
_CUSTOMERS: Final = """
SELECT format('p{{:07d}}', n) AS person_id,
       ['Ana', 'Bruno', 'Chloé', 'Dmitri', 'Elif', 'Farid', 'Grace', 'Hana', 'Igor', 'Jun'][1 + mix(n, 1) % 10] || ' '
       || ['Silva', 'Costa', 'Martin', 'Ivanov', 'Yılmaz', 'Haddad', 'Okoye', 'Sato'][1 + mix(n, 2) % 8] AS name,
       ['BASIC', 'BASIC', 'BASIC', 'SILVER', 'SILVER', 'GOLD'][1 + mix(n, 3) % 6] AS tier,
       ['pt-BR', 'en-GB', 'de-DE'][1 + mix(n, 4) % 3] AS language,
       mix(n, 5) % 3 <> 0 AS notifications
FROM range({start}, {stop}) AS persons(n)
"""
_GOALS: Final = """
SELECT format('p{{:07d}}', n) AS person_id, goal_id, '{month}' AS month,
       (1 + mix(n, 10 + g) % 40)::BIGINT * 5000 AS target_cents
FROM range({start}, {stop}) AS persons(n),
     (VALUES (0, 'SAVINGS_ACCOUNT'), (1, 'GOVERNMENT_BONDS'), (2, 'CERTIFICATE_OF_DEPOSIT')) AS goals(g, goal_id)
"""
_CONTRIBUTIONS: Final = """
SELECT format('c{{:07d}}-{{}}-{{}}', n, g, k) AS contribution_id, format('p{{:07d}}', n) AS person_id, goal_id,
       CASE WHEN mix(n, 40 + 3 * g + k) % 20 = 0 THEN 'REJECTED' ELSE 'CONFIRMED' END AS status,
       (1 + mix(n, 50 + 3 * g + k) % 60000)::BIGINT AS amount_cents,
       make_timestamp({first} + mix(n, 60 + 3 * g + k) * (({end} - {first}) // 1000003)) AS effective_at
FROM range({start}, {stop}) AS persons(n),
     (VALUES (0, 'SAVINGS_ACCOUNT'), (1, 'GOVERNMENT_BONDS'), (2, 'CERTIFICATE_OF_DEPOSIT')) AS goals(g, goal_id),
     range(0, 3) AS several(k)
WHERE k < mix(n, 30 + g) % 4
"""


def _ana_customer() -> str:
    return (
        f"SELECT '{ANA}' AS person_id, 'Ana Silva' AS name, 'SILVER' AS tier, 'pt-BR' AS language,"
        " true AS notifications"
    )


def _ana_goals(month: str) -> str:
    values = ", ".join(
        f"('{ANA}', '{goal}', '{month}', {target}::BIGINT)"
        for goal, target in zip(GOALS, (50_000, 150_000, 200_000), strict=True)
    )
    return f"SELECT * FROM (VALUES {values}) AS goals(person_id, goal_id, month, target_cents)"


def _ana_deposits(first: datetime, as_of: datetime) -> list[Deposit]:
    def at(share: float) -> datetime:
        return first + share * (as_of - first)

    return [
        Deposit("ana-1", ANA, "SAVINGS_ACCOUNT", 20_000, at(0.25)),
        Deposit("ana-2", ANA, "SAVINGS_ACCOUNT", 12_000, at(0.5)),
        Deposit("ana-3", ANA, "SAVINGS_ACCOUNT", 9_900, at(0.6), "REJECTED"),
        Deposit("ana-4", ANA, "CERTIFICATE_OF_DEPOSIT", 200_000, at(0.3)),
    ]


def _contributions(deposits: Sequence[Deposit]) -> str:
    values = ", ".join(
        f"({', '.join(map(_literal, (each.contribution, each.person, each.goal, each.status)))}, {each.cents}::BIGINT,"
        f" make_timestamp({micros_of(each.at)}))"
        for each in deposits
    )
    columns = "contribution_id, person_id, goal_id, status, amount_cents, effective_at"
    return f"SELECT * FROM (VALUES {values}) AS contributions({columns})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
