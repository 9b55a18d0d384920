"""`sk.feeds.EventBridge`: a schedule's timers as schedules of EventBridge Scheduler.

`ScheduleWriter` makes one schedule for each group and instant that a table's items ask for. Its name follows from both,
so a change that comes again, or another item of the group, finds it there. An item that is rescheduled asks for another
instant, which has another name. A schedule is deleted when no item asks for it any more. Another item may ask just
then, find the schedule, and leave it; so the items are read again after the delete, and the schedule is made again if
one of them asks.

A name has at most 64 letters, digits, dashes, underscores and dots:

    price-changes_12345_20260824T100000Z.t6rq4jx3x7g2mzq5d2v6wbq3ae

The first part is for people: the schedule, the group and the instant, cut and with other characters replaced. The last
part is a hash of all of them, so no two have the same name, and the same has the same name again.

When it is called is an expression `at(…)`: a local time and a time zone. When clocks are set back, a local time means
two instants, and EventBridge Scheduler does not say which one it takes; when they are set forward, some local times do
not exist. So an instant whose local time is ambiguous is written in UTC, and `instant_of` rejects every expression that
does not mean exactly one instant. Schedules have a precision of a minute: one for 1:00 is called from 1:00:00 to
1:00:59. So instants are rounded up to the minute, and no call comes before its time.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b32encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from importlib import import_module
from threading import Lock
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from botocore.exceptions import ClientError

from sortkey.feeds.aws.due_handler import event_text
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.model.calls.change import Change
from sortkey.model.calls.steps import code_of
from sortkey.model.errors import DeclarationError
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.schedules import Occurrence, Schedule
from sortkey.patterns.timer_book import asked_by, asked_in_table, given_up_by

PARALLEL: Final = 10
"""Requests at the same time: botocore has as many connections."""
_ARN: Final = re.compile(r"arn:aws[a-z-]*:[a-z0-9-]+:([a-z0-9-]*):[0-9]*:\S+")
_GROUP: Final = re.compile(r"[0-9a-zA-Z_.-]{1,64}")

LONGEST: Final = 64
_HASH_BYTES: Final = 16
_OTHERS: Final = re.compile(r"[^0-9A-Za-z_-]+", re.ASCII)

SOONEST: Final = timedelta(minutes=1)
"""How far ahead an expression is at least. EventBridge's clock may differ, and it has its own delay."""
_FORM: Final = re.compile(r"at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)", re.ASCII)
_MINUTE: Final = timedelta(minutes=1)
_UTC: Final = ZoneInfo("UTC")


class EventBridge:
    """Where the schedules of EventBridge Scheduler are made, and what they call.

        AWS = sk.feeds.EventBridge(
            target="arn:aws:lambda:eu-west-1:123456789012:function:reminders-due",
            role="arn:aws:iam::123456789012:role/call-reminders-due",
            time_zone="Europe/Berlin",
        )

        def feed(db: sk.AsyncSession) -> sk.feeds.ChangeFeed[Reminder]:
            return AWS.feed(reminders, db)

        handler = sk.feeds.lambda_handler(feed, "dynamodb://eu-west-1", tables=[Reminder])

    `target` is the ARN of a Lambda function or an SQS queue that gets the events, `role` the role that may call it.
    `group` is the group of the schedules, which must exist. `time_zone` is the one that they are shown in; the
    instants do not depend on it. `dead_letters` is the ARN of an SQS queue for events that the target did not take.
    See docs/guides/lambda.md.
    """

    def __init__(
        self,
        *,
        target: str,
        role: str,
        group: str = "default",
        time_zone: str = "UTC",
        dead_letters: str | None = None,
    ) -> None:
        _check_arn("target", target)
        _check_arn("role", role)
        if dead_letters is not None:
            _check_arn("dead_letters", dead_letters)
        given: Any = group
        if not isinstance(given, str) or not _GROUP.fullmatch(given):
            raise DeclarationError(
                f"group is a schedule group: 1 to 64 letters, digits, dashes, underscores and dots, not {group!r}"
            )
        try:
            zone = ZoneInfo(time_zone)
        except (ZoneInfoNotFoundError, ValueError, TypeError):
            raise DeclarationError(f"time_zone is a name such as 'Europe/Berlin', not {time_zone!r}") from None
        self.destination = Destination(target, role, group, zone, dead_letters)

    def feed(self, schedule: Schedule[Any], session: AsyncSession, *, client: Any = None) -> ChangeFeed[Any]:
        """The change feed that makes and deletes the schedules, for `sk.feeds.lambda_handler` or `sk.feeds.Follower`.
        `client` is boto3's of `scheduler`, by default one of the target's region."""
        writer = ScheduleWriter(self.destination, schedule, session, client)
        # Not the feed of timers, which others may run at the same time.
        return ChangeFeed(f"{schedule.name}.eventbridge", schedule.source.cls, writer.on_changes)

    async def restore(self, schedule: Schedule[Any], session: AsyncSession, *, client: Any = None) -> int:
        """Make schedules for all items of the table that ask for one, as `sk.feeds.Timers.restore` does; returns their
        number."""
        return await ScheduleWriter(self.destination, schedule, session, client).restore()


