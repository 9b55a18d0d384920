"""Spark gives what DuckDB gives, row for row, and rejects in the same words. Few tests: a session starts slowly."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import sortkey as sk
from sortkey_services.goals.batch.batch_run import BatchFailed, BatchRejected, BatchRun
from sortkey_services.goals.batch.demo_gold import demo_rules, write_gold
from sortkey_services.goals.batch.engine import Engine
from sortkey_services.goals.batch.job import BatchInputs, run_batch
from sortkey_services.goals.batch.person_goals import PartitionWrite
from sortkey_services.goals.batch.spark_engine import SparkEngine, reason
from sortkey_services.goals.model import PENDING, KnownEvent, PersonView, Reconciliation, pending_row, views
from sortkey_services.goals.rules_database import write_rules
from tests.sortkey_services.goals.batch.small_gold import AS_OF, SmallGold, may, pattern_folder

pytestmark = pytest.mark.slow

NOW = datetime(2026, 5, 16, 3, tzinfo=UTC)


async def table(inputs: BatchInputs, engine: Engine | None = None, store: str = "memory:") -> list[PersonView]:
    """What is served after a load, in the order of the persons."""
    async with sk.async_connect(store) as db:
        served = (await run_batch(db, inputs, now=NOW, engine=engine)).served
        found = [sk.replace(each, generation="") async for each in db.scan(PersonView) if each.generation == served.id]
    assert len(found) == served.rows
    return sorted(found, key=lambda person: person.person)


def test_both_engines_serve_the_same(spark: SparkEngine, gold: SmallGold, tmp_path: Path, postgres_url: str) -> None:
    write_rules(postgres_url, demo_rules())
    write_gold(tmp_path / "demo", persons=500, as_of=AS_OF)
    inputs = BatchInputs(tmp_path / "demo", postgres_url, AS_OF)
    served = asyncio.run(table(inputs, spark))
    assert served == asyncio.run(table(inputs))
    assert {goal.status for person in served for goal in person.goals} == {"NOT_STARTED", "IN_PROGRESS", "COMPLETED"}
    # Rules in SQLite, other types, a zone, the bounds of the month, and as-of by default.
    gold.types |= {"amount_cents": pa.int32(), "effective_at": pa.timestamp("ns", "+05:00")}
    gold.contribute(effective_at=may(1, 0), amount_cents=-5)
    gold.contribute(effective_at=may(16, 0), amount_cents=7)
    gold.contribute(effective_at=may(16, 0, 1), amount_cents=11)
    inputs = gold.write()._replace(as_of=None)
    served = asyncio.run(table(inputs))
    assert asyncio.run(table(inputs, spark)) == served
    gold.as_spark_writes = True
    assert asyncio.run(table(gold.write()._replace(as_of=None), spark)) == served


def test_partitions_write_to_an_endpoint(spark: SparkEngine, gold: SmallGold, our_endpoint: str) -> None:
    store = f"{our_endpoint}?prefix=by-partition-"
    inputs = gold.write()._replace(store=store)
    assert asyncio.run(table(inputs, spark, store)) == asyncio.run(table(inputs._replace(store=None)))
    asyncio.run(check_reconciliation(spark, gold, store))
    asyncio.run(check_rejections(spark, gold, store))


async def check_reconciliation(spark: SparkEngine, gold: SmallGold, store: str) -> None:
    """A deposit that came without an event, and one of the month before that did not come."""
    gold.contribute(effective_at=may(16, 9))
    inputs = gold.write()._replace(as_of=AS_OF + timedelta(days=1), store=store)
    april = datetime(2026, 4, 30, 22, tzinfo=UTC)
    async with sk.async_connect(store) as db:
        last = await db.get(Reconciliation.key(of="goals"))
        assert last is not None
        await db.put(sk.replace(last, as_of=april - timedelta(hours=1)))
        until = datetime(2126, 1, 1, tzinfo=UTC)
        event = KnownEvent(event="e", status=PENDING, updated=april, balance_cents=1, until=until)
        await db.put(pending_row("carl", "SAVINGS_ACCOUNT", [event], 0))
        counts = (await run_batch(db, inputs, engine=spark, now=NOW)).reconciled.counts
    # Ana's goal of May had no event, nor had Carl's: his is of April.
    assert (counts.never_came, counts.without_event) == (1, 2)


async def check_rejections(spark: SparkEngine, gold: SmallGold, store: str) -> None:
    """What is served does not change."""
    async with sk.async_connect(store) as db:
        served = await views.reader(db).current()
        gone = PartitionWrite("http://127.0.0.1:1", "nowhere", BatchRun(AS_OF, "2026-05"), NOW)
        with pytest.raises(BatchFailed, match=r"Spark could not write: .*127\.0\.0\.1:1") as failed:
            spark.write("SELECT * FROM person_goals", ("person_id", "goal_id"), gone)
        assert "\n" not in str(failed.value)
        gold.contributions["status"][0] = "LOST"
        with pytest.raises(BatchRejected, match="status must be CONFIRMED or REJECTED, not 'LOST'"):
            await run_batch(db, gold.write()._replace(store=store), engine=spark)
        file = gold.folder / "customers" / "part-0.parquet"
        file.write_bytes(b"PAR1" + bytes(300) + file.read_bytes()[304:])
        with pytest.raises(BatchRejected, match="Spark cannot run the job: ") as rejected:
            await run_batch(db, BatchInputs(gold.folder, gold.rules, AS_OF, store=store), engine=spark)
        assert "\n" not in str(rejected.value)
        assert await views.reader(db).current() == served


# Java's first line only names the call.
def test_the_reason_of_an_error() -> None:
    text = "An error occurred while calling o155.collectToPython.\n: org.SparkException: Not enough memory\n\tat org.X"
    assert reason(text) == "org.SparkException: Not enough memory"
    assert reason(f"{text}\nCaused by: java.io.IOException: No space left\n\tat java.Y") == (
        "java.io.IOException: No space left"
    )
    assert reason("") == "no reason is given"


@pytest.mark.parametrize("name", ["gold[12]", "{a,b} [!c]*? 100%20\\"])
def test_folders_whose_names_are_patterns(spark: SparkEngine, tmp_path: Path, name: str) -> None:
    inputs = pattern_folder(tmp_path, name)
    assert [person.person for person in asyncio.run(table(inputs, spark))] == ["ana", "bea", "carl"]
