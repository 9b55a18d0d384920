"""`sk.feeds.EventBridge`: a schedule's timers as schedules of EventBridge Scheduler, before a store is open."""

from __future__ import annotations

import re
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.eventbridge.schedule_writer import Destination, ScheduleWriter
from sortkey.model.errors import DeclarationError
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.schedules.declaration import Schedule

_ARN: Final = re.compile(r"arn:aws[a-z-]*:[a-z0-9-]+:([a-z0-9-]*):[0-9]*:\S+")
_GROUP: Final = re.compile(r"[0-9a-zA-Z_.-]{1,64}")


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
        """The change feed that makes and deletes the schedules, for `sk.feeds.lambda_handler` or `sk.feeds.Follower`. `client` is
        boto3's of `scheduler`, by default one of the target's region."""
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
