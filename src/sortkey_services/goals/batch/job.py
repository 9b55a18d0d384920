"""The job: checks its inputs, computes every person's goals by SQL, and serves them all at once.

Nothing is written before all inputs are checked. What is written is a new generation of `goal-views`, beside the one
that is served; publishing it is the last step, so a job that fails or is killed changes nothing that is served. A job
that was killed is resumed by the next one with the same inputs, unless Spark's own processes write.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

import sortkey as sk
from sortkey.object_storage import Address
from sortkey_services.goals.batch.batch_run import (
    BatchFailed,
    BatchRejected,
    BatchRun,
    NotReconciled,
    batch_run,
    instant_of,
    micros_of,
)
from sortkey_services.goals.batch.engine import Engine, PartitionedEngine, open_engine, reads_in_place
from sortkey_services.goals.batch.gold import COLUMNS, INSTANT, Gold, check_gold, find_gold, readable
from sortkey_services.goals.batch.person_goals import BY, CONTRIBUTIONS, STEPS, PartitionWrite, person_views
from sortkey_services.goals.batch.reached_goals import note_reached
from sortkey_services.goals.batch.reconciliation import Reconciled, Reconciler
from sortkey_services.goals.model import TABLES, PersonView, views
from sortkey_services.goals.rules import Rule, Rules, RulesError, read_rules

_PART: Final = 1_000
"""Persons that are made at a time, in a thread beside the event loop."""
_SHOWN: Final = 0.5
"""Seconds between two looks at the progress of the engine's processes."""
_REMOTE: Final = ("http", "https", "dynamodb")
_ALL: Final = "SELECT * FROM person_goals"


class BatchInputs(NamedTuple):
    gold: Path | Address
    """The folder with the Parquet files, or its address on object storage."""
    rules: str
    """The URL of the database with the rules."""
    as_of: datetime | None = None
    """The instant up to which gold is complete; by default, that of its newest contribution, unless in the future."""
    month: str | None = None
    """`YYYY-MM`; by default as-of's."""
    timezone: str = "UTC"
    """In which a month begins."""
    engine: str = "duckdb"
    master: str | None = None
    """Spark's master; by default, all processors of this machine."""
    store: str | None = None
    """The URL of the store, by which Spark's own processes open it; without it, this process writes."""
    competes_as: datetime | None = None
    """The as-of with which the load competes with others; by default as-of. Demonstration data has an early one, so
    that every other load replaces it."""


class BatchResult(NamedTuple):
    run: BatchRun
    served: sk.patterns.Served
    persons: int
    resumed_at: int
    """So many of the persons had been written by an earlier attempt."""
    reconciled: Reconciled
    reached: int
    """So many goals were found completed for the first time in their month."""


class _Prepared(NamedTuple):
    """Inputs that were checked."""

    engine: Engine
    gold: Gold
    run: BatchRun
    persons: int
    source: str
    shared_store: str | None
    """The store's URL, if the engine's processes write."""
    competes_as: datetime


async def run_batch(
    session: sk.AsyncSession,
    inputs: BatchInputs,
    *,
    now: datetime | None = None,
    progress: sk.services.Progress | None = None,
    copying: sk.services.Progress | None = None,
    engine: Engine | None = None,
) -> BatchResult:
    """Raises BatchRejected for wrong inputs, Superseded if a later as-of is served, LoadError or BatchFailed if a load
    fails. What is served has not changed then. `copying` is told of bytes that come from object storage. `engine` is
    one that is open already, and stays open."""
    rules, gold = await asyncio.to_thread(_read, inputs)
    in_place = reads_in_place(inputs.engine, inputs.master)
    async with readable(gold, in_place=in_place, show=copying) as files:
        return await _run(session, inputs, rules, files, now or datetime.now(UTC), progress, engine)


async def _run(
    session: sk.AsyncSession,
    inputs: BatchInputs,
    rules: Rules,
    gold: Gold,
    updated: datetime,
    progress: sk.services.Progress | None,
    engine: Engine | None,
) -> BatchResult:
    running = engine
    if running is None:
        running = await asyncio.to_thread(open_engine, inputs.engine, inputs.master)
    try:
        prepared = await asyncio.to_thread(_prepare, running, inputs, rules, gold, updated)
        await session.create_tables(*TABLES)
        try:
            served, resumed_at = await _load(session, prepared, updated, progress)
        except (BotoCoreError, ClientError) as error:
            raise BatchFailed(f"the store failed: {' '.join(str(error).split())}") from error
        reached, reconciled = await _follow_up(session, prepared, updated, served)
        return BatchResult(prepared.run, served, prepared.persons, resumed_at, reconciled, reached)
    finally:
        if engine is None:
            await asyncio.to_thread(running.close)


def _read(inputs: BatchInputs) -> tuple[Rules, Gold]:
    """What can be checked without an engine."""
    try:
        return read_rules(inputs.rules), find_gold(inputs.gold)
    except RulesError as error:
        raise BatchRejected(f"--rules: {error}") from None


