"""What programs ask: which design, and whether both agree."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.patterns.rekeying import reader as reader_module
from tests.patterns.rekeying.users import BY_CITY, run, written


def answering(*answers: int | Exception) -> Callable[[], Awaitable[int]]:
    """Gives one answer after the other, and the last one again."""
    left = list(answers)

    async def answer() -> int:
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, Exception):
            raise found
        return found

    return answer


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "LOOK_AGAIN", (0.0, 0.0))


async def shadows_end(reader: sk.patterns.RekeyReader) -> None:
    await asyncio.gather(*reader._tasks)


def test_a_switch_is_seen_when_the_flag_is_old() -> None:
    clock = ManualClock()

    async def test(db: sk.AsyncSession) -> None:
        await BY_CITY.start(db)
        async with BY_CITY.reader(db) as reader:
            assert await reader.design() == "old"
            await BY_CITY.switch(db)
            clock.advance(reader_module.RENEW / 2)
            assert await reader.design() == "old"
            clock.advance(reader_module.RENEW / 2)
            assert await reader.design() == "new"
            assert await reader.read(answering(1), answering(2)) == 2
            await BY_CITY.back(db)
            clock.advance(reader_module.RENEW)
            assert await reader.read(answering(1), answering(2)) == 1
            assert dict(reader.reads) == {"old": 1, "new": 1}

    run(test, clock=clock)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (answering(1), answering(1), "same"),
        (answering(1, 2), answering(2), "late"),
        (answering(1), answering(2), "different"),
        (answering(1), answering(ValueError("no such row")), "failed"),
    ],
)
def test_a_shadow_read_compares(
    old: Callable[[], Awaitable[int]], new: Callable[[], Awaitable[int]], found: str
) -> None:
    async def test(db: sk.AsyncSession) -> None:
        await BY_CITY.start(db)
        async with BY_CITY.reader(db, shadow=1.0) as reader:
            assert await reader.read(old, new) == 1
            await shadows_end(reader)
            assert dict(reader.shadows) == {found: 1}
            assert reader.samples()[f'sortkey_rekey_shadow_reads_total{{rekey="users-by-city",outcome="{found}"}}'] == 1
        # What all processes have found is in the store.
        shadow = (await BY_CITY.status(db)).shadow
        assert (shadow.same, shadow.late, shadow.different, shadow.failed) == tuple(
            int(found == each) for each in ("same", "late", "different", "failed")
        )
        assert bool(shadow.example) == (found in ("different", "failed"))

    run(test)


# Before the backfill has ended, there is nothing to compare with.
def test_there_are_no_shadow_reads_before_the_new_design_is_filled() -> None:
    async def test(db: sk.AsyncSession) -> None:
        async with BY_CITY.reader(db, shadow=1.0) as reader:
            assert await reader.read(answering(1), answering(2)) == 1
            assert not reader._tasks
            assert await written(reader) == "old"

    run(test)


def test_the_real_answer_does_not_wait_for_a_shadow_read() -> None:
    async def never() -> int:
        await asyncio.Event().wait()
        return 0

    async def test(db: sk.AsyncSession) -> None:
        await BY_CITY.start(db)
        async with BY_CITY.reader(db, shadow=1.0) as reader:
            for _ in range(reader_module.AT_ONCE + 2):
                assert await reader.read(answering(1), never) == 1
            assert reader.shadows["skipped"] == 2

    run(test)


def test_a_writer_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "WAITS", -1.0)

    async def test(db: sk.AsyncSession) -> None:
        await BY_CITY.start(db)
        await BY_CITY.switch(db)
        waiting, stopped = asyncio.Event(), asyncio.Event()

        async def caught_up() -> None:
            waiting.set()
            await stopped.wait()

        finishing = asyncio.create_task(BY_CITY.finish(db, caught_up=caught_up))
        await waiting.wait()
        with pytest.raises(sk.patterns.HandoverPending, match="finish it again, or go back"):
            await written(BY_CITY.reader(db))
        stopped.set()
        await finishing

    run(test)
