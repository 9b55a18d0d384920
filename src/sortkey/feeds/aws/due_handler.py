"""`sk.feeds.due_handler`: a schedule's handler as an AWS Lambda function that EventBridge Scheduler calls.

A schedule sends a `DueEvent` to its target: as its `Input`, which Lambda passes as the event, and SQS as the body.

Scheduler and Lambda repeat what raises, and know the queue of what fails for good. They call at least once, perhaps
twice at the same time. So the handler has neither leases nor dead letters; it checks that an item still asks.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from sortkey.clock import SystemClock, WaitingClock
from sortkey.feeds.aws.lambda_handler import LambdaLoop, seconds_left
from sortkey.feeds.timers.timers import Timers
from sortkey.model.errors import DecodeError, ModelError
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.schedules import Occurrence, Schedule

EARLY: Final = timedelta(minutes=1)
"""How much an event may come before its time: the function waits. Clocks differ."""

_logger = logging.getLogger(__name__)


def due_handler(
    timers: Timers[Any] | Callable[[AsyncSession], Timers[Any]],
    store: str | os.PathLike[str],
    *,
    tables: Iterable[type[Item] | Table] = (),
) -> DueHandler:
    """The handler of a Lambda function that the schedules of `sk.feeds.EventBridge` call, or a queue of theirs.

        handler = sk.feeds.due_handler(sk.feeds.Timers(reminders, on_due), "dynamodb://eu-west-1", tables=[Reminder])

    Timers that need a session are made by a function; the session is opened with the first event, and kept:

        def timers(db: sk.AsyncSession) -> sk.feeds.Timers[Reminder]:
            return sk.feeds.Timers(reminders, Sender(db).on_due)

    Of the timers, the schedule and `on_due` count. What raises is raised, so that it is called again; of a queue's
    messages, the answer names those that failed, and the event source mapping needs `ReportBatchItemFailures`.
    """
    return DueHandler(timers, LambdaLoop(store, tuple(tables)), SystemClock())


class DueHandler:
    """Calls `on_due` with what an event says is due."""

    def __init__(
        self, timers: Timers[Any] | Callable[[AsyncSession], Timers[Any]], loop: LambdaLoop, clock: WaitingClock
    ) -> None:
        self._timers = timers if isinstance(timers, Timers) else None
        self._make = timers
        self._loop = loop
        self._clock = clock

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return self._loop.run(self._handle(event, seconds_left(context)))

    def close(self) -> None:
        """Close the session and the event loop, in tests: Lambda ends functions without notice."""
        self._loop.close()

    async def _handle(self, event: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        session = await self._loop.session()
        if self._timers is None:
            assert not isinstance(self._make, Timers)
            self._timers = self._make(session)
        if "Records" in event:
            return await self._handle_messages(session, self._timers, event["Records"], seconds)
        async with asyncio.timeout(seconds):
            return {"handled": await self._call(session, self._timers, event)}

    async def _handle_messages(
        self, session: AsyncSession, timers: Timers[Any], messages: list[dict[str, Any]], seconds: float | None
    ) -> dict[str, Any]:
        """Messages of a queue are independent of each other."""
        failed = [message["messageId"] for message in messages]
        try:
            async with asyncio.timeout(seconds):
                for message in messages:
                    try:
                        await self._call(session, timers, _content(message))
                    except Exception:
                        # The queue delivers it again, whatever the reason.
                        _logger.warning("%s: a message raised", timers.name, exc_info=True)
                    else:
                        failed.remove(message["messageId"])
        except TimeoutError:
            _logger.warning("%s: %d of %d messages in time", timers.name, len(messages) - len(failed), len(messages))
        return {"batchItemFailures": [{"itemIdentifier": each} for each in failed]}

    async def _call(self, session: AsyncSession, timers: Timers[Any], event: Any) -> bool:
        """False if no item asks for it any more."""
        occurrence = occurrence_of(timers.schedule, event)
        early = occurrence.at - context_of(session).moment
        if early > EARLY:
            raise ModelError(f"{timers.name}: an event came {early} before its time, {occurrence.at.isoformat()}")
        if early > timedelta():
            await self._clock.sleep(early.total_seconds())
        if not await timers.schedule.finder.is_asked_for(session, occurrence):
            return False
        await timers.on_due(timers.schedule.due(session, occurrence))
        return True


class DueEvent(msgspec.Struct, frozen=True):
    schedule: str
    group: dict[str, Any]
    """The fields of the group."""
    at: datetime


def event_text(schedule: Schedule[Any], occurrence: Occurrence) -> str:
    event = DueEvent(schedule.name, schedule.source.fields(occurrence.group), occurrence.at)
    return msgspec.json.encode(event).decode()


def occurrence_of(schedule: Schedule[Any], event: Any) -> Occurrence:
    """What an event tells. Raises DecodeError for another event, and for one of another schedule."""
    try:
        found = msgspec.convert(event, DueEvent)
        if found.schedule != schedule.name:
            raise DecodeError(
                f"the event is of the schedule {found.schedule!r}, and this function is for {schedule.name!r}"
            )
        group = schedule.source.group(found.group)
    except (msgspec.ValidationError, KeyError) as error:
        raise DecodeError(
            f"an event of the schedule {schedule.name} has schedule, group with {', '.join(schedule.source.by)}, and "
            f"at; this one is {event!r}: {error}"
        ) from None
    if found.at.utcoffset() is None:
        raise DecodeError(f"an event of the schedule {schedule.name} has a time zone; this one has at={found.at!r}")
    # Its fields have the types that the schedule declares.
    schedule.source.fields(group)
    return Occurrence(group, found.at.astimezone(UTC))


def _content(message: Mapping[str, Any]) -> Any:
    try:
        return msgspec.json.decode(message["body"])
    except (msgspec.DecodeError, KeyError) as error:
        raise DecodeError(f"a message of a queue has a body of JSON; this one is {message!r}: {error}") from None