def _prepare(engine: Engine, inputs: BatchInputs, rules: Rules, gold: Gold, now: datetime) -> _Prepared:
    """The views of all steps, over inputs that are right."""
    for name in COLUMNS:
        _read_table(engine, name, gold)
    engine.view("contributions", CONTRIBUTIONS)
    run = batch_run(inputs.as_of or _newest(engine, now), inputs.month, inputs.timezone)
    valid = rules.on(run.day)
    _register(engine, run, valid)
    persons = check_gold(engine, run)
    source, store = _source(gold, valid, run, inputs.engine), _shared_store(engine, inputs.store)
    return _Prepared(engine, gold, run, persons, source, store, inputs.competes_as or run.as_of)


def _read_table(engine: Engine, name: str, gold: Gold) -> None:
    columns = COLUMNS[name]
    shown = ", ".join(
        column if kind is INSTANT else f"CAST({column} AS {kind.sql}) AS {column}" for column, kind in columns.items()
    )
    instants = [column for column, kind in columns.items() if kind is INSTANT]
    for number, files in enumerate(gold.files[name]):
        engine.read(f"files_{name}_{number}", files, instants)
    parts = (f"SELECT {shown} FROM files_{name}_{number}" for number in range(len(gold.files[name])))
    engine.view(f"gold_{name}", " UNION ALL ".join(parts))


def _shared_store(engine: Engine, store: str | None) -> str | None:
    """The URL of the store if the engine's processes shall write. Into a folder, this process writes: a folder is on
    one machine, has one writer at a time, and Spark's processes took twice the processor time there."""
    if store is None or not isinstance(engine, PartitionedEngine) or not engine.writes_by_partition:
        return None
    return store if store.partition(":")[0] in _REMOTE else None


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
    row = (run.month, *map(micros_of, run.bounds), micros_of(run.as_of))
    engine.table("batch_run", bounds, [row])
    columns = {"goal_id": "STRING", "tier": "STRING", "special_rate": "STRING"}
    engine.table("rules", columns, [(rule.goal, rule.tier, str(rule.rate)) for rule in valid])
    for name, sql in STEPS.items():
        engine.view(name, sql)


def _source(gold: Gold, valid: list[Rule], run: BatchRun, engine: str) -> str:
    """Names everything that the persons follow from, and their order."""
    rules = blake2b(repr(sorted(valid, key=lambda rule: rule[:2])).encode(), digest_size=12).hexdigest()
    return f"{engine} {run.month} {run.timezone} {run.as_of.isoformat()} gold:{gold.fingerprint} rules:{rules}"


async def _load(
    session: sk.AsyncSession, prepared: _Prepared, updated: datetime, progress: sk.services.Progress | None
) -> tuple[sk.patterns.Served, int]:
    """What is served, and where an earlier attempt had stopped."""
    # What partitions have written has no order, so it cannot be resumed.
    resume = prepared.shared_store is None
    load = await views.begin(session, as_of=prepared.competes_as, source=prepared.source, resume=resume)
    if resume:
        await _write(load, prepared, updated, progress)
        await asyncio.to_thread(prepared.gold.require_unchanged)
        served = await load.publish()
    else:
        try:
            written = await _write_by_partition(load, prepared, updated, progress)
            await asyncio.to_thread(prepared.gold.require_unchanged)
        except BatchFailed:
            await load.discard()
            raise
        served = await load.publish(rows=written)
    return served, load.resumed_at


async def _follow_up(
    session: sk.AsyncSession, prepared: _Prepared, now: datetime, served: sk.patterns.Served
) -> tuple[int, Reconciled]:
    try:
        reached = await note_reached(session, prepared.engine, prepared.run, now)
        return reached, await Reconciler(session, prepared.engine, prepared.run, now).run()
    except (BotoCoreError, ClientError, sk.ModelError, BatchRejected) as error:
        what = f"generation {served.id} is served, but was not reconciled: {' '.join(str(error).split())}"
        raise NotReconciled(f"{what}; the same command does both again") from error


async def _write_by_partition(
    load: sk.patterns.GenerationLoad[PersonView],
    prepared: _Prepared,
    updated: datetime,
    progress: sk.services.Progress | None,
) -> int:
    engine, store = prepared.engine, prepared.shared_store
    assert isinstance(engine, PartitionedEngine)
    assert store is not None
    write = PartitionWrite(store, load.id, prepared.run, updated)
    writing = asyncio.create_task(asyncio.to_thread(engine.write, _ALL, BY, write))
    while not writing.done():
        await asyncio.wait({writing}, timeout=_SHOWN)
        if progress is not None:
            progress(engine.written, prepared.persons)
    written = await writing
    if written != prepared.persons:
        raise BatchFailed(f"{written:,} of {prepared.persons:,} persons were written; did gold change meanwhile?")
    return written


async def _write(
    load: sk.patterns.GenerationLoad[PersonView],
    prepared: _Prepared,
    updated: datetime,
    progress: sk.services.Progress | None,
) -> None:
    rows = chain.from_iterable(prepared.engine.rows(_ALL, BY))
    persons = person_views(rows, prepared.run, updated)

    def show(loaded: sk.LoadResult) -> None:
        if progress is not None:
            progress(loaded.position, prepared.persons)

    await load.write(_in_thread(persons), progress=show)


async def _in_thread(persons: Iterator[PersonView]) -> AsyncIterator[PersonView]:
    """The engine computes while the event loop serves others."""
    while part := await asyncio.to_thread(lambda: list(islice(persons, _PART))):
        for person in part:
            yield person
