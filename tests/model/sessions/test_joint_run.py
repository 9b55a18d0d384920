"""Many calls that share commits: each has its own result, and goes on by itself after its first write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

import sortkey as sk
from sortkey.model.calls import updates, writes
from sortkey.model.calls.steps import Steps
from sortkey.model.changes.write_conditions import PutOptions
from sortkey.model.sessions.joint_run import JointRun
from sortkey.model.sessions.pattern_steps import JoinedCalls, JoinedReads, context_of, run_all


class Note(sk.Item, table="joint-notes"):
    number: int
    text: str = ""
    seen: int = 0

    key = sk.Key("NOTE#{number:06}")


def run(program: Callable[[sk.AsyncSession], Awaitable[None]]) -> None:
    async def opened_and_run() -> None:
        async with sk.async_connect("memory:", tables=[Note]) as db:
            await db.create_tables()
            await program(db)

    asyncio.run(opened_and_run())


def put(db: sk.AsyncSession, number: int) -> Steps[bool]:
    return writes.put(context_of(db), Note(number=number), PutOptions(if_absent=True))


def upsert(db: sk.AsyncSession, number: int) -> Steps[Note]:
    return updates.upsert(context_of(db), Note.key(number=number), {"text": "new"})


def commits(db: sk.AsyncSession) -> int:
    assert db.client.database is not None
    return db.client.database.store.queue.commits


async def joint(db: sk.AsyncSession, *calls: Steps[object]) -> list[object]:
    write = db.client.write_together
    assert write is not None
    return await JointRun(db._runner, write, calls).run()


def test_calls_have_their_results_in_their_order() -> None:
    async def program(db: sk.AsyncSession) -> None:
        await db.put(Note(number=70))
        before = commits(db)
        assert await joint(db, *(put(db, number) for number in range(100))) == [number != 70 for number in range(100)]
        assert commits(db) - before <= 3
        assert len([note async for note in db.scan(Note)]) == 100

    run(program)


# An upsert asks first whether the item is there, and then creates it.
def test_a_call_goes_on_after_its_first_write() -> None:
    async def program(db: sk.AsyncSession) -> None:
        await db.put(Note(number=1, text="old", seen=3))
        found = await joint(db, upsert(db, 1), upsert(db, 2), put(db, 3))
        assert found == [Note(number=1, text="new", seen=3), Note(number=2, text="new"), True]
        assert len([note async for note in db.scan(Note)]) == 3

    run(program)


def test_what_a_call_raises_is_its_own() -> None:
    async def program(db: sk.AsyncSession) -> None:
        update = updates.update(context_of(db), Note.key(number=1), {"text": "x"}, None)
        missing, written = await joint(db, update, put(db, 2))
        assert isinstance(missing, sk.ItemMissing)
        assert written is True

    run(program)


def test_calls_of_a_closed_store_raise() -> None:
    async def program(db: sk.AsyncSession) -> None:
        calls, joined = [put(db, number) for number in range(3)], JoinedCalls(db)
        write = db.client.write_together
        assert write is not None
        await db.client.close()
        found = await JointRun(db._runner, write, calls).run()
        assert [type(each) for each in found] == [RuntimeError] * 3
        with pytest.raises(RuntimeError, match="closed"):
            await joined.run(put(db, 4))

    run(program)


def test_calls_are_metered_as_if_they_were_alone() -> None:
    async def program(db: sk.AsyncSession) -> None:
        await joint(db, *(put(db, number) for number in range(5)))
        reading = db.meter.reading("put Note")
        assert (reading.calls, reading.units) == (5, 5.0)

    run(program)


@pytest.mark.parametrize("parallel", [1, 2, 7, 512])
def test_all_calls_are_carried_out(parallel: int) -> None:
    async def program(db: sk.AsyncSession) -> None:
        assert await run_all(db, [put(db, number) for number in range(20)], parallel) == [True] * 20
        assert await run_all(db, [], parallel) == []
        assert len([note async for note in db.scan(Note)]) == 20

    run(program)


# Those that come while a commit is under way wait for it, and share the next one.
def test_calls_of_many_tasks_are_joined() -> None:
    async def program(db: sk.AsyncSession) -> None:
        joined, before = JoinedCalls(db), commits(db)
        found = await asyncio.gather(*(joined.run(put(db, number % 60)) for number in range(64)))
        assert found == [True] * 60 + [False] * 4
        assert commits(db) - before <= 3
        assert await joined.run(put(db, 100)) is True

    run(program)


def test_a_task_that_is_cancelled_does_not_harm_others() -> None:
    async def program(db: sk.AsyncSession) -> None:
        joined = JoinedCalls(db)
        first, second = (asyncio.create_task(joined.run(put(db, number))) for number in (1, 2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second is True
        with pytest.raises(asyncio.CancelledError):
            await first

    run(program)


class Asked:
    """What is read: the double of each number, when the test says so; an error for 7, and for all beside 11."""

    def __init__(self) -> None:
        self.parts: list[list[int]] = []
        self.may_go_on = asyncio.Event()
        self.reads = JoinedReads(self._read)

    async def _read(self, numbers: Sequence[int]) -> Sequence[int | BaseException]:
        self.parts.append(list(numbers))
        await self.may_go_on.wait()
        if 11 in numbers:
            raise LookupError("the store is gone")
        return [ValueError("seven") if number == 7 else 2 * number for number in numbers]

    def start(self, *numbers: int) -> list[asyncio.Task[int]]:
        return [asyncio.create_task(self.reads.of(number)) for number in numbers]


# Two reads are under way at most; what comes meanwhile is read at once, as much as one BatchGetItem takes.
def test_reads_of_many_tasks_are_joined() -> None:
    async def program() -> None:
        asked = Asked()
        tasks = asked.start(1, 2, 3)
        await settled()
        tasks += asked.start(4)
        await settled()
        tasks += asked.start(*range(5, 7), *range(100, 199))
        await settled()
        assert asked.parts == [[1, 2, 3], [4]]
        asked.may_go_on.set()
        assert await asyncio.gather(*tasks) == [2 * number for number in (*range(1, 7), *range(100, 199))]
        assert [len(part) for part in asked.parts] == [3, 1, 100, 1]

    asyncio.run(program())


def test_a_read_that_fails_is_raised_where_it_was_asked_for() -> None:
    async def program() -> None:
        asked = Asked()
        asked.may_go_on.set()
        one, seven, cancelled = asked.start(1, 7, 2)
        await asyncio.sleep(0)
        cancelled.cancel()
        assert await one == 2
        with pytest.raises(ValueError, match="seven"):
            await seven
        for task in asked.start(10, 11):
            with pytest.raises(LookupError):
                await task
        assert await asked.reads.of(12) == 24

    asyncio.run(program())


# Both reads end in one turn of the loop, in which the first task asks again.
def test_what_is_asked_for_while_reads_end_is_read() -> None:
    async def program() -> None:
        asked = Asked()

        async def twice() -> int:
            return await asked.reads.of(1) + await asked.reads.of(2)

        first = asyncio.create_task(twice())
        await settled()
        (second,) = asked.start(3)
        await settled()
        asked.may_go_on.set()
        async with asyncio.timeout(10):
            assert (await first, await second) == (6, 6)

    asyncio.run(program())


async def settled() -> None:
    """Tasks have had their turns: what they wait for is the test."""
    for _ in range(5):
        await asyncio.sleep(0)
