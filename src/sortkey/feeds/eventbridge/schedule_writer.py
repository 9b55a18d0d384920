"""Makes and deletes the schedules of EventBridge Scheduler that a table's items ask for.

There is one schedule for each group and instant. Its name follows from both, so a change that comes again, or another
item of the group, finds it there. An item that is rescheduled asks for another instant, which has another name.

A schedule is deleted when no item asks for it any more. Another item may ask just then, find the schedule, and leave
it; so the items are read again after the delete, and the schedule is made again if one of them asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from importlib import import_module
from threading import Lock
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from botocore.exceptions import ClientError

from sortkey.feeds.eventbridge.at_expression import at_expression, fires_at, instant_of, whole_minute
from sortkey.feeds.eventbridge.due_event import event_text
from sortkey.feeds.eventbridge.schedule_name import schedule_name
from sortkey.model.calls.steps import code_of
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.model.streams.change import Change
from sortkey.patterns.schedules.declaration import Schedule
from sortkey.patterns.schedules.occurrence import Occurrence
from sortkey.patterns.schedules.timer_book import asked_by, asked_in_table, given_up_by

PARALLEL: Final = 10
"""Requests at the same time: botocore has as many connections."""


class Destination(NamedTuple):
    target: str
    role: str
    group: str
    zone: ZoneInfo
    dead_letters: str | None

    @property
    def region(self) -> str:
        """That of the target: a schedule calls targets of its own region."""
        return self.target.split(":")[3]


class ScheduleWriter:
    def __init__(self, destination: Destination, schedule: Schedule[Any], session: AsyncSession, client: Any) -> None:
        self._destination = destination
        self._schedule = schedule
        self._session = session
        self._known_client = client
        self._making_client = Lock()

    async def on_changes(self, changes: Sequence[Change[Any]]) -> None:
        """For a change feed: every step may be repeated."""
        asked = dict.fromkeys(each for change in changes for each in asked_by(self._schedule, change))
        given_up = dict.fromkeys(each for change in changes for each in given_up_by(self._schedule, change))
        await _for_each(asked, self._create)
        if self._schedule.finder.check:
            now = self._now
            # One that was called is deleted by EventBridge.
            await _for_each((each for each in given_up if each.at > now), self._delete)

    async def restore(self) -> int:
        """Make the schedules of all items in the table; those that are there stay."""
        number = 0
        async for part in asked_in_table(self._schedule, self._session):
            await _for_each(part, self._create)
            number += len(part)
        return number

    @property
    def _now(self) -> datetime:
        return context_of(self._session).moment

    async def _create(self, occurrence: Occurrence) -> None:
        try:
            await self._send("create_schedule", self._request(occurrence, self._now))
        except ClientError as error:
            if code_of(error) != "ConflictException":
                raise

    async def _delete(self, occurrence: Occurrence) -> None:
        """Unless an item asks for it."""
        if await self._is_asked_for(occurrence):
            return
        name = schedule_name(self._schedule.name, occurrence)
        try:
            await self._send("delete_schedule", {"Name": name, "GroupName": self._destination.group})
        except ClientError as error:
            if code_of(error) != "ResourceNotFoundException":
                raise
        if await self._is_asked_for(occurrence):
            await self._create(occurrence)

    async def _is_asked_for(self, occurrence: Occurrence) -> bool:
        return await self._schedule.finder.is_asked_for(self._session, occurrence)

    def _request(self, occurrence: Occurrence, now: datetime) -> dict[str, Any]:
        """What is past, or nearly, is called in the next minute, by a schedule of its own."""
        to = self._destination
        fires = fires_at(occurrence.at, now)
        is_late = fires != whole_minute(occurrence.at)
        expression = at_expression(fires, to.zone)
        if instant_of(expression) != fires:
            raise ValueError(f"{expression} does not mean {fires}")
        target: dict[str, Any] = {
            "Arn": to.target,
            "RoleArn": to.role,
            "Input": event_text(self._schedule, occurrence),
        }
        if to.dead_letters is not None:
            target["DeadLetterConfig"] = {"Arn": to.dead_letters}
        return {
            "Name": schedule_name(self._schedule.name, occurrence, fires if is_late else None),
            "GroupName": to.group,
            "ScheduleExpression": expression.text,
            "ScheduleExpressionTimezone": expression.zone,
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": target,
        }

    async def _send(self, operation: str, request: dict[str, Any]) -> None:
        await asyncio.to_thread(self._call, operation, request)

    def _call(self, operation: str, request: dict[str, Any]) -> None:
        getattr(self._client, operation)(**request)

    @property
    def _client(self) -> Any:
        # Several threads ask for it at once, and botocore's sessions are for one.
        with self._making_client:
            if self._known_client is None:
                # Imported here: most programs use no schedules of AWS.
                session = import_module("botocore.session").get_session()
                self._known_client = session.create_client("scheduler", region_name=self._destination.region)
            return self._known_client


async def _for_each(occurrences: Iterable[Occurrence], work: Callable[[Occurrence], Awaitable[None]]) -> None:
    """Some at the same time. Raises the first error."""
    pending = iter(occurrences)
    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(PARALLEL):
                tasks.create_task(_work_through(pending, work))
    except BaseExceptionGroup as errors:
        # The other tasks were cancelled because of the first.
        raise errors.exceptions[0] from None


async def _work_through(pending: Iterator[Occurrence], work: Callable[[Occurrence], Awaitable[None]]) -> None:
    for each in pending:
        await work(each)
