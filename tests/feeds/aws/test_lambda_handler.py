"""`sk.feeds.lambda_handler`, with events in the form that Lambda delivers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk

REGIONS = ("eu-west-1", "us-east-1")
ORDERS = sk.Table("lambda-orders", stream="NEW_AND_OLD_IMAGES")


class Order(sk.Item, table=ORDERS):
    customer: str
    number: int
    status: str = "OPEN"

    key = sk.Key("CUSTOMER#{customer}", "ORDER#{number:06}")


class Customer(sk.Item, table=ORDERS):
    customer: str

    key = sk.Key("CUSTOMER#{customer}", "PROFILE")


class Shipment(sk.Item, table="lambda-shipments"):
    number: int

    key = sk.Key("SHIPMENT#{number:06}", "SHIPMENT")


FIRST_NUMBER = 4421584500000000017450439000

# As Lambda delivered it, but for the names.
TEMPLATE = """
{
  "eventID": "c4ca4238a0b923820dcc509a6f75849b",
  "eventName": "INSERT",
  "eventVersion": "1.1",
  "eventSource": "aws:dynamodb",
  "awsRegion": "eu-west-1",
  "dynamodb": {
    "ApproximateCreationDateTime": 1787572800.0,
    "Keys": {"sk": {"S": "ORDER#%(number)06d"}, "pk": {"S": "CUSTOMER#ada"}},
    "NewImage": {
      "sk": {"S": "ORDER#%(number)06d"}, "pk": {"S": "CUSTOMER#ada"},
      "customer": {"S": "ada"}, "number": {"N": "%(number)d"}, "status": {"S": "OPEN"}
    },
    "SequenceNumber": "%(sequence)d",
    "SizeBytes": 160,
    "StreamViewType": "NEW_AND_OLD_IMAGES"
  },
  "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/lambda-orders/stream/2026-08-24T00:00:00.000"
}
"""


def record(number: int) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(TEMPLATE % {"number": number, "sequence": FIRST_NUMBER + number})
    return made


def event(*records: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"Records": list(records), **more}


def failures(*numbers: int) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": str(FIRST_NUMBER + number)} for number in numbers]}


class Recorder:
    """Refuses some numbers."""

    def __init__(self, refused: set[int] | None = None, error: Exception | None = None) -> None:
        self.refused = refused or set()
        self.error = error or ValueError("refused")
        self.calls: list[list[int]] = []
        self.handled: list[int] = []
        self.shards: set[str] = set()

    async def __call__(self, changes: Sequence[sk.Change[Order]]) -> None:
        numbers = [change.new.number for change in changes if change.new is not None]
        self.calls.append(numbers)
        self.shards |= {change.shard for change in changes}
        if self.refused.intersection(numbers):
            raise self.error
        self.handled += numbers


class Context:
    """Lambda's context, of which the handler needs the time that is left."""

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self._seconds * 1000)


def handle(recorder: Any, event: dict[str, Any], seconds: float = 60.0) -> dict[str, Any]:
    with closing(sk.feeds.lambda_handler(sk.feeds.ChangeFeed("orders", Order, recorder))) as handler:
        return handler(event, Context(seconds))


def test_all_changes_are_handled() -> None:
    recorder = Recorder()
    assert handle(recorder, event(*map(record, range(5)))) == failures()
    assert recorder.calls == [[0, 1, 2, 3, 4]]
    assert recorder.shards == {""}


# Lambda repeats it and all that follow; what came before is done.
def test_the_first_change_that_raises_is_reported() -> None:
    recorder = Recorder({5, 7})
    assert handle(recorder, event(*map(record, range(8)))) == failures(5)
    assert recorder.calls == [[*range(8)], [0, 1, 2, 3], [4, 5, 6, 7], [4, 5], [4], [5]]
    assert recorder.handled == [0, 1, 2, 3, 4]


@given(st.integers(1, 20), st.sets(st.integers(0, 25)))
def test_what_is_before_the_first_that_raises_is_handled_once(count: int, refused: set[int]) -> None:
    recorder = Recorder(refused)
    first = min((number for number in refused if number < count), default=count)
    expected = failures(first) if first < count else failures()
    assert handle(recorder, event(*map(record, range(count)))) == expected
    assert recorder.handled == list(range(first))


# To divide the batch would only send more requests to a store that has too many.
def test_a_store_that_throttles_is_not_asked_again() -> None:
    throttled = ClientError({"Error": {"Code": "ThrottlingException", "Message": "on purpose"}}, "PutItem")
    recorder = Recorder({2}, throttled)
    assert handle(recorder, event(*map(record, range(4)))) == failures(0)
    assert len(recorder.calls) == 1


