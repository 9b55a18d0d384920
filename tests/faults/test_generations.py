"""Readers never see half a load: loads are killed at any moment, two race, and readers read all the while."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

import sortkey as sk
from sortkey.patterns.generation.pointer import LOADING
from tests.faults.generation_loader import DAY, PART, PEOPLE, PERSONS, START, LoadedPerson, load_days
from tests.faults.processes import Running, pause

KILLS = 8
pytestmark = pytest.mark.slow


async def read_until(done: asyncio.Event, db: sk.AsyncSession, seed: int) -> set[int]:
    """Reads some persons again and again: all are there and of one day, and days do not go back. Returns the days."""
    random, reader = Random(seed), PEOPLE.reader(db, renew=0.005)
    days = [0]
    while not done.is_set():
        wanted = random.sample(range(PERSONS), 5)
        found = await reader.lookup([{"person": number} for number in wanted])
        one = await reader.get(person=wanted[0])
        seen = {None if each is None else each.day for each in found}
        assert len(seen) == 1, found
        day = seen.pop()
        assert day is not None or days == [0]
        if day is not None:
            assert one is not None
            assert days[-1] <= day <= one.day
            days.append(one.day)
        # Others have their turn: the store is in the process, so a read does not wait.
        await asyncio.sleep(0.001)
    return set(days)


async def served_day(db: sk.AsyncSession) -> int:
    served = await PEOPLE.reader(db).current()
    return 0 if served is None else (served.as_of - START) // DAY


async def race_and_kill(db: sk.AsyncSession, folder: Path) -> list[str]:
    """Two loads at a time, killed one after the other, each replaced by a new one. Returns what all of them said."""
    said: list[str] = []
    running = [Running(load_days, folder, seed) for seed in range(2)]
    for seed in range(2, 2 + KILLS):
        killed = running.pop(0)
        await asyncio.to_thread(killed.read_more, Random(seed).randint(1, 2 * PERSONS // PART))
        await asyncio.to_thread(pause, seed, 1)
        lines = await asyncio.to_thread(killed.kill)
        published = [int(line.split()[1]) for line in lines if line.startswith("published")]
        assert await served_day(db) >= max(published, default=0)
        said += lines
        running.append(Running(load_days, folder, seed))
    for each in running:
        said += await asyncio.to_thread(each.end)
    return said


def test_readers_never_see_half_a_load(tmp_path: Path) -> None:
    async def test() -> None:
        async with sk.async_connect(tmp_path, tables=PEOPLE.tables) as db:
            await db.create_tables()
            done = asyncio.Event()
            readers = [asyncio.create_task(read_until(done, db, seed)) for seed in range(2)]
            try:
                said = await race_and_kill(db, tmp_path)
            finally:
                done.set()
            days = set[int]().union(*[await reader for reader in readers])
            assert len(days) > 2, "the loads were too slow for the readers to see any change"
            assert any(line.startswith("published") for line in said)
            unfinished = [each for each in await PEOPLE._book(db).generations() if each.state == LOADING]
            assert unfinished, "no kill fell into a load"
            await only_what_is_kept_stays(db)

    asyncio.run(test())


async def only_what_is_kept_stays(db: sk.AsyncSession) -> None:
    at_once = sk.patterns.generations(LoadedPerson, grace=timedelta(0), abandoned=timedelta(0))
    # Twice: a write during which a process was killed may take effect with the next write of another process, and looks
    # to the first pass as if the load went on.
    removed = [(await at_once.remove_old(db)).rows for _ in range(2)]
    rows: dict[str, int] = {}
    async for each in db.scan(LoadedPerson):
        rows[each.generation] = rows.get(each.generation, 0) + 1
    assert sum(removed) > 0
    assert rows == dict.fromkeys((await PEOPLE._book(db).pointer()).ids, PERSONS)
