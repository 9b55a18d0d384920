"""Bulk puts against the same puts one by one: rows, index rows, expiry entries, counts, stream records and units."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.operations.write import BulkPut
from tests.engine.samples import b, create, index, n, s, walk

Item = dict[str, dict[str, Any]]
INDEXES = ("near", "by_kind", "by_text", "by_raw", "by_both")

texts = st.sampled_from(["A", "ab", "é", "x" * 300])
attributes = st.fixed_dictionaries(
    {},
    optional={
        "kind": texts.map(s),
        "num": st.sampled_from(["-1.5", "0", "10", "1e1"]).map(n),
        "text": texts.map(s),
        "raw": st.sampled_from([b"\x00", b"\x01" * 9]).map(b),
        "gone": st.integers(1_750_000_000, 1_750_000_020).map(n),
        "load": st.sampled_from([{"L": [{"N": "01"}]}, {"BS": ["AQ==", "AA=="]}, {"S": "x" * 1500}]),
    },
)
keys = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b"]).map(s), "at": st.sampled_from(["1", "2", "1.0"]).map(n)}
)
items = st.builds(lambda key, others: {**key, **others}, keys, attributes)


def opened(followed: bool) -> Database:
    db = Database(None, ManualClock())

    def call(operation: str, **members: Any) -> dict[str, Any]:
        return db.call(operation, members)

    near = [index("near", "id:S", "num:N", projection="KEYS_ONLY")]
    indexes = [
        index("by_kind", "kind:S", "text:S"),
        index("by_text", "text:S", include=["load"]),
        index("by_raw", "raw:B", "num:N"),
        index("by_both", "kind:S text:S"),
    ]
    create(call, "table", "id:S", "at:N", local=near if followed else (), indexes=indexes if followed else ())
    if followed:
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        call("UpdateTable", TableName="table", StreamSpecification=stream)
        ttl = {"Enabled": True, "AttributeName": "gone"}
        call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=ttl)
        db.janitor.sweep()
    return db


def contents(db: Database, followed: bool) -> dict[str, Any]:
    """All that a program can see, and what the check counts."""

    def call(operation: str, **members: Any) -> dict[str, Any]:
        return db.call(operation, members)

    table = call("DescribeTable", TableName="table")["Table"]
    found = {
        "table": walk(call, "Scan", TableName="table"),
        "count": table["ItemCount"],
        "bytes": table["TableSizeBytes"],
    }
    if followed:
        found |= {name: walk(call, "Scan", TableName="table", IndexName=name) for name in INDEXES}
        arn = table["LatestStreamArn"]
        (shard,) = call("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]
        start = call("GetShardIterator", StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        records = call("GetRecords", ShardIterator=start)["Records"]
        found["records"] = [(each["eventName"], each["dynamodb"]) for each in records]
    assert check_database(db).problems == []
    return found


@given(st.lists(st.lists(items, max_size=6), max_size=4), st.booleans())
def test_bulk_puts_are_puts(groups: list[list[Item]], followed: bool) -> None:
    one_by_one, bulk = opened(followed), opened(followed)
    units = bulk_units = 0.0
    for group in groups:
        puts = BulkPut(bulk)
        for item in group:
            puts.add("table", item)
            put = {"TableName": "table", "Item": item, "ReturnConsumedCapacity": "TOTAL"}
            units += one_by_one.call("PutItem", put)["ConsumedCapacity"]["CapacityUnits"]
        bulk_units += bulk.store.write(puts.work)["ConsumedCapacity"]["CapacityUnits"]
    assert contents(bulk, followed) == contents(one_by_one, followed)
    assert bulk_units == units
    # Items expire by their entries.
    for db in (one_by_one, bulk):
        db.clock.advance(10)  # type: ignore[attr-defined]
        db.janitor.sweep()
    assert contents(bulk, followed)["table"] == contents(one_by_one, followed)["table"]
    one_by_one.close()
    bulk.close()