def _check_arn(name: str, given: Any) -> None:
    if not isinstance(given, str) or not _ARN.fullmatch(given):
        raise DeclarationError(
            f"{name} is an ARN, such as arn:aws:lambda:eu-west-1:123456789012:function:due, not {given!r}"
        )


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


def schedule_name(schedule: str, occurrence: Occurrence, late: datetime | None = None) -> str:
    """The name of an occurrence's schedule. `late` is when it is called, if that is not its own time: a schedule for
    that time may have been called already, and another one is needed."""
    told = msgspec.json.encode((schedule, occurrence.group, occurrence.at, late))
    digest = b32encode(blake2b(told, digest_size=_HASH_BYTES).digest()).decode().rstrip("=").lower()
    time = f"_{occurrence.at.astimezone(UTC):%Y%m%dT%H%M%SZ}."
    shown = f"{_plain(schedule)}_{_plain(occurrence.group)}"[: LONGEST - len(time) - len(digest)]
    return f"{shown}{time}{digest}"


def _plain(text: str) -> str:
    return _OTHERS.sub("-", text).strip("-")


class AtExpression(NamedTuple):
    text: str
    zone: str


def fires_at(at: datetime, now: datetime) -> datetime:
    """The minute at which a schedule for this instant is called: not before it, and not before the next minute."""
    return whole_minute(max(at, now + SOONEST))


def whole_minute(instant: datetime) -> datetime:
    """The instant, rounded up, in UTC."""
    whole = instant.astimezone(UTC).replace(second=0, microsecond=0)
    return whole if whole == instant else whole + _MINUTE


def at_expression(instant: datetime, zone: ZoneInfo) -> AtExpression:
    """The expression of an instant in whole seconds; in UTC if its local time is ambiguous."""
    local = instant.astimezone(zone)
    if _is_ambiguous(local):
        local, zone = instant.astimezone(_UTC), _UTC
    return AtExpression(f"at({local:%Y-%m-%dT%H:%M:%S})", zone.key)


def instant_of(expression: AtExpression) -> datetime:
    """What an expression means. Raises ValueError if it is not of the form, or does not mean one instant."""
    text, zone = expression
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not of the form at(yyyy-mm-ddThh:mm:ss)")
    try:
        local = datetime.fromisoformat(found[1]).replace(tzinfo=ZoneInfo(zone))
    except ValueError as error:
        raise ValueError(f"{text!r} has no such time: {error}") from None
    instant = local.astimezone(UTC)
    if instant.astimezone(local.tzinfo).replace(tzinfo=None) != local.replace(tzinfo=None):
        raise ValueError(f"{text} does not exist in {zone}: the clocks are set forward there")
    if _is_ambiguous(local):
        raise ValueError(f"{text} means two instants in {zone}: the clocks are set back there")
    return instant


def _is_ambiguous(local: datetime) -> bool:
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
