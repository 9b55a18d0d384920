"""Timers in an outage wait, and one that fails alone goes to the dead letters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.patterns.timer_book import TimerBook
from tests.feeds.timers.handling import SECONDS, Handler, count, reminder
from tests.passing_time import while_time_passes
from tests.patterns.schedules.reminders import NOON, Reminder, clock_at, opened

BY_ITEM = sk.patterns.schedule("timers-by-item", Reminder, at="at")
BLOCKED = 'sortkey_timers_blocked_seconds{schedule="timers-by-item"}'


class Mail(Handler):
    """Raises for all while it is down, and for poisoned reminders always."""

    def __init__(self, error: Exception | None = None, poisoned: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.error = error
        self.poisoned = poisoned
        self.calls = 0

    async def __call__(self, due: sk.patterns.Due[Reminder]) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error.with_traceback(None)
        if due.group["number"] in self.poisoned:
            raise ValueError("never")
        await super().__call__(due)

    @property
    def numbers(self) -> list[int]:
        return sorted(number for each in self.handled for number in each.numbers)


async def until(clock: ManualClock, condition: Callable[[], bool], step: float = 1.0) -> None:
    async def wait() -> None:
        while not condition():
            await asyncio.sleep(0)

    await while_time_passes(clock, wait(), step)


async def letters(db: sk.AsyncSession) -> list[str]:
    return [each.record async for each in db.iterate(sk.feeds.DeadLetter.key(feed="timers-by-item"))]


# The second is a bug of the handler, or an outage of a kind that nobody knows.
@pytest.mark.parametrize("error", [ConnectionError("refused"), RuntimeError("odd")])
def test_nothing_is_given_up_while_every_call_raises(error: Exception) -> None:
    async def program() -> None:
        clock, mail = clock_at(NOON), Mail(error, poisoned=(3,))
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, mail)], clock=clock) as follower:
                await db.batch(put=[reminder(number) for number in range(20)])
                await until(clock, lambda: follower.samples()[BLOCKED] > 150, step=10)
                assert await letters(db) == []
                # Not all of them are tried again and again.
                assert mail.calls < 200
                mail.error = None
                await until(clock, lambda: count(follower, "dead") == 1 and len(mail.handled) == 19)
                assert follower.samples()[BLOCKED] == 0
            assert mail.numbers == [number for number in range(20) if number != 3]
            assert len(await letters(db)) == 1

    asyncio.run(program())


def test_a_timer_without_others_is_given_up_after_its_attempts() -> None:
    async def program() -> None:
        clock, mail = clock_at(NOON), Mail(poisoned=(1,))
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, mail)], clock=clock) as follower:
                await db.put(reminder(1))
                await until(clock, lambda: count(follower, "dead") == 1, step=0.1)
            assert mail.calls == 5

    asyncio.run(program())


def test_poison_that_is_named_is_given_up_at_once() -> None:
    async def program() -> None:
        clock, mail = clock_at(NOON), Mail(poisoned=tuple(range(8)))
        timers = sk.feeds.Timers(BY_ITEM, mail, poison=[ValueError])
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [timers], clock=clock) as follower:
                await db.batch(put=[reminder(number) for number in range(10)])
                await until(clock, lambda: count(follower, "dead") == 8, step=0.1)
                await until(clock, lambda: len(mail.handled) == 2, step=0.1)
            assert mail.calls == 10

    asyncio.run(program())


# Otherwise it would be shown as blocked for ever.
def test_an_outage_is_over_when_nothing_asks_any_more() -> None:
    async def program() -> None:
        clock, mail = clock_at(NOON), Mail(ConnectionError())
        async with (
            opened("memory:", clock) as db,
            sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, mail)], clock=clock) as follower,
        ):
            await db.put(reminder(1))
            await until(clock, lambda: follower.samples()[BLOCKED] > 10)
            await db.delete(Reminder.key(user="ana", number=1))
            await until(clock, lambda: count(follower, "dropped") == 1)
            assert follower.samples()[BLOCKED] == 0

    asyncio.run(program())


def test_a_stop_does_not_wait_for_the_outage() -> None:
    async def program() -> None:
        clock, mail = clock_at(NOON), Mail(ConnectionError())
        async with (
            opened("memory:", clock) as db,
            sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, mail)], clock=clock) as follower,
        ):
            await db.batch(put=[reminder(number) for number in range(5)])
            await until(clock, lambda: follower.samples()[BLOCKED] > 100, step=5)
            follower.stop()
            async with asyncio.timeout(SECONDS):
                await follower.ended()

    asyncio.run(program())


# The mail was sent; that the store does not take the note for a moment must not send it again.
def test_a_call_that_has_ended_is_not_repeated_because_its_timer_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    done, failures = TimerBook.done, 3

    async def done_later(self: TimerBook, timer: object) -> bool:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "on purpose"}}, "DeleteItem")
        return await done(self, timer)  # type: ignore[arg-type]

    monkeypatch.setattr(TimerBook, "done", done_later)

    async def program() -> None:
        clock, mail = clock_at(NOON), Mail()
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, mail)], clock=clock) as follower:
                await db.put(reminder(1))
                await while_time_passes(clock, mail.until_calls(1))
                await while_time_passes(clock, follower.caught_up())
            assert (mail.calls, failures) == (1, -1)

    asyncio.run(program())
