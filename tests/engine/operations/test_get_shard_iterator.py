"""GetShardIterator."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from tests.engine.conftest import ExpectError
from tests.engine.orders import DAY, Orders, events, sequence


@pytest.fixture
def orders(db: Database) -> Orders:
    orders = Orders(db, "KEYS_ONLY")
    for key in "abc":
        orders.put(key)
    return orders


def read(orders: Orders, iterator_type: str, **members: Any) -> list[str]:
    return [key for _, key in events(orders.read(orders.iterator(iterator_type, **members))["Records"])]


def test_trim_horizon_is_the_oldest_record(orders: Orders) -> None:
    assert read(orders, "TRIM_HORIZON") == ["a", "b", "c"]


def test_latest_is_behind_the_newest_record(orders: Orders) -> None:
    iterator = orders.iterator("LATEST")
    assert orders.read(iterator)["Records"] == []
    orders.put("d")
    assert events(orders.read(iterator)["Records"]) == [("INSERT", "d")]


# The first record of all must not slip through between "nothing yet" and "from now on".
def test_latest_in_a_stream_without_records_sees_the_first(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    iterator = orders.iterator("LATEST")
    orders.put("a")
    assert events(orders.read(iterator)["Records"]) == [("INSERT", "a")]


def test_at_and_after_a_sequence_number(orders: Orders) -> None:
    second = sequence(orders.records()[1])
    assert read(orders, "AT_SEQUENCE_NUMBER", SequenceNumber=second) == ["b", "c"]
    assert read(orders, "AFTER_SEQUENCE_NUMBER", SequenceNumber=second) == ["c"]


def test_starting_number_of_a_shard_without_records_can_be_asked_for(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    start = orders.shards()[0]["SequenceNumberRange"]["StartingSequenceNumber"]
    iterator = orders.iterator("AT_SEQUENCE_NUMBER", SequenceNumber=start)
    orders.put("a")
    assert events(orders.read(iterator)["Records"]) == [("INSERT", "a")]


@pytest.mark.parametrize("iterator_type", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
@pytest.mark.parametrize("members", [{}, {"SequenceNumber": "x" * 21}, {"SequenceNumber": "٣" * 21}])
def test_sequence_number_is_needed_and_is_digits(
    orders: Orders, expect_error: ExpectError, iterator_type: str, members: dict[str, Any]
) -> None:
    with expect_error("ValidationException", "One or more parameter values were invalid: Invalid SequenceNumber"):
        orders.iterator(iterator_type, **members)


@pytest.mark.parametrize("iterator_type", ["LATEST", "TRIM_HORIZON"])
def test_sequence_number_is_rejected_where_it_means_nothing(
    orders: Orders, expect_error: ExpectError, iterator_type: str
) -> None:
    message = "One or more parameter values were invalid: SequenceNumber should not be passed for this iterator type"
    with expect_error("ValidationException", message):
        orders.iterator(iterator_type, SequenceNumber="0" * 20 + "1")


@pytest.mark.parametrize("outside", ["0" * 21, "9" * 21, "9" * 40])
def test_sequence_number_of_no_record_of_the_shard(orders: Orders, expect_error: ExpectError, outside: str) -> None:
    with expect_error("ValidationException", "Invalid SequenceNumber for the shard"):
        orders.iterator("AT_SEQUENCE_NUMBER", SequenceNumber=outside)


def test_timestamps_are_not_for_streams_of_tables(orders: Orders, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "Invalid ShardIteratorType."):
        orders.iterator("AT_TIMESTAMP", Timestamp=1)


def test_unknown_stream_and_shard(orders: Orders, expect_error: ExpectError) -> None:
    arn = orders.arn + "0"
    with expect_error("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found"):
        orders.iterator(StreamArn=arn)
    with expect_error("ResourceNotFoundException", "Requested resource not found: Shard does not exist"):
        orders.iterator(ShardId="shardId-00000000000000000000-00000000")


# A consumer that slept for a day must learn that it has missed something, whether the janitor came by or not.
@pytest.mark.parametrize("swept", [False, True])
def test_sequence_number_past_its_day(
    orders: Orders, clock: ManualClock, expect_error: ExpectError, swept: bool
) -> None:
    first = sequence(orders.records()[0])
    clock.advance(DAY + 1)
    orders.put("d")
    if swept:
        orders.db.janitor.sweep()
    for iterator_type in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        with expect_error("TrimmedDataAccessException", "The data you are trying to access has been trimmed"):
            orders.iterator(iterator_type, SequenceNumber=first)
    assert read(orders, "TRIM_HORIZON") == ["d"]
