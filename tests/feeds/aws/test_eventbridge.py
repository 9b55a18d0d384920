"""`sk.feeds.EventBridge`: the calls that changes of items make, against moto."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import msgspec
import pytest
from moto import mock_aws

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.patterns.timer_book import Timer
from tests.patterns.schedules.reminders import HOUR, NOON, Reminder, clock_at, inserted, modified, opened, removed

TARGET = "arn:aws:lambda:eu-west-1:123456789012:function:reminders-due"
ROLE = "arn:aws:iam::123456789012:role/call-reminders-due"
LETTERS = "arn:aws:sqs:eu-west-1:123456789012:dead"

BY_USER = sk.patterns.schedule("aws-by-user", Reminder, at="at", by=("user",), where={"active": True})
UNCHECKED = sk.patterns.schedule("aws-unchecked", Reminder, at="at", by=("user",), check=False)

Program = Callable[["Scheduler"], Awaitable[None]]


@cache
def client() -> Any:
    """One for all tests, because it takes long to make; moto empties itself."""
    return boto3.client("scheduler", "eu-west-1")


class Scheduler:
    """A feed that makes schedules in moto, and the items that it reads."""

    def __init__(self, db: sk.AsyncSession, clock: ManualClock, **settings: Any) -> None:
        self.db = db
        self.clock = clock
        self.aws = sk.feeds.EventBridge(target=TARGET, role=ROLE, **settings)
        self.schedule = BY_USER
        self.client = client()

    async def changes(self, *changes: sk.Change[Reminder]) -> None:
        """The items are in the store before the feed has their changes."""
        for change in changes:
            if change.new is not None:
                await self.db.put(change.new)
            elif change.old is not None:
                await self.db.delete(change.old.key)
        await self.aws.feed(self.schedule, self.db, client=self.client).on_changes(changes)

    @property
    def schedules(self) -> list[dict[str, Any]]:
        listed = self.client.list_schedules()["Schedules"]
        found = [self.client.get_schedule(Name=each["Name"], GroupName=each["GroupName"]) for each in listed]
        return sorted(found, key=lambda each: str(each["ScheduleExpression"]))

    @property
    def expressions(self) -> list[str]:
        return [each["ScheduleExpression"] for each in self.schedules]


@pytest.fixture(autouse=True)
def moto(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield


def run(program: Program, **settings: Any) -> None:
    async def opened_and_run() -> None:
        clock = clock_at(NOON - 24 * HOUR)
        async with opened("memory:", clock) as db:
            await program(Scheduler(db, clock, **settings))

    asyncio.run(opened_and_run())


def reminder(number: int, at: datetime | None = NOON, user: str = "ana") -> Reminder:
    return Reminder(user=user, number=number, at=at)


def test_the_schedule_of_an_instant() -> None:
    async def program(made: Scheduler) -> None:
        await made.changes(inserted(reminder(1)))
        (schedule,) = made.schedules
        assert schedule["Name"].startswith("aws-by-user_ana_20500824T120000Z.")
        assert schedule["ScheduleExpression"] == "at(2050-08-24T14:00:00)"
        assert schedule["ScheduleExpressionTimezone"] == "Europe/Berlin"
        assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
        assert schedule["ActionAfterCompletion"] == "DELETE"
        assert (schedule["GroupName"], schedule["State"]) == ("default", "ENABLED")
        target = schedule["Target"]
        assert (target["Arn"], target["RoleArn"], target["DeadLetterConfig"]) == (TARGET, ROLE, {"Arn": LETTERS})
        assert json.loads(target["Input"]) == {
            "schedule": "aws-by-user",
            "group": {"user": "ana"},
            "at": "2050-08-24T12:00:00Z",
        }

    run(program, time_zone="Europe/Berlin", dead_letters=LETTERS)


# As Lambda delivered it, but for the names.
RECORD = """
{
  "eventID": "c4ca4238a0b923820dcc509a6f75849b",
  "eventName": "MODIFY",
  "eventVersion": "1.1",
  "eventSource": "aws:dynamodb",
  "awsRegion": "eu-west-1",
  "dynamodb": {
    "ApproximateCreationDateTime": 1787479200.0,
    "Keys": {"sk": {"S": "REMINDER#000001"}, "pk": {"S": "USER#ana"}},
    "OldImage": {
      "sk": {"S": "REMINDER#000001"}, "pk": {"S": "USER#ana"}, "user": {"S": "ana"}, "number": {"N": "1"},
      "at": {"S": "2126-08-24T12:00:00.000000Z"}, "text": {"S": "lunch"}, "active": {"BOOL": true}
    },
    "NewImage": {
      "sk": {"S": "REMINDER#000001"}, "pk": {"S": "USER#ana"}, "user": {"S": "ana"}, "number": {"N": "1"},
      "at": {"S": "2126-08-24T13:00:00.000000Z"}, "text": {"S": "lunch"}, "active": {"BOOL": true}
    },
    "SequenceNumber": "4421584500000000017450439091",
    "SizeBytes": 360,
    "StreamViewType": "NEW_AND_OLD_IMAGES"
  },
  "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/schedule-reminders/stream/2026-08-24T00:00:00.000"
}
"""


# With a client of its own, in the region of the target.
def test_a_stream_event_of_lambda_makes_a_schedule(tmp_path: Path) -> None:
    aws = sk.feeds.EventBridge(target=TARGET, role=ROLE)
    store = tmp_path / "data"

    async def create_table() -> None:
        async with opened(f"file:{store}"):
            pass

    asyncio.run(create_table())
    with closing(sk.feeds.lambda_handler(lambda db: aws.feed(BY_USER, db), store)) as handler:
        assert handler({"Records": [json.loads(RECORD)]}, None) == {"batchItemFailures": []}
        assert handler({"Records": [json.loads(RECORD)]}, None) == {"batchItemFailures": []}
    (made,) = client().list_schedules()["Schedules"]
    assert made["Name"].startswith("aws-by-user_ana_21260824T130000Z.")


def test_there_is_one_for_each_group_and_instant() -> None:
    async def program(made: Scheduler) -> None:
        await made.changes(*(inserted(reminder(number)) for number in range(40)))
        await made.changes(
            inserted(reminder(41)), inserted(reminder(42, NOON + HOUR)), inserted(reminder(1, user="bo"))
        )
        assert made.expressions == ["at(2050-08-24T12:00:00)"] * 2 + ["at(2050-08-24T13:00:00)"]

    run(program)


# The feed delivers at least once.
def test_a_change_that_comes_again_makes_nothing_new() -> None:
    async def program(made: Scheduler) -> None:
        await made.changes(inserted(reminder(1)))
        await made.changes(inserted(reminder(1)))
        assert len(made.schedules) == 1

    run(program)


def test_a_rescheduled_item_gets_another_schedule_and_its_own_is_deleted() -> None:
    async def program(made: Scheduler) -> None:
        await made.changes(inserted(reminder(1)))
        await made.changes(modified(reminder(1), reminder(1, NOON + HOUR)))
        assert made.expressions == ["at(2050-08-24T13:00:00)"]
        await made.changes(modified(reminder(1, NOON + HOUR), reminder(1)))
        assert made.expressions == ["at(2050-08-24T12:00:00)"]

    run(program)


def test_a_schedule_is_deleted_with_the_last_item_that_asks_for_it() -> None:
    async def program(made: Scheduler) -> None:
        first, second = reminder(1), reminder(2)
        await made.changes(inserted(first), inserted(second))
        await made.changes(removed(first))
        assert len(made.schedules) == 1
        await made.changes(modified(second, msgspec.structs.replace(second, active=False)))
        assert made.schedules == []
        await made.changes(removed(second))
        assert made.schedules == []

    run(program)


# Another item asks for the instant between the look and the delete: its change finds the schedule, and leaves it.
def test_a_schedule_that_is_asked_for_while_it_is_deleted_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program(made: Scheduler) -> None:
        await made.changes(inserted(reminder(1)))
        finder, late = made.schedule.finder, reminder(2)
        looks: list[bool] = []
        look = finder.is_asked_for

        async def meanwhile(*arguments: Any) -> bool:
            looks.append(await look(*arguments))
            if len(looks) == 1:
                await made.changes(inserted(late))
            return looks[-1]

        monkeypatch.setattr(finder, "is_asked_for", meanwhile)
        await made.changes(removed(reminder(1)))
        assert looks == [False, True]
        assert made.expressions == ["at(2050-08-24T12:00:00)"]

    run(program)


# A schedule of that name may have been called already, and be about to be deleted.
def test_what_is_past_gets_a_schedule_of_its_own() -> None:
    async def program(made: Scheduler) -> None:
        await made.changes(inserted(reminder(1)))
        made.clock.advance((24 * HOUR + timedelta(seconds=30)).total_seconds())
        await made.changes(inserted(reminder(2)))
        await made.changes(inserted(reminder(3, NOON - 100 * HOUR)))
        assert made.expressions == ["at(2050-08-24T12:00:00)", "at(2050-08-24T12:02:00)", "at(2050-08-24T12:02:00)"]
        assert len({each["Name"] for each in made.schedules}) == 3

    run(program)


# The transition itself changes its items; EventBridge deletes what it has called.
def test_what_was_called_is_not_deleted_by_us() -> None:
    async def program(made: Scheduler) -> None:
        await made.changes(inserted(reminder(1)))
        made.clock.advance((24 * HOUR).total_seconds())
        await made.changes(removed(reminder(1)))
        assert len(made.schedules) == 1

    run(program)


def test_without_check_schedules_are_left_to_find_nothing() -> None:
    async def program(made: Scheduler) -> None:
        made.schedule = UNCHECKED
        await made.changes(inserted(reminder(1)))
        await made.changes(removed(reminder(1)))
        assert len(made.schedules) == 1

    run(program)


def test_items_that_are_older_than_the_feed() -> None:
    async def program(made: Scheduler) -> None:
        await made.db.batch(put=[reminder(n, NOON + n % 3 * HOUR, user) for n in range(9) for user in ("ana", "bo")])
        assert await made.aws.restore(BY_USER, made.db) == 6
        assert await made.aws.restore(BY_USER, made.db, client=made.client) == 6
        assert len(made.schedules) == 6

    run(program)


# While one is replaced by the other, both run.
def test_timers_and_schedules_are_made_by_feeds_of_their_own() -> None:
    async def program(made: Scheduler) -> None:
        async def on_due(_: sk.patterns.Due[Reminder]) -> None: ...

        aws = made.aws.feed(BY_USER, made.db, client=made.client)
        async with sk.feeds.Follower(made.db, [sk.feeds.Timers(BY_USER, on_due), aws]) as follower:
            await made.db.put(reminder(1))
            await follower.caught_up()
        assert len(made.schedules) == 1
        assert [timer.at async for timer in made.db.scan(Timer)] == [NOON]

    run(program)


def test_a_group_of_schedules() -> None:
    async def program(made: Scheduler) -> None:
        made.client.create_schedule_group(Name="reminders")
        await made.changes(inserted(reminder(1)))
        assert [each["GroupName"] for each in made.schedules] == ["reminders"]

    run(program, group="reminders")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": "reminders-due"}, "target is an ARN, such as .*, not 'reminders-due'"),
        ({"role": ""}, "role is an ARN"),
        ({"dead_letters": "queue"}, "dead_letters is an ARN"),
        ({"group": "a b"}, "group is a schedule group: 1 to 64 letters"),
        ({"group": "x" * 65}, "group is a schedule group: 1 to 64 letters"),
        ({"time_zone": "Berlin"}, "time_zone is a name such as 'Europe/Berlin', not 'Berlin'"),
        ({"time_zone": "../etc/passwd"}, "time_zone is a name such as 'Europe/Berlin'"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.feeds.EventBridge(**{"target": TARGET, "role": ROLE, **settings})