# Of a class that the program has named.
def test_an_outage_is_not_searched_for_its_change() -> None:
    recorder = Recorder({2}, RuntimeError("the shop is closed"))
    feed = sk.feeds.ChangeFeed("orders", Order, recorder, outages=[RuntimeError])
    with closing(sk.feeds.lambda_handler(feed)) as handler:
        assert handler(event(*map(record, range(4))), Context()) == failures(0)
    assert len(recorder.calls) == 1


def test_a_record_that_cannot_be_read_is_reported_and_those_before_it_are_handled() -> None:
    broken = record(2)
    broken["dynamodb"]["NewImage"]["status"] = {"N": "1"}
    recorder = Recorder()
    assert handle(recorder, event(record(0), record(1), broken, record(3))) == failures(2)
    assert recorder.handled == [0, 1]


def test_records_of_other_classes_are_passed_over() -> None:
    other = record(0)
    profile = {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "PROFILE"}, "customer": {"S": "ada"}}
    other["dynamodb"] |= {"Keys": profile, "NewImage": profile}
    recorder = Recorder()
    assert handle(recorder, event(other, record(1))) == failures()
    assert recorder.handled == [1]
    assert handle(recorder, event(other)) == failures()


# Lambda ends a function that takes too long, and then repeats everything.
def test_an_answer_comes_before_the_time_is_over() -> None:
    async def hang(_: Sequence[sk.Change[Order]]) -> None:
        await asyncio.Event().wait()

    assert handle(hang, event(record(0), record(1)), seconds=1.01) == failures(0)


# Only then does the event name the shard, which aggregates need; and the answer must have the state.
def test_an_event_of_a_tumbling_window() -> None:
    window = {"start": "2026-08-24T12:00:00Z", "end": "2026-08-24T12:00:30Z"}
    more = {"window": window, "state": {"a": 1}, "shardId": "shardId-7", "isFinalInvokeForWindow": False}
    recorder = Recorder({1})
    assert handle(recorder, event(record(0), record(1), **more)) == failures(1) | {"state": {"a": 1}}
    assert recorder.shards == {"shardId-7"}
    final = {**more, "isFinalInvokeForWindow": True}
    assert handle(recorder, event(**final)) == failures() | {"state": {"a": 1}}


def test_a_feed_with_a_session_keeps_it_for_all_events(tmp_path: Path) -> None:
    with sk.connect(tmp_path, tables=[Shipment]) as db:
        db.create_tables()
        sessions = []

        def feed(session: sk.AsyncSession) -> sk.feeds.ChangeFeed[Order]:
            sessions.append(session)

            async def ship(changes: Sequence[sk.Change[Order]]) -> None:
                for change in changes:
                    assert change.new is not None
                    await session.put(Shipment(number=change.new.number), if_absent=True)

            return sk.feeds.ChangeFeed("shipments", Order, ship)

        with closing(sk.feeds.lambda_handler(feed, tmp_path, tables=[Shipment])) as handler:
            assert handler(event(record(0), record(1)), Context()) == failures()
            assert handler(event(record(1), record(2)), None) == failures()
        assert sorted(shipment.number for shipment in db.scan(Shipment)) == [0, 1, 2]
        assert len(sessions) == 1


class Price(sk.Item, table=sk.Table("lambda-prices", stream="NEW_AND_OLD_IMAGES", replicas=REGIONS, home="us-east-1")):
    product: str

    key = sk.Key("PRICE#{product}")


class Visit(sk.Item, table=sk.Table("lambda-visits", stream="NEW_AND_OLD_IMAGES", replicas=REGIONS)):
    page: str

    key = sk.Key("PAGE#{page}")


# The stream of each region has the writes of all: two functions would count them twice.
def test_the_stream_of_another_region_than_the_home_is_refused() -> None:
    recorder = Recorder()
    with closing(sk.feeds.lambda_handler(sk.feeds.ChangeFeed("prices", Price, recorder))) as handler:
        for _ in range(2):
            with pytest.raises(sk.WrongRegion, match="in its home us-east-1, and this stream is of eu-west-1"):
                handler(event(record(0)), Context())
        assert recorder.calls == []
        handler(event(record(0) | {"awsRegion": "us-east-1"}), Context())


def test_a_table_with_replicas_and_without_a_home_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with closing(sk.feeds.lambda_handler(sk.feeds.ChangeFeed("visits", Visit, Recorder()))) as handler:
        for _ in range(2):
            handler(event(record(0)), Context())
    (warning,) = caplog.messages
    assert 'declare sk.Table("lambda-visits", …, home="eu-west-1")' in warning


def test_mistakes() -> None:
    feed = sk.feeds.ChangeFeed("orders", Order, Recorder())
    with pytest.raises(sk.DeclarationError, match="takes a change feed alone, or a function"):
        sk.feeds.lambda_handler(feed, "memory:")
    with pytest.raises(sk.DeclarationError, match="and the store's URL"):
        sk.feeds.lambda_handler(lambda _: feed)
