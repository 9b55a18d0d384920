"""How a stream is divided into shards, and what happens when their number changes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.streams.stream_writer import reshard
from sortkey.engine.tables.core import Settings
from tests.engine.orders import Orders, events

KEYS = [f"order-{at}" for at in range(40)]


@pytest.fixture
def sharded(clock: ManualClock) -> Iterator[Orders]:
    """A stream of three shards."""
    db = Database(None, clock, Settings(stream_shards=3))
    yield Orders(db, "KEYS_ONLY")
    assert check_database(db).problems == []
    db.close()


def test_new_stream_has_as_many_shards_as_the_settings_say(sharded: Orders) -> None:
    shards = sharded.shards()
    assert len(shards) == 3
    assert all(re.fullmatch(r"shardId-\d{20}-[0-9a-f]{8}", shard["ShardId"]) for shard in shards)
    assert all("ParentShardId" not in shard for shard in shards)


# Order is promised per item only because an item's changes never leave its shard.
def test_all_changes_of_an_item_are_in_one_shard_and_each_change_in_one_only(sharded: Orders) -> None:
    for _ in range(2):
        for key in KEYS:
            sharded.put(key)
            sharded.delete(key)
    found = [events(sharded.records(shard)) for shard in range(3)]
    keys = [{key for _, key in shard} for shard in found]
    assert all(keys)
    assert sorted(key for shard in keys for key in shard) == sorted(KEYS)
    assert sum(map(len, found)) == 4 * len(KEYS)


def test_reshard_closes_the_open_shards_and_gives_each_its_children(sharded: Orders) -> None:
    before = sharded.shards()
    reshard(sharded.db, sharded.name, 6)
    after = sharded.shards()
    parents, children = after[:3], after[3:]
    assert [shard["ShardId"] for shard in parents] == [shard["ShardId"] for shard in before]
    assert all("EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in parents)
    assert [shard["ParentShardId"] for shard in children] == [parent["ShardId"] for parent in parents for _ in range(2)]
    assert all("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in children)


# A consumer that reads parents before children must see an item's changes in order, across the change.
def test_children_take_over_exactly_the_items_of_their_parent(sharded: Orders) -> None:
    for key in KEYS:
        sharded.put(key)
    reshard(sharded.db, sharded.name, 6)
    for key in KEYS:
        sharded.delete(key)
    shards = sharded.shards()
    keys = {shard["ShardId"]: {key for _, key in events(sharded.records(at))} for at, shard in enumerate(shards)}
    for parent in shards[:3]:
        children = [keys[shard["ShardId"]] for shard in shards if shard.get("ParentShardId") == parent["ShardId"]]
        assert set.union(*children) == keys[parent["ShardId"]]
        assert set.intersection(*children) == set()


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_reshard_rejects_a_number_for_which_a_child_would_need_two_parents(sharded: Orders, count: int) -> None:
    with pytest.raises(ValueError, match="must be a multiple"):
        reshard(sharded.db, sharded.name, count)
    assert len(sharded.shards()) == 3


def test_reshard_needs_a_stream(db: Database) -> None:
    orders = Orders(db)
    with pytest.raises(ValueError, match="has no stream"):
        reshard(db, orders.name, 2)
