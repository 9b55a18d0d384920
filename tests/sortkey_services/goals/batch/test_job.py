from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sortkey as sk
from sortkey_services.goals.batch.batch_run import BatchRejected
from sortkey_services.goals.batch.demo_gold import ANA, Deposit, demo_rules, write_gold
from sortkey_services.goals.batch.job import BatchInputs, run_batch
from sortkey_services.goals.batch.person_goals import person_views
from sortkey_services.goals.model import GoalView, PersonView, views
from sortkey_services.goals.rules import Rule, Rules
from sortkey_services.goals.rules_database import write_rules
from tests.sortkey_services.goals.batch.small_gold import AS_OF, FOLDERS, SmallGold, may, pattern_folder

pytestmark = pytest.mark.slow

NOW = datetime(2026, 5, 16, 3, tzinfo=UTC)


@asynccontextmanager
async def served_by(db: sk.AsyncSession) -> AsyncIterator[Callable[[str], Awaitable[PersonView | None]]]:
    reader = views.reader(db)

    async def get(person: str) -> PersonView | None:
        return await reader.get(person=person)

    yield get


async def persons_of(inputs: BatchInputs, *names: str, store: str = "memory:") -> dict[str, Any]:
    """What a new store serves after a load."""
    async with sk.async_connect(store) as db:
        await run_batch(db, inputs, now=NOW)
        async with served_by(db) as get:
            return {name: await get(name) for name in names}


def saved(inputs: BatchInputs, person: str = "ana") -> dict[str, int]:
    found = asyncio.run(persons_of(inputs, person))[person]
    return {goal.goal: goal.saved_cents for goal in found.goals}


# On each store: a load writes by another way on each.
async def served_on(store: str, inputs: BatchInputs) -> None:
    found = await persons_of(inputs, "ana", "carl", "bea", "nobody", store=store)
    assert sk.replace(found["ana"], generation="") == PersonView(
        person="ana",
        name="Ana Silva",
        tier="GOLD",
        language="pt-BR",
        notifications=True,
        goals=[
            GoalView(
                goal="GOVERNMENT_BONDS",
                target_cents=150_000,
                saved_cents=0,
                status="NOT_STARTED",
                rate=Decimal("0.12"),
                month="2026-05",
            ),
            GoalView(
                goal="SAVINGS_ACCOUNT",
                target_cents=50_000,
                saved_cents=32_000,
                status="IN_PROGRESS",
                rate=Decimal("0.08"),
                latest=datetime(2026, 5, 14, 23, 59, tzinfo=UTC),
                month="2026-05",
            ),
        ],
        updated=NOW,
        as_of=AS_OF,
    )
    assert [(goal.status, goal.rate) for goal in found["carl"].goals] == [("COMPLETED", Decimal("0.07"))]
    assert found["bea"].goals == []
    assert found["nobody"] is None


def test_a_load_serves_every_person(store: str, gold: SmallGold) -> None:
    asyncio.run(served_on(store, gold.write()))


# The month is that of UTC, from its first microsecond on; as-of itself counts.
def test_contributions_of_the_month_up_to_as_of_count(gold: SmallGold) -> None:
    micro = timedelta(microseconds=1)
    gold.contribute(effective_at=may(1, 0), amount_cents=1)
    gold.contribute(effective_at=may(1, 0) - micro, amount_cents=10)
    gold.contribute(effective_at=may(16, 0), amount_cents=100)
    gold.contribute(effective_at=may(16, 0) + micro, amount_cents=1000)
    inputs = gold.write()
    assert saved(inputs)["SAVINGS_ACCOUNT"] == 32_101
    after = inputs._replace(as_of=datetime(2026, 6, 2, tzinfo=UTC), month="2026-05")
    assert saved(after)["SAVINGS_ACCOUNT"] == 33_101


def test_an_as_of_in_another_zone_is_the_same_instant(gold: SmallGold) -> None:
    gold.contribute(effective_at=may(16, 0), amount_cents=1)
    gold.contribute(effective_at=may(16, 0, 1), amount_cents=1)
    inputs = gold.write()
    assert inputs.as_of is not None
    tokyo = inputs.as_of.astimezone(timezone(timedelta(hours=9)))
    assert saved(inputs._replace(as_of=tokyo)) == saved(inputs) == {"GOVERNMENT_BONDS": 0, "SAVINGS_ACCOUNT": 32_001}


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+05:00"])
def test_a_zone_in_the_file_makes_no_difference(gold: SmallGold, zone: str | None, unit: str) -> None:
    gold.contributions["effective_at"] = [may(16, 0), may(16, 0, 1), may(3), may(1, 0)]
    gold.types["effective_at"] = pa.timestamp(unit, zone)
    assert saved(gold.write())["SAVINGS_ACCOUNT"] == 20_000


def test_timestamps_as_spark_writes_them(gold: SmallGold) -> None:
    gold.contributions["effective_at"] = [may(16, 0), may(16, 0, 1), may(3), may(1, 0)]
    gold.as_spark_writes = True
    assert saved(gold.write())["SAVINGS_ACCOUNT"] == 20_000


