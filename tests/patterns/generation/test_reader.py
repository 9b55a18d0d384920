"""Readers: one GetItem each, of one generation, and never older than they say."""

from __future__ import annotations

import asyncio
from unittest.mock import patch

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.patterns.generation.pointer import Pointer, PointerBook
from tests.patterns.generation.persons import DAY, HOUR, PEOPLE, Person, as_of, persons, run


def calls(db: sk.AsyncSession) -> tuple[int, int]:
    """How often items and pointers were read."""
    return db.meter.reading(Person.key).calls, db.meter.reading(Pointer.key).calls


def test_the_pointer_is_remembered(store: str) -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1))
        before = calls(db)
        reader = PEOPLE.reader(db, renew=0.5)
        for _ in range(10):
            found = await reader.get(person="ada")
            assert found is not None
            assert found.day == 1
        assert calls(db) == (before[0] + 10, before[1] + 1)

        await PEOPLE.load(db, persons(2), as_of=as_of(2))
        before = calls(db)
        assert (await reader.get(person="ada")) == found
        clock.advance(0.5)
        newer = await reader.get(person="ada")
        assert newer is not None
        assert newer.day == 2
        # Elsewhere the item is read beside the pointer, and again if the pointer has changed.
        assert calls(db)[1] == before[1] + 1

    run(test, store, clock)


# While one read renews the pointer, others use the remembered one, but not for longer than twice the time.
def test_a_renewal_that_hangs_does_not_make_readers_older_than_they_say() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1))
        reader = PEOPLE.reader(db, renew=0.5)
        old = await reader.current()
        newer = await PEOPLE.load(db, persons(2), as_of=as_of(2))
        hangs, read, ended = asyncio.Event(), PointerBook.pointer, asyncio.Event()

        async def hang(book: PointerBook) -> Pointer:
            hangs.set()
            await ended.wait()
            return await read(book)

        clock.advance(0.5)
        with patch.object(PointerBook, "pointer", hang):
            renewing = asyncio.create_task(reader.current())
            await hangs.wait()
        assert await reader.current() == old
        clock.advance(0.5)
        assert await reader.current() == newer
        ended.set()
        assert await renewing == newer

    run(test, clock=clock)


# A reader that was frozen while two loads came and its generation was removed.
def test_a_reader_of_a_removed_generation_reads_the_one_that_is_served() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1))
        # Its clock stands still, as in a process that is stopped between two lines.
        reader = PEOPLE.reader(db, renew=10 * DAY.total_seconds())
        await reader.current()
        for day in (2, 3):
            await PEOPLE.load(db, persons(day, ("ada",)), as_of=as_of(day))
        for _ in range(2):
            clock.advance(HOUR.total_seconds())
            await PEOPLE.remove_old(db)
        found = await reader.lookup([{"person": "ada"}, {"person": "bob"}])
        assert [None if each is None else each.day for each in found] == [3, None]
        ada = await reader.get(person="ada")
        assert ada is not None
        assert ada.day == 3

    run(test, clock=clock)


def test_a_miss_is_confirmed_by_the_pointer_and_a_consistent_read(store: str) -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1))
        reader = PEOPLE.reader(db)
        await reader.current()
        before = calls(db)
        assert await reader.get(person="zoe") is None
        assert calls(db) == (before[0] + 2, before[1] + 1)
        assert await reader.lookup([{"person": "zoe"}, {"person": "bob"}]) == [None, await reader.get(person="bob")]

    run(test, store, clock)


def test_before_the_first_load_there_is_nothing() -> None:
    async def test(db: sk.AsyncSession) -> None:
        reader = PEOPLE.reader(db)
        assert await reader.current() is None
        assert await reader.get(person="ada") is None
        assert await reader.lookup([{"person": "ada"}]) == [None]

    run(test)


def test_a_wrong_field_is_named() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1))
        with pytest.raises(sk.NoAccessPath, match="person"):
            await PEOPLE.reader(db).get(persn="ada")
        with pytest.raises(TypeError, match="generation"):
            await PEOPLE.reader(db).get(person="ada", generation="x")

    run(test)


def test_renew_is_a_time() -> None:
    async def test(db: sk.AsyncSession) -> None:
        with pytest.raises(ValueError, match="renew is a number of seconds above 0, not 0"):
            PEOPLE.reader(db, renew=0)

    run(test)
