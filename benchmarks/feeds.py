"""Feeds in one process on a synced folder: changes that an aggregate counts in three windows, and timers of one instant

The follower finds a backlog: marks of 2,000 things, which are liked alike, or few of which have most of the marks. A
mark counts in ALL_TIME, its month and its day. Timers are set from the changes of as many items; when their instant has
come, they are called and deleted. Processor time is that of the whole process. `SORTKEY_FEEDS_CHANGES=2000` makes both
smaller.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import uvloop

import sortkey as sk
from benchmarks._peers import working_folder
from benchmarks._results import Result
from sortkey.http import process

CHANGES: Final = 20_000
SIZE: Final = "SORTKEY_FEEDS_CHANGES"
THINGS: Final = 2000
BATCHES: Final = (1000, 5000)
"""`max_batch` by default, and that of the favourites service."""
AHEAD: Final = timedelta(days=1)
POLL: Final = 0.05
"""Of the timers: nothing tells them that the clock was moved."""
_POPULARITY: Final = {
    "all alike": range(1, THINGS + 1),
    "few have most": list(accumulate(1 / (rank + 4) for rank in range(THINGS))),
}


class Mark(sk.Item, table=sk.Table("marks", stream="NEW_AND_OLD_IMAGES")):
    user: str
    thing: str
    at: datetime

    key = sk.Key("{user}", "{thing}")


class MarkCount(sk.Item, table="mark-counts"):
    thing: str
    window: str
    count: int = 0

    key = sk.Key("{thing}", "{window}")


class Reminder(sk.Item, table=sk.Table("reminders", stream="NEW_AND_OLD_IMAGES")):
    user: str
    remind_at: datetime

    key = sk.Key("{user}", "REMINDER")


COUNTS: Final = sk.patterns.aggregate(
    Mark,
    into=MarkCount,
    by=("thing",),
    window=sk.patterns.window("at", "ALL_TIME", "MONTH", "DAY"),
    values={"count": sk.patterns.count()},
)
REMINDERS: Final = sk.patterns.schedule("reminders", Reminder, at="remind_at")


class Took(NamedTuple):
    """In seconds."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> Took:
        return cls(time.perf_counter(), time.process_time())

    def until_now(self) -> Took:
        wall, processor = Took.now()
        return Took(wall - self.wall, processor - self.processor)


class OfTimers(NamedTuple):
    to_set: Took
    to_call: Took


class MovedClock:
    ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead


def run() -> Iterator[Result]:
    number = int(os.environ.get(SIZE, CHANGES))
    with TemporaryDirectory(dir=working_folder()) as made:
        for name, weights in _POPULARITY.items():
            for batch in BATCHES:
                took = uvloop.run(counted(Path(made) / f"{name}-{batch}", marks(number, weights), batch))
                yield Result(f"{name}, batches of {batch:,}: changes counted", number / took.wall, "/s")
                yield Result("  in processor time", number / took.processor, "/s")
        timers = uvloop.run(timers_of_one_instant(Path(made) / "timers", number))
    for name, took in zip(("set", "called and deleted"), timers, strict=True):
        yield Result(f"{number:,} timers of one instant: {name}", took.wall, "s")
        yield Result("  in processor time", took.processor, "s")


def marks(number: int, cumulative_weights: Sequence[float]) -> list[Mark]:
    """Of different users, in the last three days."""
    draw, now = Random(28), datetime.now(UTC)
    chosen = draw.choices(range(THINGS), cum_weights=cumulative_weights, k=number)
    return [
        Mark(user=f"u{each}", thing=f"t{thing:04}", at=now - timedelta(hours=draw.randrange(72)))
        for each, thing in enumerate(chosen)
    ]


async def counted(folder: Path, items: Sequence[Mark], batch: int) -> Took:
    async with sk.async_connect(folder, tables=[Mark, MarkCount]) as db:
        await db.create_tables()
        await db.load(items)
        counts = COUNTS.aggregator(db)
        left, done = len(items), asyncio.Event()

        async def on_changes(changes: Sequence[sk.Change[Mark]]) -> None:
            nonlocal left
            await counts.on_changes(changes)
            left -= len(changes)
            if not left:
                done.set()

        process.tune_interpreter()
        began = Took.now()
        async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("counts", Mark, on_changes, max_batch=batch)]):
            await done.wait()
            took = began.until_now()
        report = await counts.recount()
        assert report.is_clean, str(report)
        return took


async def timers_of_one_instant(folder: Path, number: int) -> OfTimers:
    clock = MovedClock()
    at = datetime.now(UTC) + AHEAD
    async with sk.async_connect(folder, tables=[Reminder], clock=clock) as db:
        await db.create_tables()
        await db.load(Reminder(user=f"u{each}", remind_at=at) for each in range(number))
        left, done = number, asyncio.Event()

        async def on_due(_: sk.patterns.Due[Reminder]) -> None:
            nonlocal left
            left -= 1
            if not left:
                done.set()

        process.tune_interpreter()
        began = Took.now()
        async with sk.feeds.Follower(db, [sk.feeds.Timers(REMINDERS, on_due, poll=POLL)]) as follower:
            await follower.caught_up()
            to_set = began.until_now()
            clock.ahead = 2 * AHEAD.total_seconds()
            began = Took.now()
            await done.wait()
            # The last ones are to be deleted, too.
            await follower.caught_up()
            return OfTimers(to_set, began.until_now())