def test_other_widths_of_texts_and_numbers_are_read(gold: SmallGold) -> None:
    gold.types |= {"amount_cents": pa.int32(), "target_cents": pa.int32(), "person_id": pa.large_string()}
    gold.types["status"] = pa.dictionary(pa.int8(), pa.string())
    assert saved(gold.write())["SAVINGS_ACCOUNT"] == 32_000


def test_withdrawals_count_and_do_not_start_a_goal(gold: SmallGold) -> None:
    gold.contribute(goal_id="GOVERNMENT_BONDS", amount_cents=-500)
    found = asyncio.run(persons_of(gold.write(), "ana"))["ana"]
    assert [(goal.saved_cents, goal.status) for goal in found.goals] == [(-500, "NOT_STARTED"), (32_000, "IN_PROGRESS")]


def test_the_rules_are_those_of_as_ofs_day_in_utc(gold: SmallGold) -> None:
    turn = AS_OF.date()
    bonds = [Rule("GOVERNMENT_BONDS", "GOLD", Decimal("0.12")), Rule("SAVINGS_ACCOUNT", "BASIC", Decimal(0))]
    old, new = (Rule("SAVINGS_ACCOUNT", "GOLD", Decimal(rate)) for rate in ("0.08", "0.09"))
    write_rules(gold.rules, Rules([old._replace(valid_to=turn), new._replace(valid_from=turn), *bonds]))
    inputs = gold.write()
    for as_of, rate in ((AS_OF, "0.09"), (AS_OF - timedelta(microseconds=1), "0.08")):
        found = asyncio.run(persons_of(inputs._replace(as_of=as_of), "ana"))["ana"]
        assert found.goals[1].rate == Decimal(rate)


# The time of the run would hide the deposits between the end of gold and the run.
def test_as_of_is_by_default_the_newest_contribution_that_is_not_in_the_future(gold: SmallGold) -> None:
    gold.contribute(effective_at=may(17), amount_cents=1)
    inputs = gold.write()._replace(as_of=None)
    found = asyncio.run(persons_of(inputs, "ana"))["ana"]
    assert found.as_of == datetime(2026, 5, 14, 23, 59, tzinfo=UTC)


def test_a_later_load_replaces_all_and_a_rollback_restores_all(gold: SmallGold) -> None:
    async def story() -> None:
        async with sk.async_connect("memory:") as db:
            first = await run_batch(db, gold.write(), now=NOW)
            for values in gold.tables["customers"].values():
                del values[1]
            second = await run_batch(db, gold.write()._replace(as_of=AS_OF + timedelta(days=1)), now=NOW)
            assert (first.persons, second.persons) == (3, 2)
            assert await views.reader(db).get(person="carl") is None
            assert (await views.roll_back(db)).id == first.served.id
            assert await views.reader(db).get(person="carl") is not None
            with pytest.raises(sk.patterns.NoEarlierGeneration):
                await views.roll_back(db)

    asyncio.run(story())


# A rollback must serve what was served before, not the same once more.
def test_the_same_batch_twice_leaves_what_a_rollback_serves(gold: SmallGold) -> None:
    async def story() -> None:
        async with sk.async_connect("memory:") as db:
            first = await run_batch(db, gold.write(), now=NOW)
            gold.contribute(amount_cents=1)
            inputs = gold.write()._replace(as_of=AS_OF + timedelta(days=1))
            for _ in range(2):
                await run_batch(db, inputs, now=NOW)
            assert (await views.roll_back(db)).id == first.served.id

    asyncio.run(story())


# Lisbon's May began an hour before that of UTC.
def test_a_month_begins_in_its_time_zone(gold: SmallGold) -> None:
    gold.contribute(effective_at=datetime(2026, 4, 30, 23, 30), amount_cents=1)  # noqa: DTZ001  the file has no zone
    inputs = gold.write()
    assert saved(inputs)["SAVINGS_ACCOUNT"] == 32_000
    assert saved(inputs._replace(timezone="Europe/Lisbon"))["SAVINGS_ACCOUNT"] == 32_001
    night = inputs._replace(as_of=datetime(2026, 4, 30, 23, 45, tzinfo=UTC), timezone="Europe/Lisbon")
    assert saved(night)["SAVINGS_ACCOUNT"] == 1, "as-of's month is that of the zone"


def test_an_older_as_of_than_what_is_served_is_rejected(gold: SmallGold) -> None:
    async def story() -> None:
        inputs = gold.write()
        async with sk.async_connect("memory:") as db:
            served = (await run_batch(db, inputs, now=NOW)).served
            with pytest.raises(sk.patterns.Superseded, match="served as of 2026-05-16T00:00:00"):
                await run_batch(db, inputs._replace(as_of=AS_OF - timedelta(days=1)), now=NOW)
            assert await views.reader(db).current() == served

    asyncio.run(story())


