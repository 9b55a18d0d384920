"""Readers of overlays, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import sortkey as sk
from tests.patterns.overlays.goals import ADA, HOUR, PENDING, PERSONS, VIEW, Note, Pending, Person, pending

pytestmark = pytest.mark.every_store

Test = Callable[[sk.AsyncSession], Awaitable[None]]


def run(store: str, test: Test) -> None:
    async def opened() -> None:
        async with sk.async_connect(store, tables=[PERSONS, PENDING]) as db:
            await db.create_tables()
            await test(db)

    asyncio.run(opened())


def test_base_and_overlay_take_one_get_and_one_query(store: str) -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.put(ADA)
        await db.put(pending(370, HOUR))
        await db.put(sk.replace(pending(99, HOUR), person="bob"))
        reader = VIEW.reader(db)
        found = await reader.get(person="ada")
        assert found is not None
        assert [(goal.saved, goal.status) for goal in found.goals] == [(370, "PENDING"), (0, "IN_PROGRESS")]
        base, over = db.meter.reading(Person.key), db.meter.reading(Pending.key)
        assert (base.calls, over.calls, over.rows_returned) == (1, 1, 1)
        assert base.units + over.units == (1.0 if db.capabilities.consumed_capacity else 0.0)
        assert await reader.get(person="bob") is None

    run(store, test)


# A class of its own for what the batch and the stream do not write, and still one Query.
def test_items_of_another_class_beside_the_overlay_take_no_further_request(store: str) -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.put(ADA)
        await db.put(pending(370, HOUR))
        note = Note(person="ada", text="for the house")
        await db.put(note)
        found = await VIEW.reader(db).get_with(Note, person="ada")
        assert found is not None
        shown, notes = found
        assert ([goal.saved for goal in shown.goals], notes) == ([370, 0], [note])
        read = [each for each in db.meter.readings() if each.rows_returned]
        assert sum(each.calls for each in read) == 2
        assert sum(each.units for each in read) == (1.0 if db.capabilities.consumed_capacity else 0.0)
        assert await VIEW.reader(db).get_with(Note, person="bob") is None

    run(store, test)


def test_a_row_that_cannot_be_read_is_left_out_on_request() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.put(ADA)
        await db.put(pending(370, HOUR))
        broken = {"pk": {"S": "PERSON#ada"}, "sk": {"S": "GOAL#BONDS"}, "balance": {"S": "much"}}
        await db.client.put_item(TableName=PENDING.name, Item=broken)
        with pytest.raises(sk.DecodeError):
            await VIEW.reader(db).get(person="ada")
        found = await VIEW.reader(db, undecodable="skip").get(person="ada")
        assert found is not None
        assert [goal.saved for goal in found.goals] == [370, 0]

    run("memory:", test)


def test_consistent_reads_cost_twice_as_much() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.put(ADA)
        await VIEW.reader(db, consistent=True).get(person="ada")
        assert db.meter.reading(Person.key).units + db.meter.reading(Pending.key).units == 2.0

    run("memory:", test)


def test_the_base_may_be_read_by_a_function() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.put(pending(370, HOUR))

        async def remembered(person: str) -> Person | None:
            return ADA if person == "ada" else None

        found = await VIEW.reader(db, base=remembered).get(person="ada")
        assert found is not None
        assert found.goals[0].saved == 370

    run("memory:", test)


def test_a_missing_field_is_named() -> None:
    async def test(db: sk.AsyncSession) -> None:
        with pytest.raises(sk.NoAccessPath, match="person"):
            await VIEW.reader(db).get(persn="ada")

    run("memory:", test)


# The reads run side by side; an error of one must not arrive as a group of errors.
@pytest.mark.slow
def test_an_error_of_a_read_is_raised_as_it_is(our_endpoint: str) -> None:
    async def test() -> None:
        async with sk.async_connect(f"{our_endpoint}?prefix=no-overlay-") as db:
            with pytest.raises(Exception, match="resource not found") as raised:
                await VIEW.reader(db).get(person="ada")
            error: Any = raised.value
            assert error.response["Error"]["Code"] == "ResourceNotFoundException"

    asyncio.run(test())
