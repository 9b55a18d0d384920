"""The job: checks its inputs, computes every person's goals by SQL, and serves them all at once.

Nothing is written before all inputs are checked. What is written is a new generation of `goal-views`, beside the one
that is served; publishing it is the last step, so a job that fails or is killed changes nothing that is served. A job
on DuckDB that was killed is resumed by the next one with the same inputs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple

import sortkey as sk
from sortkey.services.goals.batch import steps
from sortkey.services.goals.batch.batch_run import BatchRejected, BatchRun, batch_run, instant_of, micros_of
from sortkey.services.goals.batch.checks import check_gold
from sortkey.services.goals.batch.engine import Engine, open_engine
from sortkey.services.goals.batch.gold import Gold, find_gold
from sortkey.services.goals.batch.person_views import BY, person_views
from sortkey.services.goals.model import TABLES, PersonView, views
from sortkey.services.goals.rules import Rule, RulesError, read_rules

_PART: Final = 1_000
"""Persons that are made at a time, in a thread beside the event loop."""
_ALL: Final = "SELECT * FROM person_goals"


class BatchInputs(NamedTuple):
    gold: Path
    """The folder with the Parquet files."""
    rules: str
    """The URL of the database with the rules."""
    as_of: datetime | None = None
    """The instant up to which gold is complete; by default, that of its newest contribution, unless in the future."""
    month: str | None = None
    """`YYYY-MM`; by default as-of's, in UTC."""
    engine: str = "duckdb"
    master: str | None = None
    """Spark's master; by default, all processors of this machine."""
    competes_as: datetime | None = None
    """The as-of under which the load competes with others, of which the latest wins; by default `as_of`."""


class BatchResult(NamedTuple):
    run: BatchRun
    served: sk.Served
    persons: int
    resumed_at: int
    """So many of the persons had been written by an earlier attempt."""


class _Prepared(NamedTuple):
    """Inputs that were checked."""

    engine: Engine
    run: BatchRun
    persons: int
    source: str


async def run_batch(
    session: sk.AsyncSession, inputs: BatchInputs, *, now: datetime | None = None, progress: sk.Progress | None = None
) -> BatchResult:
    """Raises BatchRejected for wrong inputs, Superseded if a later as-of is served, LoadError if the store fails. What
    is served has not changed then."""
    updated = now or datetime.now(UTC)
    prepared = await asyncio.to_thread(_prepare, inputs, updated)
    try:
        await session.create_tables(*TABLES)
        as_of = inputs.competes_as or prepared.run.as_of
        load = await views.begin(session, as_of=as_of, source=prepared.source)
        await _write(load, prepared, updated, progress)
        served = await load.publish()
    finally:
        await asyncio.to_thread(prepared.engine.close)
    return BatchResult(prepared.run, served, prepared.persons, load.resumed_at)


async def roll_back(session: sk.AsyncSession) -> sk.Served:
    """Serves the generation before. Raises NoEarlierGeneration if none is kept."""
    await session.create_tables(*TABLES)
    return await views.roll_back(session)


def _prepare(inputs: BatchInputs, now: datetime) -> _Prepared:
    """The views of all steps, over inputs that are right."""
    try:
        rules = read_rules(inputs.rules)
    except RulesError as error:
        raise BatchRejected(f"--rules: {error}") from None
    gold = find_gold(inputs.gold)
    engine = open_engine(inputs.engine, inputs.master)
    try:
        for name, files in gold.files.items():
            engine.read(f"gold_{name}", files)
        engine.view("contributions", steps.CONTRIBUTIONS)
        run = batch_run(inputs.as_of or _newest(engine, now), inputs.month)
        valid = rules.on(run.day)
        _register(engine, run, valid)
        persons = check_gold(engine, run)
    except BaseException:
        engine.close()
        raise
    return _Prepared(engine, run, persons, _source(gold, valid, run, inputs.engine))


def _newest(engine: Engine, now: datetime) -> datetime:
    """Gold says by itself how far it goes. The time of the run would hide deposits that gold does not have yet."""
    newest = f"SELECT max(effective_micros) FROM contributions WHERE effective_micros <= {micros_of(now)}"
    ((found,),) = engine.ask(newest)
    if found is None:
        raise BatchRejected(
            "contributions: there is none, so they do not tell up to when gold is complete; give --as-of"
        )
    return instant_of(found)


def _register(engine: Engine, run: BatchRun, valid: list[Rule]) -> None:
    bounds = {"month": "STRING", "first_micros": "BIGINT", "end_micros": "BIGINT", "as_of_micros": "BIGINT"}
    row = (run.month, micros_of(run.first), micros_of(run.end), micros_of(run.as_of))
    engine.table("batch_run", bounds, [row])
    columns = {"goal_id": "STRING", "tier": "STRING", "special_rate": "STRING"}
    engine.table("rules", columns, [(rule.goal, rule.tier, str(rule.rate)) for rule in valid])
    for name, sql in steps.VIEWS.items():
        engine.view(name, sql)


def _source(gold: Gold, valid: list[Rule], run: BatchRun, engine: str) -> str:
    """Names everything that the persons follow from, and their order."""
    rules = blake2b(repr(sorted(valid, key=lambda rule: rule[:2])).encode(), digest_size=12).hexdigest()
    return f"{engine} {run.month} gold:{gold.fingerprint} rules:{rules}"


async def _write(
    load: sk.Load[PersonView], prepared: _Prepared, updated: datetime, progress: sk.Progress | None
) -> None:
    rows = chain.from_iterable(prepared.engine.rows(_ALL, BY))
    persons = person_views(rows, prepared.run, updated)

    def show(loaded: sk.Loaded) -> None:
        if progress is not None:
            progress(loaded.position, prepared.persons)

    await load.write(_in_thread(persons), progress=show)


async def _in_thread(persons: Iterator[PersonView]) -> AsyncIterator[PersonView]:
    """The engine computes while the event loop serves others."""
    while part := await asyncio.to_thread(lambda: list(islice(persons, _PART))):
        for person in part:
            yield person
