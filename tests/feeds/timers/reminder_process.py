"""Writes reminders that are due at once, and notes each call: `python -m tests.feeds.timers.reminder_process …`.

The file gets a line for each beginning and each end of a call: `b 17`, `e 17`. Both are with the system before anything
else happens, so they survive a kill of the process.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import sortkey as sk
from tests.patterns.schedules.reminders import REMINDERS, Reminder

SHARDS: Final = 2
PARALLEL: Final = 8
SCHEDULE: Final = sk.patterns.schedule("noted-reminders", Reminder, at="at", shards=SHARDS)


async def main(folder: Path, notes: Path, first: int, number: int) -> None:
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def on_due(due: sk.patterns.Due[Reminder]) -> None:
        os.write(file, f"b {due.group['number']}\n".encode())
        await asyncio.sleep(0)
        os.write(file, f"e {due.group['number']}\n".encode())

    timers = sk.feeds.Timers(SCHEDULE, on_due, parallel=PARALLEL)
    async with sk.async_connect(folder, tables=[REMINDERS]) as db:
        await db.create_tables()
        async with sk.feeds.Follower(db, [timers], lease_seconds=1) as follower:
            os.write(file, b"ready\n")
            for start in range(first, first + number, 10):
                now = datetime.now(UTC)
                await db.batch(put=[Reminder(user="ana", number=each, at=now) for each in range(start, start + 10)])
                await asyncio.sleep(0.01)
            await follower.caught_up()
    os.write(file, b"done\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
