"""DescribeStream."""

from __future__ import annotations

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.streams.stream_writer import reshard
from tests.engine.conftest import Call, ExpectError
from tests.engine.orders import DAY, Orders


def test_stream_is_shown_as_aws_shows_it(db: Database) -> None:
    orders = Orders(db, "NEW_IMAGE")
    assert db.call("DescribeStream", {"StreamArn": orders.arn})["StreamDescription"] == {
        "StreamArn": orders.arn,
        "StreamLabel": "2025-06-15T15:06:40.000",
        "StreamStatus": "ENABLED",
        "StreamViewType": "NEW_IMAGE",
        "CreationRequestDateTime": 1_750_000_000.0,
        "TableName": "orders",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "Shards": [
            {
                "ShardId": "shardId-00000001750000000000-00000000",
                "SequenceNumberRange": {"StartingSequenceNumber": "000000000000000000001"},
            }
        ],
    }


def test_key_schema_has_the_sort_key_too(db: Database, call: Call) -> None:
    call(
        "CreateTable",
        TableName="ranged",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "p", "AttributeType": "S"},
            {"AttributeName": "s", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    arn = db.call("ListStreams", {})["Streams"][0]["StreamArn"]
    described = call("DescribeStream", StreamArn=arn)["StreamDescription"]
    assert described["KeySchema"] == [
        {"AttributeName": "p", "KeyType": "HASH"},
        {"AttributeName": "s", "KeyType": "RANGE"},
    ]


def test_disabled_stream_has_closed_shards(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    arn = orders.arn
    orders.put("a")
    orders.disable_stream()
    described = db.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    assert described["StreamStatus"] == "DISABLED"
    numbers = described["Shards"][0]["SequenceNumberRange"]
    assert numbers["StartingSequenceNumber"] <= numbers["EndingSequenceNumber"]


def test_shards_come_in_pages(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    reshard(db, orders.name, 4)
    ids = [shard["ShardId"] for shard in orders.shards()]
    found: list[list[str]] = []
    start: dict[str, str] = {}
    while True:
        page = db.call("DescribeStream", {"StreamArn": orders.arn, "Limit": 2, **start})["StreamDescription"]
        found.append([shard["ShardId"] for shard in page["Shards"]])
        if "LastEvaluatedShardId" not in page:
            break
        start = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
    assert found == [ids[:2], ids[2:4], ids[4:]]


# Consumers do this at the end of a shard.
def test_children_of_one_shard(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    reshard(db, orders.name, 2)
    reshard(db, orders.name, 4)
    parent = orders.shards()[1]["ShardId"]
    asked = {"StreamArn": orders.arn, "ShardFilter": {"Type": "CHILD_SHARDS", "ShardId": parent}}
    children = db.call("DescribeStream", asked)["StreamDescription"]["Shards"]
    assert len(children) == 2
    assert {shard["ParentShardId"] for shard in children} == {parent}


def test_filter_without_a_shard_is_rejected(db: Database, call: Call, expect_error: ExpectError) -> None:
    orders = Orders(db, "KEYS_ONLY")
    with expect_error("ValidationException"):
        call("DescribeStream", StreamArn=orders.arn, ShardFilter={"Type": "CHILD_SHARDS"})


def test_closed_shard_is_shown_for_a_day(db: Database, clock: ManualClock) -> None:
    orders = Orders(db, "KEYS_ONLY")
    reshard(db, orders.name, 2)
    clock.advance(DAY)
    assert len(orders.shards()) == 3
    clock.advance(1)
    assert len(orders.shards()) == 2


def test_unknown_stream(db: Database, call: Call, expect_error: ExpectError) -> None:
    arn = Orders(db, "KEYS_ONLY").arn + "0"
    with expect_error("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found"):
        call("DescribeStream", StreamArn=arn)
