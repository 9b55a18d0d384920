"""Persons that are loaded in bulk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.model.calls.steps import Pacing

AS_OF = datetime(2026, 5, 16, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


class Person(sk.Item, table=sk.Table("generation-persons")):
    generation: str = ""
    person: str
    day: int
    """Which load it is of."""
    key = sk.Key("GENERATION#{generation}#PERSON#{person}")


class Note(sk.Item, table=Person.__table__):
    """Another class in the table, which loads and removals leave alone."""

    id: str
    key = sk.Key("NOTE#{id}")


PEOPLE = sk.patterns.generations(Person, grace=HOUR, abandoned=DAY)


def persons(day: int, names: Iterable[str] = ("ada", "bob")) -> Iterator[Person]:
    return (Person(person=name, day=day) for name in names)


def as_of(day: int) -> datetime:
    return AS_OF + day * DAY


def run(
    test: Callable[[sk.AsyncSession], Awaitable[None]], store: str = "memory:", clock: ManualClock | None = None
) -> None:
    """Runs a test in a store with all tables. The reader's time is the clock's, too, if there is one."""

    async def opened() -> None:
        pacing = None if clock is None else Pacing(monotonic=clock.now)
        async with sk.async_connect(store, tables=PEOPLE.tables, clock=clock, pacing=pacing) as db:
            await db.create_tables()
            await test(db)

    asyncio.run(opened())


async def days(db: sk.AsyncSession, *names: str) -> list[int | None]:
    """What a new reader sees."""
    reader = PEOPLE.reader(db)
    found = [await reader.get(person=name) for name in names or ("ada", "bob")]
    return [None if each is None else each.day for each in found]


async def stored(db: sk.AsyncSession) -> dict[str, int]:
    """The number of rows of each generation."""
    rows: dict[str, int] = {}
    async for each in db.scan(Person):
        rows[each.generation] = rows.get(each.generation, 0) + 1
    return rows
