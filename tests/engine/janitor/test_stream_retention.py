"""What the janitor removes from streams, and what it leaves."""

from __future__ import annotations

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.janitor import removal
from sortkey.engine.rows.records import FIRST_FREE, space_bytes
from sortkey.engine.streams.stream_writer import reshard
from sortkey.storage import ascending
from tests.engine.orders import DAY, Orders, events


def stored(db: Database) -> int:
    """Keys in all spaces of tables, indexes and streams."""
    with db.read() as snapshot:
        return sum(1 for _ in ascending(snapshot, space_bytes(FIRST_FREE), b"\xff" * 4))


@pytest.fixture
def orders(db: Database) -> Orders:
    return Orders(db, "KEYS_ONLY")


def test_records_past_their_day_are_removed_and_younger_ones_stay(orders: Orders, clock: ManualClock) -> None:
    orders.put("old")
    clock.advance(DAY)
    orders.put("young")
    clock.advance(1)
    orders.db.janitor.sweep()
    assert events(orders.records()) == [("INSERT", "young")]
    # Two items, one record, and the shard's mark.
    assert stored(orders.db) == 2 + 1 + 1


def test_records_are_removed_over_several_transactions(
    orders: Orders, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "CHUNK", 4)
    reshard(orders.db, orders.name, 2)
    for at in range(10):
        orders.put(f"order-{at}")
    clock.advance(DAY - 1)
    before = orders.db.store.queue.commits
    clock.advance(2)
    orders.db.janitor.sweep()
    assert [orders.records(shard) for shard in range(2)] == [[], []]
    # Ten records by fours, then the closed parent in the catalog entry.
    assert orders.db.store.queue.commits == before + 3 + 1


def test_tidy_stream_is_left_alone(orders: Orders) -> None:
    orders.put("a")
    before = orders.db.store.queue.commits
    orders.db.janitor.sweep()
    assert orders.db.store.queue.commits == before


def test_closed_shard_leaves_nothing_behind(orders: Orders, clock: ManualClock) -> None:
    orders.put("a")
    reshard(orders.db, orders.name, 2)
    clock.advance(DAY + 1)
    orders.db.janitor.sweep()
    assert len(orders.shards()) == 2
    assert stored(orders.db) == 1
    # The next children get new numbers.
    reshard(orders.db, orders.name, 4)
    assert len({shard["ShardId"] for shard in orders.shards()}) == 6


def test_disabled_stream_leaves_nothing_behind(orders: Orders, clock: ManualClock) -> None:
    orders.put("a")
    orders.disable_stream()
    clock.advance(DAY + 1)
    orders.db.janitor.sweep()
    assert "LatestStreamArn" not in orders.db.call("DescribeTable", {"TableName": orders.name})["Table"]
    assert stored(orders.db) == 1
