"""Shards that are closed and continued by their children while a table is written to."""

from __future__ import annotations

from functools import partial

import pytest

import sortkey as sk
from sortkey.client import Client
from sortkey.engine.check.database_check import check_database
from sortkey.engine.faults.stream_faults import MOST_OPEN
from tests.client.orders import database_of
from tests.engine.faults.conftest import OpenFaulty
from tests.engine.faults.orders import code_of, key, put
from tests.engine.faults.streams import STREAMED, first_page, shards_of


def open_shards(client: Client) -> int:
    return sum("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in shards_of(client))


def test_every_few_writes_a_shard_gets_children(open_faulty: OpenFaulty) -> None:
    client = open_faulty("split_shards_every=10")
    client.create_table(**STREAMED)
    for number in range(40):
        put(client, number)
    shards = shards_of(client)
    # Four splits of one shard into two.
    assert (len(shards), open_shards(client)) == (9, 5)
    ids = {shard["ShardId"] for shard in shards}
    assert sum(shard.get("ParentShardId") in ids for shard in shards) == 8
    records = [sequence for shard in shards for sequence in first_page(client, shard["ShardId"])]
    assert len(records) == len(set(records)) == 40


# On AWS, too, a shard of a stream that is not busy rolls over into one child.
def test_a_stream_of_many_shards_only_rolls_over() -> None:
    with sk.client("memory:", faults=sk.testing.Faults(split_shards_every=1)) as client:
        client.create_table(**STREAMED)
        for number in range(20):
            put(client, number)
        assert open_shards(client) == MOST_OPEN
        assert len(shards_of(client)) == 1 + 7 * 2 + 13
        assert check_database(database_of(client)).problems == []


def test_writes_of_batches_and_transactions_count() -> None:
    with sk.client("memory:", faults=sk.testing.Faults(split_shards_every=4)) as client:
        client.create_table(**STREAMED)
        client.batch_write_item(RequestItems={"orders": [{"PutRequest": {"Item": key(at)}} for at in range(2)]})
        client.transact_write_items(
            TransactItems=[{"Put": {"TableName": "orders", "Item": key(at)}} for at in range(2, 4)]
        )
        assert len(shards_of(client)) == 3


def test_tables_without_a_stream_and_missing_ones_are_left_alone() -> None:
    with sk.client("memory:", faults=sk.testing.Faults(split_shards_every=1)) as client:
        assert code_of(partial(put, client, 1)) == "ResourceNotFoundException"
        client.create_table(**{**STREAMED, "StreamSpecification": {"StreamEnabled": False}})
        put(client, 1)


def test_a_negative_number_is_rejected() -> None:
    with pytest.raises(ValueError, match="split_shards_every must not be negative: -1"):
        sk.testing.Faults(split_shards_every=-1)
