"""`Timer`: the row of an occurrence, in the table `sortkey-timers`.

    SCHEDULE#price-changes#02#2026-08-24 | 2026-08-24T10:00:00Z#5f0c…     group, version

The partition is a shard of a schedule and a day, in UTC; the sort key is the instant and a hash of the group. So what
is due is the beginning of a partition, and a worker reads those of today and of earlier days that are not empty.
The days keep a worker from reading where thousands of timers were deleted, which is slow in some stores.

An occurrence in the past goes to the partition of the day on which it is set: earlier ones may be closed.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table
from sortkey.patterns.schedules.occurrence import Occurrence

TIMERS: Final = Table("sortkey-timers")

CLOSING: Final = timedelta(hours=1)
"""After a day's end its partitions may still get timers, of processes whose clocks are slow."""


class Timer(Item, table=TIMERS):
    schedule: str
    shard: int
    day: date
    at: datetime
    group_id: str
    group: str
    """As in `Occurrence`."""
    version: int = 0
    """Grows each time that a change asks for it; it is deleted only in the version that was handled."""

    key = Key("SCHEDULE#{schedule}#{shard:03}#{day}", "{at}#{group_id}")

    @property
    def occurrence(self) -> Occurrence:
        return Occurrence(self.group, self.at)


def timer_path(schedule: str, shards: int, occurrence: Occurrence, now: datetime) -> AccessPath[Timer]:
    """Where the timer of an occurrence is when it is set now."""
    group_id = occurrence.group_id
    return Timer.key(
        schedule=schedule,
        shard=int(group_id[:8], 16) % shards,
        day=day_of(max(occurrence.at, now)),
        at=occurrence.at,
        group_id=group_id,
    )


def day_of(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def end_of(day: date) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), UTC)
