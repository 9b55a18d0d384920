"""From a change of an item to its handler: the stream, a real schedule, its firing, a queue, the function."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.clock import ManualClock
from tests.maven import Unavailable
from tests.ministack.server import running
from tests.patterns.schedules.reminders import REMINDERS, Reminder, inserted, opened

# A process of its own, which looks for what is due every ten seconds.
pytestmark = pytest.mark.slow

REGION = "us-east-1"
ROLE = "arn:aws:iam::000000000000:role/send"
SECONDS = 120.0

BY_USER = sk.patterns.schedule("fired-by-user", Reminder, at="at", by=("user",))


@pytest.fixture
def ministack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    folder = tmp_path / "ministack"
    folder.mkdir()
    with ExitStack() as stack:
        try:
            url = stack.enter_context(running(folder))
        except Unavailable as error:
            pytest.skip(f"no MiniStack: {error}")
        yield url


def received(queue: Any, url: str) -> list[dict[str, Any]]:
    """The messages of the queue, once there are some, in the form in which Lambda passes them."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        found = queue.receive_message(QueueUrl=url, WaitTimeSeconds=2, MaxNumberOfMessages=10).get("Messages", [])
        if found:
            return [{"messageId": each["MessageId"], "body": each["Body"]} for each in found]
    raise AssertionError("nothing was sent")


def only_schedule(scheduler: Any) -> str:
    """The name of the one that is left, once the other is deleted, which is after it was called."""
    deadline = time.monotonic() + SECONDS
    while len(found := scheduler.list_schedules()["Schedules"]) != 1:
        assert time.monotonic() < deadline, f"there are {len(found)}"
        time.sleep(0.05)  # it tells only when asked
    name: str = found[0]["Name"]
    return name


def test_a_schedule_fires_is_handled_and_is_gone(ministack: str, tmp_path: Path) -> None:
    scheduler: Any = boto3.client("scheduler", REGION, endpoint_url=ministack)
    queue: Any = boto3.client("sqs", REGION, endpoint_url=ministack)
    url = queue.create_queue(QueueName="due")["QueueUrl"]
    target = f"arn:aws:sqs:{REGION}:000000000000:due"
    aws = sk.feeds.EventBridge(target=target, role=ROLE)
    store = f"file:{tmp_path / 'data'}"
    now = datetime.now(UTC)
    due, later = now - timedelta(seconds=90), now + timedelta(days=1)
    # Ours is behind the emulator's clock, so that the next minute of this one is past there.
    clock = ManualClock((now - timedelta(minutes=3)).timestamp())

    async def schedule() -> None:
        async with (
            opened(store, clock) as db,
            sk.feeds.Follower(db, [aws.feed(BY_USER, db, client=scheduler)]) as follower,
        ):
            await db.batch(put=[Reminder(user="ana", number=1, at=due), Reminder(user="bo", number=2, at=later)])
            await follower.caught_up()

    asyncio.run(schedule())
    messages = received(queue, url)
    handled: list[tuple[str, datetime, list[int]]] = []

    async def on_due(ready: sk.patterns.Due[Reminder]) -> None:
        handled.append((ready.group["user"], ready.at, [each.number async for each in ready.items()]))

    with closing(sk.feeds.due_handler(sk.feeds.Timers(BY_USER, on_due), store, tables=[REMINDERS])) as handler:
        assert handler({"Records": messages}, None) == {"batchItemFailures": []}
    assert handled == [("ana", due, [1])]
    left = only_schedule(scheduler)
    assert json.loads(scheduler.get_schedule(Name=left)["Target"]["Input"])["group"] == {"user": "bo"}

    missing = sk.feeds.EventBridge(target=target, role=ROLE, group="missing")

    async def schedule_in_a_missing_group() -> None:
        async with opened(store, clock) as db:
            feed = missing.feed(BY_USER, db, client=scheduler)
            await feed.on_changes([inserted(Reminder(user="cy", number=3, at=later))])

    # The operator mends it; the feed tries again until then.
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        asyncio.run(schedule_in_a_missing_group())
