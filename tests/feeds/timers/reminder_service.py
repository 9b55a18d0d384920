"""A service whose feeds are timers, for `sortkey follow`: `python -m tests.feeds.timers.reminder_service follow …`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import sortkey as sk
from sortkey.cli.main import main
from tests.patterns.schedules.reminders import REMINDERS, Reminder
from tests.registered import register_only

SCHEDULE: Final = sk.patterns.schedule("served-reminders", Reminder, at="at", shards=1)


class Sent(sk.Item, table="schedule-sent"):
    user: str
    number: int
    key_given: str = ""
    """The idempotency key of the last call."""
    begun: int = 0
    done: int = 0

    key = sk.Key("USER#{user}", "SENT#{number:06}")


class Release(sk.Item, table="schedule-releases"):
    """Until it is there, calls do not end."""

    name: str
    key = sk.Key("RELEASE#{name}")


class Reminders:
    name = "reminders"
    routes: Sequence[Any] = ()

    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session
        self.feeds = [sk.feeds.Timers(SCHEDULE, self._on_due, poll=0.05)]

    async def start(self) -> None:
        await self._session.create_tables(REMINDERS, Sent, Release)

    async def load_demo(self, progress: sk.services.Progress) -> None: ...

    async def run_demo(self) -> None: ...

    async def _on_due(self, due: sk.patterns.Due[Reminder]) -> None:
        path = Sent.key(**due.group)
        await self._session.upsert(path, [sk.F(Sent.begun).add(1), {"key_given": due.key}])
        while await self._session.get(Release.key(name="all")) is None:
            await asyncio.sleep(0.02)  # another process writes it
        await self._session.update(path, [sk.F(Sent.done).add(1)])


def tables(_: Mapping[str, Any]) -> Sequence[type[sk.Item] | sk.Table]:
    return REMINDERS, Sent, Release


DEFINITION: Final = sk.services.ServiceDefinition(
    name="reminders",
    summary="reminders",
    tables=tables,
    make=lambda session, _: Reminders(session),
    has_feeds=True,
)

if __name__ == "__main__":
    register_only(reminders="__main__:DEFINITION")
    sys.exit(main())
