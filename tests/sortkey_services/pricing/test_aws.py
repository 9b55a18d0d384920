"""Pricing with EventBridge Scheduler: the functions of docs/services/pricing.md, with the stream, against moto."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.feeds.shards.dead_letter import as_json
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.prices import ChangeInput, PriceChange
from sortkey_services.pricing.service import PricingService
from tests.docs.files import imported, write_files

# moto takes seconds to begin.
pytestmark = pytest.mark.slow

ENVIRONMENT = {
    "DUE_ARN": "arn:aws:lambda:eu-west-1:123456789012:function:prices-due",
    "ROLE_ARN": "arn:aws:iam::123456789012:role/call-prices-due",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
}

YEAR = datetime.now(UTC).year + 1
MIDNIGHT = datetime(YEAR, 8, 24, 22, tzinfo=UTC)
"""In Berlin, where it is summer. Prices are not scheduled for longer than ten years."""


class Functions:
    """A store in a folder, and both functions; the stream's records go to the first one."""

    def __init__(self, folder: Path, module: Any) -> None:
        self.on_change = module.on_change
        self.on_due = module.on_due
        self._runner = asyncio.Runner()
        self._db = self._runner.run(self._opened(folder))
        # What is still to come for the writer may be due for the functions.
        self.now = datetime.now(UTC) - timedelta(hours=1)
        self._pricing = PricingService(self._db, clock=ManualClock(self.now.timestamp()))
        self._runner.run(self._pricing.start())
        self._last: str | None = None
        self._scheduler: Any = boto3.client("scheduler", "eu-west-1")

    async def _opened(self, folder: Path) -> sk.AsyncSession:
        return await sk.async_connect(folder, tables=[PRICES, CHANGES])

    def close(self) -> None:
        self._runner.run(self._db.close())
        self._runner.close()

    def change(self, at: datetime, *places: tuple[str, str], amount: str = "1.50") -> list[PriceChange[Decimal]]:
        given = [ChangeInput(store=store, product=product, amount=amount, effective_at=at) for store, product in places]
        made = self._runner.run(self._pricing.change_prices(given, "ada"))
        self._deliver()
        return made

    def cancel(self, change: PriceChange[Decimal]) -> None:
        self._runner.run(self._pricing.cancel(change.id))
        self._deliver()

    def reschedule(self, change: PriceChange[Decimal], at: datetime) -> PriceChange[Decimal]:
        moved = self._runner.run(self._pricing.reschedule(change.id, at))
        self._deliver()
        return moved

    def _deliver(self) -> None:
        """What is new in the stream, as Lambda delivers it, and twice."""
        event = {"Records": [json.loads(as_json(each)) for each in self._runner.run(self._records())]}
        for _ in range(2):
            assert self.on_change(event, None) == {"batchItemFailures": []}

    async def _records(self) -> list[dict[str, Any]]:
        client = self._db.client
        (stream,) = (await client.list_streams(TableName=CHANGES.name))["Streams"]
        arn = stream["StreamArn"]
        (shard,) = (await client.describe_stream(StreamArn=arn))["StreamDescription"]["Shards"]
        start = {"ShardIteratorType": "TRIM_HORIZON"}
        if self._last is not None:
            start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._last}
        iterator = await client.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], **start)
        found: list[dict[str, Any]] = (await client.get_records(ShardIterator=iterator["ShardIterator"]))["Records"]
        self._last = found[-1]["dynamodb"]["SequenceNumber"]
        return found

    @property
    def schedules(self) -> dict[tuple[str, str], str]:
        """The events of the schedules, by store and expression."""
        listed = self._scheduler.list_schedules()["Schedules"]
        found = [self._scheduler.get_schedule(Name=each["Name"]) for each in listed]
        assert {each["ActionAfterCompletion"] for each in found} <= {"DELETE"}
        events = [(json.loads(each["Target"]["Input"]), each) for each in found]
        return {(event["group"]["store"], each["ScheduleExpression"]): event for event, each in events}

    def history(self, store: str, product: str) -> list[tuple[str, str]]:
        async def statuses() -> list[tuple[str, str]]:
            rows = self._db.client.query(
                TableName=CHANGES.name,
                KeyConditionExpression="pk = :store",
                ExpressionAttributeValues={":store": {"S": f"STORE#{store}"}},
            )
            return [(row["product"]["S"], row["status"]["S"]) for row in (await rows)["Items"]]

        return [each for each in self._runner.run(statuses()) if each[0] == product]


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Functions]:
    write_files("services/pricing.md", tmp_path)
    folder = tmp_path / "data"
    for name, value in (ENVIRONMENT | {"STORE": str(folder)}).items():
        monkeypatch.setenv(name, value)
    with (
        mock_aws(),
        imported(tmp_path, "pricing_on_aws") as (module,),
        closing(Functions(folder, module)) as made,
        closing(made.on_change),
        closing(made.on_due),
    ):
        yield made


def test_there_is_one_schedule_for_each_store_and_instant(functions: Functions) -> None:
    functions.change(MIDNIGHT, *(("s1", f"p{number}") for number in range(30)), ("s2", "p1"))
    functions.change(MIDNIGHT, ("s1", "p31"))
    assert set(functions.schedules) == {("s1", f"at({YEAR}-08-25T00:00:00)"), ("s2", f"at({YEAR}-08-25T00:00:00)")}


def test_a_rescheduled_change_has_another_schedule(functions: Functions) -> None:
    first, _ = functions.change(MIDNIGHT, ("s1", "p1"), ("s1", "p2"))
    moved = functions.reschedule(first, MIDNIGHT + timedelta(days=1))
    assert moved.id == first.id
    assert sorted(functions.schedules) == [("s1", f"at({YEAR}-08-25T00:00:00)"), ("s1", f"at({YEAR}-08-26T00:00:00)")]


@pytest.mark.slow
def test_a_schedule_goes_with_its_last_change(functions: Functions) -> None:
    first, second = functions.change(MIDNIGHT, ("s1", "p1"), ("s1", "p2"))
    functions.cancel(first)
    assert len(functions.schedules) == 1
    functions.cancel(second)
    assert functions.schedules == {}


def test_the_event_of_a_schedule_makes_its_changes_permanent(functions: Functions) -> None:
    at = functions.now + timedelta(minutes=1)
    functions.change(at, ("s1", "p1"), ("s1", "p2"))
    functions.change(MIDNIGHT, ("s1", "p1"))
    (event,) = (event for (_, text), event in functions.schedules.items() if f"{YEAR}-08-25" not in text)
    assert functions.history("s1", "p1") == [("p1", "SCHEDULED"), ("p1", "SCHEDULED")]
    assert functions.on_due(event, None) == {"handled": True}
    assert functions.history("s1", "p1") == [("p1", "APPLIED"), ("p1", "SCHEDULED")]
    assert functions.history("s1", "p2") == [("p2", "APPLIED")]
    assert functions.on_due(event, None) == {"handled": False}
