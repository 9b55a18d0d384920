"""Clocks: what waits by one goes on at its time."""

from __future__ import annotations

import asyncio
import time

import pytest

from sortkey.clock import ManualClock, SystemClock, WaitingClock


def test_the_systems_clock() -> None:
    clock = SystemClock()
    assert abs(clock.now() - time.time()) < 1
    assert clock.monotonic() <= clock.monotonic()


@pytest.mark.parametrize("clock", [SystemClock(), ManualClock()], ids=["system", "manual"])
def test_a_wait_ends_with_its_event(clock: WaitingClock) -> None:
    async def wait() -> bool:
        event = asyncio.Event()
        asyncio.get_running_loop().call_soon(event.set)
        return await clock.wait(event, 60)

    assert asyncio.run(wait())


def test_a_wait_ends_with_its_time() -> None:
    async def wait() -> bool:
        await SystemClock().sleep(0.001)
        return await SystemClock().wait(asyncio.Event(), 0.001)

    assert not asyncio.run(wait())


# The clock moves before the wait's own task has begun: it would wait for a time that nobody reaches.
def test_a_wait_begins_when_it_is_called() -> None:
    async def wait() -> bool:
        clock = ManualClock()
        waiting = asyncio.ensure_future(clock.wait(asyncio.Event(), 60))
        asyncio.get_running_loop().call_soon(clock.advance, 60)
        async with asyncio.timeout(10):
            return await waiting

    assert not asyncio.run(wait())


def test_a_manual_clock_stands_still() -> None:
    clock = ManualClock(100.0)
    assert clock.now() == clock.monotonic() == 100.0
    clock.advance(1.5)
    assert clock.now() == clock.monotonic() == 101.5


# Those that wait for the same instant go on in the order in which they came.
def test_sleepers_go_on_when_their_time_has_come() -> None:
    async def sleep(name: str, seconds: float, clock: ManualClock, woken: list[str]) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    async def run() -> list[list[str]]:
        clock, woken, seen = ManualClock(), list[str](), list[list[str]]()
        async with asyncio.TaskGroup() as tasks:
            for name, seconds in (("second", 2.0), ("first", 1.0), ("third", 2.0), ("at once", 0.0)):
                tasks.create_task(sleep(name, seconds, clock, woken))
            for seconds in (0.0, 0.5, 0.5, 1.0):
                clock.advance(seconds)
                await asyncio.sleep(0.001)
                seen.append([*woken])
        return seen

    steps = [["at once"], ["at once"], ["at once", "first"], ["at once", "first", "second", "third"]]
    assert asyncio.run(run()) == steps


def test_a_manual_wait_ends_with_its_time() -> None:
    async def run() -> bool:
        clock = ManualClock()
        waiting = asyncio.create_task(clock.wait(asyncio.Event(), 5.0))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        clock.advance(5.0)
        return await waiting

    assert not asyncio.run(run())


# A sleeper that was cancelled is not woken.
def test_a_sleeper_may_be_cancelled() -> None:
    async def run() -> None:
        clock = ManualClock()
        sleeping = asyncio.create_task(clock.sleep(5.0))
        await asyncio.sleep(0)
        sleeping.cancel()
        clock.advance(5.0)
        with pytest.raises(asyncio.CancelledError):
            await sleeping

    asyncio.run(run())


# Whoever sets a clock lets no time pass.
def test_a_jump_changes_the_time_and_wakes_nobody() -> None:
    async def run() -> None:
        clock = ManualClock(1000.0)
        sleeping = asyncio.create_task(clock.sleep(5.0))
        await asyncio.sleep(0)
        clock.jump(3600)
        await asyncio.sleep(0)
        assert (clock.now(), clock.monotonic(), sleeping.done()) == (4600.0, 1000.0, False)
        clock.jump(-7200)
        clock.advance(5.0)
        await sleeping
        assert (clock.now(), clock.monotonic()) == (-2595.0, 1005.0)

    asyncio.run(run())
