"""Old generations are removed, and nothing else."""

from __future__ import annotations

import asyncio
from logging import INFO, WARNING
from unittest.mock import patch

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.patterns.generation.pointer import Pointer, PointerBook
from tests.patterns.generation.persons import DAY, HOUR, PEOPLE, Note, Person, as_of, days, persons, run, stored

NOTHING = ((), 0)


def test_what_is_served_and_the_one_before_are_kept(store: str) -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        await db.put(Note(id="1"))
        ids = [(await PEOPLE.load(db, persons(day), as_of=as_of(day))).id for day in (1, 2, 3)]
        assert await PEOPLE.remove_old(db) == NOTHING
        clock.advance(HOUR.total_seconds())
        assert await PEOPLE.remove_old(db) == ((ids[0],), 2)
        assert await stored(db) == {ids[1]: 2, ids[2]: 2}
        assert await db.get(Note.key(id="1")) is not None
        assert await PEOPLE.remove_old(db) == NOTHING

    run(test, store, clock)


def test_a_generation_that_was_rolled_back_is_removed() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        first, second = [await PEOPLE.load(db, persons(day), as_of=as_of(day)) for day in (1, 2)]
        await PEOPLE.roll_back(db)
        await PEOPLE.remove_old(db)
        clock.advance(HOUR.total_seconds())
        assert await PEOPLE.remove_old(db) == ((second.id,), 2)
        assert await stored(db) == {first.id: 2}

    run(test, clock=clock)


def test_a_load_is_removed_once_nothing_was_heard_of_it_for_long() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        load = await PEOPLE.begin(db, as_of=as_of(1))
        await load.write(persons(1))
        clock.advance(DAY.total_seconds() - 1)
        assert await PEOPLE.remove_old(db) == NOTHING
        clock.advance(1)
        await PEOPLE.remove_old(db)
        clock.advance(HOUR.total_seconds())
        assert await PEOPLE.remove_old(db) == ((load.id,), 2)

    run(test, clock=clock)


async def removed_while_frozen(db: sk.AsyncSession, clock: ManualClock) -> sk.patterns.GenerationLoad[Person]:
    """A load whose generation was removed, although its process lives."""
    load = await PEOPLE.begin(db, as_of=as_of(1))
    await load.write(persons(1))
    for _ in range(2):
        clock.advance(DAY.total_seconds())
        await PEOPLE.remove_old(db)
    assert await stored(db) == {}
    return load


def test_a_load_that_goes_on_after_its_removal_is_removed_again() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        load = await removed_while_frozen(db, clock)
        with pytest.raises(sk.patterns.Superseded):
            await load.write(persons(1, ("cyd",)))
        assert await stored(db) == {load.id: 1}
        clock.advance(HOUR.total_seconds())
        assert await PEOPLE.remove_old(db) == ((load.id,), 1)

    run(test, clock=clock)


# Its process wrote them after the removal, and died before it could say so.
def test_rows_of_a_generation_that_nobody_knows_are_removed_with_the_next() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        load = await removed_while_frozen(db, clock)
        await db.put(Person(generation=load.id, person="cyd", day=1))
        for day in (1, 2, 3):
            await PEOPLE.load(db, persons(day), as_of=as_of(day))
        await PEOPLE.remove_old(db)
        clock.advance(HOUR.total_seconds())
        assert (await PEOPLE.remove_old(db)).rows == 3
        assert load.id not in await stored(db)

    run(test, clock=clock)


# The load has read the pointer and its own state, and is frozen just before it puts the pointer.
def test_a_generation_is_not_published_after_its_removal_has_begun() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        load = await PEOPLE.begin(db, as_of=as_of(1))
        await load.write(persons(1))
        put = PointerBook._put

        async def freeze(book: PointerBook, pointer: Pointer) -> bool:
            for _ in range(2):
                clock.advance(DAY.total_seconds())
                await PEOPLE.remove_old(db)
            return await put(book, pointer)

        with patch.object(PointerBook, "_put", freeze), pytest.raises(sk.patterns.Superseded, match="was discarded"):
            await load.publish()
        assert await days(db) == [None, None]

    run(test, clock=clock)


# The load has read its own state before the mark, puts the pointer, and dies.
def test_a_generation_that_is_published_while_it_is_marked_stays() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        load = await PEOPLE.begin(db, as_of=as_of(1))
        await load.write(persons(1))
        put = PointerBook._put

        async def mark_first(book: PointerBook, pointer: Pointer) -> bool:
            clock.advance(DAY.total_seconds())
            assert await PEOPLE.remove_old(db) == NOTHING
            assert await put(book, pointer)
            raise InterruptedError

        with patch.object(PointerBook, "_put", mark_first), pytest.raises(InterruptedError):
            await load.publish()
        clock.advance(HOUR.total_seconds())
        assert await PEOPLE.remove_old(db) == NOTHING
        assert await days(db) == [1, 1]
        (generation,) = await PEOPLE._book(db).generations()
        assert (generation.state, generation.retired) == ("PUBLISHED", None)

    run(test, clock=clock)


def test_a_remover_works_in_the_background(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        for day in (1, 2, 3):
            await PEOPLE.load(db, persons(day), as_of=as_of(day))
        await PEOPLE.remove_old(db)
        clock.advance(HOUR.total_seconds())
        async with PEOPLE.remover(db, every=0.001):
            while "removed 2 rows of generation-persons.Person" not in caplog.text:
                await asyncio.sleep(0)
        assert len(await stored(db)) == 2

    with caplog.at_level(INFO, "sortkey.patterns.generation"):
        run(test, clock=clock)


def test_a_remover_goes_on_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with sk.async_connect("memory:") as db:
            async with PEOPLE.remover(db, every=0.001):
                while len(caplog.records) < 2:
                    await asyncio.sleep(0)
            assert "are not removed yet" in caplog.text

    with caplog.at_level(WARNING, "sortkey.patterns.generation"):
        asyncio.run(test())
