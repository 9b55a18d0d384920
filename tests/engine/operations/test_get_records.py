"""GetRecords."""

from __future__ import annotations

from pathlib import Path

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.streams.stream_writer import reshard
from tests.engine.conftest import ExpectError
from tests.engine.orders import DAY, Orders, events, sequence, text


@pytest.fixture
def orders(db: Database) -> Orders:
    orders = Orders(db, "NEW_IMAGE")
    for key in "abcde":
        orders.put(key)
    return orders


def keys(page: dict[str, list[dict[str, object]]]) -> list[str]:
    return [key for _, key in events(page["Records"])]


def test_pages_follow_each_other_without_gap_or_overlap(orders: Orders) -> None:
    found: list[list[str]] = []
    iterator = orders.iterator()
    for _ in range(3):
        page = orders.read(iterator, Limit=2)
        found.append(keys(page))
        iterator = page["NextShardIterator"]
    assert found == [["a", "b"], ["c", "d"], ["e"]]
    assert orders.read(iterator)["Records"] == []


# An open shard never ends: its reader waits for more records.
def test_open_shard_goes_on_where_it_has_no_more_records(orders: Orders) -> None:
    end = orders.read(orders.iterator())["NextShardIterator"]
    behind = orders.read(end)["NextShardIterator"]
    orders.put("f")
    assert keys(orders.read(behind)) == ["f"]


def test_same_iterator_reads_the_same_again(orders: Orders) -> None:
    iterator = orders.iterator()
    assert orders.read(iterator)["Records"] == orders.read(iterator)["Records"]


# Without a next iterator, a consumer goes on with the children.
def test_closed_shard_ends_with_its_last_record(orders: Orders) -> None:
    iterator = orders.iterator()
    reshard(orders.db, orders.name, 2)
    page = orders.read(iterator, Limit=4)
    assert keys(page) == ["a", "b", "c", "d"]
    last = orders.read(page["NextShardIterator"], Limit=1)
    assert keys(last) == ["e"]
    assert "NextShardIterator" not in last


def test_latest_of_a_closed_shard_is_its_end(orders: Orders) -> None:
    reshard(orders.db, orders.name, 2)
    assert orders.read(orders.iterator("LATEST")) == {"Records": []}


def test_page_ends_at_a_megabyte_but_holds_at_least_one_record(orders: Orders) -> None:
    start = orders.iterator("LATEST")
    for key in ("x", "y", "z"):
        orders.put(key, filling=text("." * 390_000))
    first = orders.read(start)
    assert keys(first) == ["x", "y"]
    assert keys(orders.read(first["NextShardIterator"])) == ["z"]


def test_iterator_serves_for_fifteen_minutes(orders: Orders, clock: ManualClock, expect_error: ExpectError) -> None:
    iterator = orders.iterator()
    clock.advance(15 * 60)
    following = orders.read(iterator)["NextShardIterator"]
    clock.advance(1)
    with expect_error("ExpiredIteratorException"):
        orders.read(iterator)
    assert orders.read(following)["Records"] == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "nonsense",
        lambda iterator: iterator + "AA",
        lambda iterator: iterator[:-1],
        lambda iterator: iterator.replace("|1|", "|2|"),
        lambda iterator: iterator.replace("orders", "others"),
        lambda iterator: iterator[:-8] + "AAAAAAA=",
        lambda iterator: iterator[:-8] + "????????",
    ],
)
def test_damaged_iterator(orders: Orders, expect_error: ExpectError, damage: object) -> None:
    assert callable(damage)
    with expect_error("ValidationException", "Invalid ShardIterator"):
        orders.read(damage(orders.iterator()))


def test_iterator_of_a_dropped_table(orders: Orders, expect_error: ExpectError) -> None:
    arn, iterator = orders.arn, orders.iterator()
    orders.db.call("DeleteTable", {"TableName": orders.name})
    with expect_error("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found"):
        orders.read(iterator)


# The same name and, with a clock that stands still, the same label: yet another stream.
def test_iterator_does_not_lead_into_a_table_made_anew(orders: Orders, expect_error: ExpectError) -> None:
    iterator = orders.iterator()
    orders.db.call("DeleteTable", {"TableName": orders.name})
    Orders(orders.db, "NEW_IMAGE")
    with expect_error("ResourceNotFoundException"):
        orders.read(iterator)


def test_records_are_gone_after_a_day_without_a_sweep(orders: Orders, clock: ManualClock) -> None:
    clock.advance(DAY)
    assert len(orders.records()) == 5
    clock.advance(1)
    assert orders.records() == []


# A reader that pauses while its shard is trimmed must get an error, not skip the gap.
@pytest.mark.parametrize("swept", [False, True])
def test_reader_who_falls_behind_is_told(
    orders: Orders, clock: ManualClock, expect_error: ExpectError, swept: bool
) -> None:
    clock.advance(DAY)
    behind = orders.read(orders.iterator(), Limit=2)["NextShardIterator"]
    clock.advance(60)
    if swept:
        orders.db.janitor.sweep()
    with expect_error("TrimmedDataAccessException", "The data you are trying to access has been trimmed"):
        orders.read(behind)


def test_reader_who_has_seen_all_loses_nothing_by_trimming(orders: Orders, clock: ManualClock) -> None:
    clock.advance(DAY)
    end = orders.read(orders.iterator())["NextShardIterator"]
    clock.advance(60)
    orders.db.janitor.sweep()
    orders.put("f")
    assert keys(orders.read(end)) == ["f"]


def test_disabled_stream_can_be_read_to_its_end(orders: Orders) -> None:
    iterator = orders.iterator()
    orders.disable_stream()
    orders.put("f")
    page = orders.read(iterator)
    assert keys(page) == ["a", "b", "c", "d", "e"]
    assert "NextShardIterator" not in page


# Checkpoints outlive the process; numbers must neither start again nor come twice.
def test_iterators_and_numbers_survive_a_restart(tmp_path: Path, clock: ManualClock) -> None:
    db = Database(tmp_path, clock)
    orders = Orders(db, "KEYS_ONLY")
    orders.put("a")
    iterator = orders.iterator()
    db.close()
    orders.db = Database(tmp_path, clock)
    orders.put("b")
    records = orders.read(iterator)["Records"]
    assert events(records) == [("INSERT", "a"), ("INSERT", "b")]
    assert sequence(records[0]) < sequence(records[1])
    orders.db.close()