# Nothing served changes, and the next load with the same inputs goes on where this one stopped.
@pytest.mark.slow
def test_a_load_that_stops_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_gold(tmp_path / "gold", persons=2_000, as_of=AS_OF)
    rules = f"sqlite:///{tmp_path / 'rules.db'}"
    write_rules(rules, demo_rules())
    inputs = BatchInputs(tmp_path / "gold", rules, AS_OF)

    def interrupted(*arguments: Any) -> Any:
        for number, person in enumerate(person_views(*arguments)):
            if number == 1_500:
                raise BatchRejected("gold is gone")
            yield person

    async def story() -> None:
        async with sk.async_connect(f"file:{tmp_path / 'data'}") as db:
            monkeypatch.setattr("sortkey_services.goals.batch.job.person_views", interrupted)
            with pytest.raises(sk.LoadError, match="gold is gone"):
                await run_batch(db, inputs)
            assert await views.reader(db).current() is None
            monkeypatch.undo()
            result = await run_batch(db, inputs)
            assert (result.resumed_at, result.served.rows) == (1_000, 2_001)
            found = [each.person async for each in db.scan(PersonView) if each.generation == result.served.id]
            assert len(found) == len(set(found)) == 2_001

    asyncio.run(story())


def test_progress_ends_with_all_persons(gold: SmallGold) -> None:
    shown: list[tuple[int, int]] = []

    async def story() -> None:
        async with sk.async_connect("memory:") as db:
            await run_batch(db, gold.write(), progress=lambda done, total: shown.append((done, total)))

    asyncio.run(story())
    assert shown[-1] == (3, 3)


@pytest.mark.slow
def test_demo_gold_is_the_same_on_every_run(tmp_path: Path) -> None:
    write_rules(f"sqlite:///{tmp_path / 'rules.db'}", demo_rules())
    found = []
    for name in ("one", "two"):
        write_gold(tmp_path / name, persons=50, as_of=AS_OF)
        inputs = BatchInputs(tmp_path / name, f"sqlite:///{tmp_path / 'rules.db'}", AS_OF)
        one, other = asyncio.run(persons_of(inputs, ANA, "p0000007")).values()
        found.append((one.goals, other.goals, other.name))
    assert found[0] == found[1]
    assert [(goal.saved_cents, goal.target_cents) for goal in found[0][0]] == [
        (200_000, 200_000),
        (0, 150_000),
        (32_000, 50_000),
    ]


def test_demo_gold_takes_more_deposits(tmp_path: Path) -> None:
    write_rules(f"sqlite:///{tmp_path / 'rules.db'}", demo_rules())
    deposit = Deposit("d-1", ANA, "SAVINGS_ACCOUNT", 5_000, AS_OF)
    write_gold(tmp_path / "gold", persons=2, as_of=AS_OF, deposits=[deposit])
    inputs = BatchInputs(tmp_path / "gold", f"sqlite:///{tmp_path / 'rules.db'}", AS_OF)
    assert saved(inputs, ANA)["SAVINGS_ACCOUNT"] == 37_000


# What a killed writer leaves behind is in such folders.
@pytest.mark.parametrize("name", ["_temporary/0/part-1.parquet", ".part-1.parquet", "_part-1.parquet"])
def test_unfinished_files_are_left_out(gold: SmallGold, name: str) -> None:
    inputs = gold.write()
    beside = gold.folder / "contributions" / name
    beside.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(gold.folder / "contributions" / "part-0.parquet", beside)
    assert saved(inputs)["SAVINGS_ACCOUNT"] == 32_000


# Writers change over the months.
def test_files_of_one_table_may_differ_in_their_types(gold: SmallGold) -> None:
    gold.types |= {"amount_cents": pa.int32(), "effective_at": pa.timestamp("ms")}
    gold.write()
    (gold.folder / "contributions" / "part-0.parquet").rename(gold.folder / "contributions" / "old.parquet")
    gold.types |= {"amount_cents": pa.int64(), "effective_at": pa.timestamp("ns", "UTC")}
    gold.contributions["contribution_id"] = [f"new-{number}" for number in range(4)]
    gold.contributions["amount_cents"][0] = 3 * 10**9
    assert saved(gold.write())["SAVINGS_ACCOUNT"] == 32_000 + 3 * 10**9 + 12_000


def test_ids_with_unusual_letters_are_served(gold: SmallGold) -> None:
    for table in gold.tables.values():
        table["person_id"] = ["Zoë-漢" if each == "ana" else each for each in table["person_id"]]
    assert saved(gold.write(), "Zoë-漢")["SAVINGS_ACCOUNT"] == 32_000


# DuckDB takes every path as a pattern: the folder gold[12] was read as gold1 and gold2.
@pytest.mark.parametrize("name", [*FOLDERS, "back\\slash"])
def test_folders_whose_names_are_patterns(tmp_path: Path, name: str) -> None:
    found = asyncio.run(persons_of(pattern_folder(tmp_path, name), "ana", "of another gold"))
    assert found["ana"].name == "Ana Silva"
    assert found["of another gold"] is None


def test_a_folder_that_duckdb_cannot_name(tmp_path: Path) -> None:
    with pytest.raises(BatchRejected, match="DuckDB cannot read a path with a backslash"):
        asyncio.run(persons_of(pattern_folder(tmp_path, "gold[12]\\")))
