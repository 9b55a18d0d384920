"""Which calls can repeat: those that are under way when a process dies, and no others."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey.feeds.shards.leases import SHARD_END, HeldLease, LeaseBook, ShardKey, ShardLease
from sortkey.feeds.timers.timer_runner import SavedChanges
from sortkey.model.calls.change import padded
from sortkey.patterns.timer_book import Timer, TimerBook
from tests.feeds.timers.handling import Handler, caught_up, reminder
from tests.feeds.timers.reminder_process import PARALLEL, SHARDS
from tests.passing_time import TURN, while_time_passes
from tests.patterns.schedules.reminders import NOON, Reminder, clock_at, opened

BY_ITEM = sk.patterns.schedule("repeats", Reminder, at="at", shards=1)
SECONDS = 60.0


# A read in a store elsewhere takes a while: what it has found may be handled and deleted meanwhile.
def test_a_timer_that_ends_during_a_read_is_not_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    goes_on = asyncio.Event()
    due = TimerBook.due

    async def slowly(self: TimerBook, shard: int, *given: Any) -> AsyncIterator[Timer]:
        found = [timer async for timer in due(self, shard, *given)]
        if [timer.occurrence.group for timer in found] == ['["ana",1]'] and sorted(called) == [1, 2]:
            goes_on.set()
            while [timer async for timer in due(self, shard, *given)]:
                await asyncio.sleep(0)
            # The worker hears of it, too.
            await asyncio.sleep(TURN)
        for timer in found:
            yield timer

    monkeypatch.setattr(TimerBook, "due", slowly)

    async def on_due(due: sk.patterns.Due[Reminder]) -> None:
        called.append(due.group["number"])
        if due.group["number"] == 1:
            await goes_on.wait()

    async def program() -> None:
        clock = clock_at(NOON)
        timers = sk.feeds.Timers(BY_ITEM, on_due)
        async with opened("memory:", clock) as db:
            await db.batch(put=[reminder(1), reminder(2)])
            async with sk.feeds.Follower(db, [timers], clock=clock) as follower:
                async with asyncio.timeout(SECONDS):
                    await goes_on.wait()
                await caught_up(follower)

    asyncio.run(program())
    assert sorted(called) == [1, 2]


# A change that is delivered again sets its timer again, and the timer may have been handled.
def test_a_timer_waits_until_the_feed_has_saved_its_change(monkeypatch: pytest.MonkeyPatch) -> None:
    save, goes_on, asked = HeldLease.save, asyncio.Event(), asyncio.Event()

    async def save_later(self: HeldLease, **changes: Any) -> bool:
        if self.start.feed == "repeats" and self.is_unsaved:
            asked.set()
            await goes_on.wait()
        return await save(self, **changes)

    monkeypatch.setattr(HeldLease, "save", save_later)

    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        timers = sk.feeds.Timers(BY_ITEM, handler)
        async with (
            opened("memory:", clock) as db,
            sk.feeds.Follower(db, [timers], clock=clock) as follower,
        ):
            await db.put(reminder(1))
            async with asyncio.timeout(SECONDS):
                await asked.wait()
            for _ in range(50):
                clock.advance(0.1)
                await asyncio.sleep(0)
            assert handler.handled == []
            goes_on.set()
            await while_time_passes(clock, handler.until_calls(1))
            await caught_up(follower)

    asyncio.run(program())


class Leases(LeaseBook):
    """Those of a feed, as a test has them."""

    def __init__(self, *leases: ShardLease) -> None:
        self.all = {ShardKey(lease.stream, lease.shard): lease for lease in leases}

    async def leases(self) -> dict[ShardKey, ShardLease]:
        return self.all


def timer(sequence: int, shard: str = "one") -> Timer:
    number = padded(str(sequence)) if sequence else ""
    return Timer(
        schedule="repeats",
        shard=0,
        day=NOON.date(),
        at=NOON,
        group_id=f"{shard}-{sequence}",
        group="[]",
        change_shard=shard if sequence else "",
        change_sequence=number,
    )


# The stream may have trimmed the change, for example, so that nobody will ever save it.
def test_a_timer_does_not_wait_for_ever() -> None:
    async def program() -> None:
        clock = clock_at(NOON)
        one = ShardLease(feed="repeats", stream="s", shard="one", checkpoint="5")
        ended = ShardLease(feed="repeats", stream="s", shard="ended", checkpoint=SHARD_END)
        saved = SavedChanges(Leases(one, ended), 30.0, clock, {})
        # Set by `restore`, saved, of a shard that has ended, of one that is no longer in the stream; and not saved.
        timers = [timer(0), timer(5), timer(9, "ended"), timer(9, "gone"), timer(6)]
        assert await saved.split(timers) == (timers[:-1], True)
        clock.advance(29)
        assert await saved.split(timers) == (timers[:-1], True)
        clock.advance(1)
        assert await saved.split(timers) == (timers, False)
        one.checkpoint = "6"
        assert await saved.split(timers) == (timers, False)

    asyncio.run(program())


def lines(notes: Path) -> list[str]:
    return notes.read_text().splitlines() if notes.exists() else []


def killed_after(count: int, notes: Path, *arguments: str) -> None:
    """Run the process, and kill it when it has noted so many lines more."""
    before = len(lines(notes))
    process = subprocess.Popen([sys.executable, "-m", "tests.feeds.timers.reminder_process", *arguments])
    try:
        deadline = time.monotonic() + SECONDS
        while len(lines(notes)) < before + count:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
    finally:
        process.kill()
        process.wait()


# Of 1,200 reminders, 725 were sent twice.
@pytest.mark.parametrize("kills", [pytest.param(2, marks=pytest.mark.slow), pytest.param(10, marks=pytest.mark.faults)])
def test_after_a_kill_only_calls_under_way_repeat(tmp_path: Path, kills: int) -> None:
    folder, notes = tmp_path / "data", tmp_path / "notes"
    many = 10_000
    ended: set[str] = set()
    for kill in range(kills):
        killed_after(150 + 37 * kill % 400, notes, str(folder), str(notes), str(kill * many), str(many))
        ended |= {line for line in lines(notes) if line.startswith("e")}
    subprocess.run(
        [sys.executable, "-m", "tests.feeds.timers.reminder_process", str(folder), str(notes), "0", "0"],
        check=True,
        timeout=SECONDS,
    )
    found = lines(notes)
    assert found[-1] == "done"
    repeats = sum(number - 1 for line, number in Counter(found).items() if line in ended)
    with sk.connect(folder, tables=[Reminder]) as db:
        written = {item.number for item in db.scan(Reminder)}
    assert {int(line[2:]) for line in found if line.startswith("e")} == written
    assert repeats <= kills * SHARDS * PARALLEL
