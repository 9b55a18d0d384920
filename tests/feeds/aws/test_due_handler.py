"""`sk.feeds.due_handler`, with events as EventBridge Scheduler and SQS deliver them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey.feeds.aws.due_handler import event_text, occurrence_of
from tests.patterns.schedules.reminders import REMINDERS, Reminder, opened

BY_USER = sk.patterns.schedule("lambda-by-user", Reminder, at="at", by=("user",), where={"active": True})

PAST = datetime(2026, 8, 24, 12, tzinfo=UTC)

# As Lambda passed the Input of a schedule.
EVENT = '{"schedule": "lambda-by-user", "group": {"user": "ana"}, "at": "2026-08-24T12:00:00Z"}'

# As Lambda passed the messages of a queue that a schedule sent to, but for the names.
MESSAGES = """
{
  "Records": [
    {
      "messageId": "19dd0b57-b21e-4ac1-bd88-01bbb068cb%(number)02d",
      "receiptHandle": "MessageReceiptHandle",
      "body": %(body)s,
      "attributes": {
        "ApproximateReceiveCount": "1",
        "SentTimestamp": "1787572800000",
        "SenderId": "AROAIENQZJOLO23YVJ4VO:8d9c",
        "ApproximateFirstReceiveTimestamp": "1787572800012"
      },
      "messageAttributes": {},
      "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
      "eventSource": "aws:sqs",
      "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:reminders-due",
      "awsRegion": "eu-west-1"
    }
  ]
}
"""


class Context:
    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def get_remaining_time_in_millis(self) -> int:
        return self._milliseconds


def event(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(EVENT)
    return made | changes


def message(number: int, body: str = EVENT) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(MESSAGES % {"number": number, "body": json.dumps(body)})
    return made["Records"][0]  # type: ignore[no-any-return]


class Sender:
    """What the function does: notes whose reminders are due, and raises for one user."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, list[int], str]] = []

    async def on_due(self, due: sk.patterns.Due[Reminder]) -> None:
        if due.group["user"] == "bad":
            raise RuntimeError("cannot send")
        self.sent.append((due.group["user"], [each.number async for each in due.items()], due.key))


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A folder with reminders of the past."""
    url = f"file:{tmp_path / 'data'}"

    async def program() -> None:
        async with opened(url) as db:
            users = [("ana", 1), ("ana", 2), ("bad", 3), ("bo", 4)]
            await db.batch(put=[Reminder(user=user, number=number, at=PAST) for user, number in users])

    asyncio.run(program())
    return url


def test_an_event_calls_the_handler_with_its_items(store: str) -> None:
    sender = Sender()
    with closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, sender.on_due), store, tables=[REMINDERS])) as handler:
        assert handler(event(), Context(30_000)) == {"handled": True}
        assert handler(event(), None) == {"handled": True}
    assert [(user, numbers) for user, numbers, _ in sender.sent] == [("ana", [1, 2])] * 2
    assert len({key for _, _, key in sender.sent}) == 1


def test_timers_that_need_a_session_are_made_once(store: str) -> None:
    made: list[sk.AsyncSession] = []

    def timers(db: sk.AsyncSession) -> sk.feeds.Timers[Reminder]:
        made.append(db)
        return sk.feeds.Timers(BY_USER, Sender().on_due)

    with closing(sk.feeds.due_handler(timers, store)) as handler:
        assert [handler(event(), None) for _ in range(2)] == [{"handled": True}] * 2
    assert len(made) == 1


# It was cancelled, or rescheduled, after the schedule was called.
def test_an_event_that_no_item_asks_for_calls_nothing(store: str) -> None:
    sender = Sender()
    with closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, sender.on_due), store)) as handler:
        assert handler(event(group={"user": "cy"}), None) == {"handled": False}
        assert handler(event(at="2026-08-24T12:00:01Z"), None) == {"handled": False}
    assert sender.sent == []


# Lambda calls it again, and gives it up to the queue of dead letters.
def test_an_error_is_raised(store: str) -> None:
    with (
        closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, Sender().on_due), store)) as handler,
        pytest.raises(RuntimeError, match="cannot send"),
    ):
        handler(event(group={"user": "bad"}), None)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({}, "an event of the schedule lambda-by-user has schedule, group with user, and at; this one is {}"),
        (event(schedule="other"), "the event is of the schedule 'other', and this function is for 'lambda-by-user'"),
        (event(group={"store": "1"}), "has schedule, group with user, and at"),
        (event(group={"user": 7}), "is not one of user"),
        (event(at="yesterday"), "has schedule, group with user, and at"),
        (event(at="2026-08-24T12:00:00"), "has a time zone; this one has at="),
    ],
)
def test_an_event_of_something_else_is_an_error(store: str, wrong: dict[str, Any], reason: str) -> None:
    with (
        closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, Sender().on_due), store)) as handler,
        pytest.raises(sk.DecodeError, match=reason),
    ):
        handler(wrong, None)


def test_an_event_that_comes_long_before_its_time_is_an_error(store: str) -> None:
    future = datetime.now(UTC) + timedelta(hours=1)
    with (
        closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, Sender().on_due), store)) as handler,
        pytest.raises(sk.ModelError, match=r"lambda-by-user: an event came 0:59:.* before its time"),
    ):
        handler(event(at=future.isoformat()), None)


# EventBridge's clock may be ahead of the function's.
def test_an_event_that_comes_a_moment_before_its_time_waits(store: str) -> None:
    sender, at = Sender(), datetime.now(UTC) + timedelta(seconds=0.1)

    async def put() -> None:
        async with opened(store) as db:
            await db.put(Reminder(user="di", number=9, at=at))

    asyncio.run(put())
    with closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, sender.on_due), store)) as handler:
        assert handler(event(group={"user": "di"}, at=at.isoformat()), None) == {"handled": True}
    assert datetime.now(UTC) >= at


def test_the_messages_of_a_queue_fail_one_by_one(store: str) -> None:
    sender = Sender()
    bodies: Callable[[str], str] = lambda user: json.dumps(event(group={"user": user}))  # noqa: E731
    messages = [message(1, bodies("ana")), message(2, bodies("bad")), message(3, "no JSON"), message(4, bodies("bo"))]
    with closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, sender.on_due), store)) as handler:
        answer = handler({"Records": messages}, Context(30_000))
    failed = [each["itemIdentifier"][-2:] for each in answer["batchItemFailures"]]
    assert (failed, [user for user, _, _ in sender.sent]) == (["02", "03"], ["ana", "bo"])


def test_messages_that_are_not_handled_in_time_come_again(store: str) -> None:
    async def for_ever(due: sk.patterns.Due[Reminder]) -> None:
        if due.group["user"] != "ana":
            await asyncio.Event().wait()

    messages = [message(1), message(2, json.dumps(event(group={"user": "bo"}))), message(3)]
    with closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, for_ever), store)) as handler:
        answer = handler({"Records": messages}, Context(1_050))
    assert [each["itemIdentifier"][-2:] for each in answer["batchItemFailures"]][-2:] == ["02", "03"]


# A change of the table, as Lambda delivers it, goes to the feed that makes schedules; its event comes here.
def test_the_events_of_the_feed_are_those_of_the_handler() -> None:
    (occurrence,) = BY_USER.source.occurrences(Reminder(user="ana", number=1, at=PAST))
    assert json.loads(event_text(BY_USER, occurrence)) == event()
    assert occurrence_of(BY_USER, event()) == occurrence
