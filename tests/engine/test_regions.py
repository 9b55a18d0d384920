"""Emulated regions: what is written in one of them arrives in the others, and the last writer wins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.operations.fast_path import FAST_WRITES
from sortkey.engine.regions import Regions
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import row_versions
from sortkey.errors import DynamoDBError
from sortkey.storage import StorageError
from tests.engine.operations.table_shapes import attributes, index, key_schema, table

EU, US, AP = "eu-west-1", "us-east-1", "ap-south-1"
NAMES = (EU, US, AP)


class World:
    """Regions whose replicator runs only when a test says so, each with a clock of its own."""

    def __init__(self, data: Path | None = None, lag: float = 0.0) -> None:
        self.clocks = {name: ManualClock() for name in NAMES}
        self.data = data
        self.regions = Regions(NAMES, data, lag=lag, clocks=self.clocks)

    def call(self, region: str, operation: str, **members: Any) -> dict[str, Any]:
        return self.regions.databases[region].call(operation, members)

    def put(self, region: str, p: str, v: str, **more: Any) -> None:
        item = {"p": {"S": p}, "s": {"N": "1"}, "v": {"S": v}} | more
        self.call(region, "PutItem", TableName="orders", Item=item)
        self.pass_time(0.001)

    def delete(self, region: str, p: str) -> None:
        self.call(region, "DeleteItem", TableName="orders", Key={"p": {"S": p}, "s": {"N": "1"}})
        self.pass_time(0.001)

    def values(self, region: str) -> dict[str, str]:
        items = self.call(region, "Scan", TableName="orders")["Items"]
        return {item["p"]["S"]: item["v"]["S"] for item in items}

    def pass_time(self, seconds: float) -> None:
        for clock in self.clocks.values():
            clock.advance(seconds)

    def replicate_orders(self, *regions: str, **settings: Any) -> None:
        self.call(EU, "CreateTable", **table(AttributeDefinitions=attributes(p="S", s="N"), **settings))
        for region in regions or (US, AP):
            self.add(region)
            self.regions.settle()

    def add(self, region: str, at: str = EU) -> dict[str, Any]:
        return self.call(at, "UpdateTable", TableName="orders", ReplicaUpdates=[{"Create": {"RegionName": region}}])

    def describe(self, region: str) -> dict[str, Any]:
        described: dict[str, Any] = self.call(region, "DescribeTable", TableName="orders")["Table"]
        return described

    def kept_versions(self) -> dict[str, int]:
        """How many rows have a version in each region, also deleted ones."""
        found = {}
        for name, database in self.regions.databases.items():
            with database.read() as snapshot:
                replication = database.catalog.require(snapshot, "orders").replication
                assert replication is not None
                keys = [bytes(key) for key, _ in snapshot.cursor().iternext()]
                found[name] = sum(key.startswith(replication.versions) for key in keys)
        return found

    def reopen(self) -> None:
        self.regions.close()
        self.regions = Regions(NAMES, self.data, clocks=self.clocks)

    def close(self) -> None:
        for database in self.regions.databases.values():
            database.janitor.sweep()
            assert check_database(database).problems == []
        self.regions.close()


@pytest.fixture
def world() -> Iterator[World]:
    found = World()
    yield found
    found.close()


def test_a_write_arrives_in_every_region(world: World) -> None:
    world.replicate_orders()
    world.put(US, "1", "hello")
    assert world.values(EU) == {}
    world.regions.settle()
    assert [world.values(name) for name in NAMES] == [{"1": "hello"}] * 3


# The fast path takes writes into tables with replicas, too.
def test_a_write_on_the_fast_path_arrives_in_every_region(world: World) -> None:
    definition = table(KeySchema=key_schema("p"), AttributeDefinitions=attributes(p="S"))
    world.call(EU, "CreateTable", **definition)
    for region in (US, AP):
        world.add(region)
        world.regions.settle()
    database = world.regions.databases[US]
    database.call("Scan", {"TableName": "orders"})
    for operation, members in (
        ("PutItem", {"Item": {"p": {"S": "1"}, "v": {"S": "hello"}}}),
        (
            "UpdateItem",
            {
                "Key": {"p": {"S": "1"}},
                "UpdateExpression": "SET v = :v",
                "ExpressionAttributeValues": {":v": {"S": "bye"}},
            },
        ),
    ):
        work = FAST_WRITES[operation](database, orjson.dumps({"TableName": "orders"} | members))
        assert work is not None
        database.store.write(work)
        world.pass_time(0.001)
        world.regions.settle()
        assert len({tuple(world.values(name).items()) for name in NAMES}) == 1
    assert world.values(EU) == {"1": "bye"}


def test_rows_from_before_a_replica_arrive_in_it(world: World) -> None:
    world.call(EU, "CreateTable", **table(AttributeDefinitions=attributes(p="S", s="N")))
    for number in range(600):
        world.call(
            EU, "PutItem", TableName="orders", Item={"p": {"S": str(number)}, "s": {"N": "1"}, "v": {"S": "old"}}
        )
    assert world.add(US)["TableDescription"]["TableStatus"] == "UPDATING"
    world.regions.settle()
    assert world.describe(EU)["TableStatus"] == "ACTIVE"
    assert len(world.values(US)) == 600
    world.put(US, "7", "new")
    world.regions.settle()
    assert world.values(EU)["7"] == "new"


# The older write arrives last: it must not replace the newer one.
def test_the_last_writer_wins_in_every_region(world: World) -> None:
    world.replicate_orders()
    world.regions.cut(EU, US)
    world.regions.cut(US, AP)
    world.put(US, "1", "older")
    world.put(EU, "1", "newer")
    world.regions.settle()
    assert [world.values(name)["1"] for name in NAMES] == ["newer", "older", "newer"]
    world.regions.heal()
    world.regions.settle()
    assert [world.values(name)["1"] for name in NAMES] == ["newer"] * 3


def test_at_the_same_instant_the_regions_name_decides(world: World) -> None:
    world.replicate_orders()
    for name in NAMES:
        item = {"p": {"S": "1"}, "s": {"N": "1"}, "v": {"S": name}}
        world.call(name, "PutItem", TableName="orders", Item=item)
    world.regions.settle()
    assert [world.values(name)["1"] for name in NAMES] == [US] * 3


@pytest.mark.parametrize("deleted_last", [True, False])
def test_a_delete_is_a_write_like_others(world: World, deleted_last: bool) -> None:
    world.replicate_orders()
    world.put(EU, "1", "first")
    world.regions.settle()
    world.regions.cut(EU)
    if deleted_last:
        world.put(US, "1", "again")
        world.delete(EU, "1")
    else:
        world.delete(EU, "1")
        world.put(US, "1", "again")
    world.regions.heal(EU)
    world.regions.settle()
    assert [world.values(name) for name in NAMES] == [{} if deleted_last else {"1": "again"}] * 3


# An item that no region has any more costs nothing.
def test_deleted_rows_are_forgotten_when_every_region_knows(world: World) -> None:
    world.replicate_orders()
    for number in range(300):
        world.put(EU, str(number), "x")
    world.regions.settle()
    world.regions.cut(AP)
    for number in range(299):
        world.delete(US, str(number))
    world.regions.settle()
    assert world.kept_versions() == dict.fromkeys(NAMES, 300)
    world.regions.heal()
    world.regions.settle()
    assert world.kept_versions() == dict.fromkeys(NAMES, 1)


# The deletion is the oldest write that waits for the region that is cut off, and everybody has written since.
def test_a_deletion_that_waits_is_not_forgotten(world: World) -> None:
    world.replicate_orders()
    world.put(EU, "1", "x")
    world.regions.settle()
    world.regions.cut(EU, US)
    world.delete(US, "1")
    for name in NAMES:
        world.put(name, f"of {name}", "y")
    world.regions.settle()
    world.regions.heal()
    world.regions.settle()
    assert ["1" in world.values(name) for name in NAMES] == [False] * 3


# It is behind a newer write in the queue of the new region, which has got the row from a region that had it still.
def test_a_deletion_from_before_a_replica_is_not_forgotten(world: World) -> None:
    world.replicate_orders(US)
    world.put(EU, "1", "x")
    world.regions.settle()
    world.regions.cut(EU, US)
    world.delete(EU, "1")
    world.add(AP)
    world.put(EU, "2", "y")
    while world.regions.replicate(lag=10):
        pass
    assert "1" in world.values(AP)
    world.regions.cut(EU, AP)
    world.put(AP, "3", "z")
    world.regions.heal(EU, US)
    world.regions.settle()
    world.regions.heal()
    world.regions.settle()
    assert ["1" in world.values(name) for name in NAMES] == [False] * 3


# A region whose clock is an hour ahead has written; what is written after that, elsewhere, must not be lost.
def test_who_has_seen_a_write_overwrites_it_whatever_the_clocks_say(world: World) -> None:
    world.replicate_orders()
    world.clocks[EU].jump(3600)
    world.put(EU, "1", "from the future")
    world.regions.settle()
    world.put(US, "1", "later")
    world.regions.settle()
    assert [world.values(name)["1"] for name in NAMES] == ["later"] * 3


def test_writes_wait_for_the_lag(world: World) -> None:
    world.replicate_orders()
    world.regions.set_lag(2.0)
    world.put(EU, "1", "slow")
    while world.regions.replicate():
        pass
    assert world.values(US) == {}
    assert world.regions.state()["waiting"] == {"eu-west-1 to us-east-1": 1, "eu-west-1 to ap-south-1": 1}
    world.pass_time(2.0)
    while world.regions.replicate():
        pass
    assert world.values(US) == {"1": "slow"}


def test_a_write_from_elsewhere_changes_indexes_streams_and_expiry(world: World) -> None:
    definitions = attributes(p="S", s="N", g="S")
    world.call(EU, "CreateTable", **table(AttributeDefinitions=definitions, GlobalSecondaryIndexes=[index()]))
    world.call(
        EU, "UpdateTimeToLive", TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ends"}
    )
    world.add(US)
    world.regions.settle()
    ends = {"N": str(int(world.clocks[EU].now()) + 60)}
    world.put(EU, "1", "x", g={"S": "red"}, ends=ends)
    world.regions.settle()
    query = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": {"S": "red"}}}
    assert world.call(US, "Query", TableName="orders", IndexName="by_g", **query)["Count"] == 1
    # Every region deletes what has expired. The record of the delete that comes from elsewhere names no service.
    world.clocks[EU].advance(120)
    world.regions.databases[EU].janitor.sweep()
    world.regions.settle()
    assert world.values(US) == {}
    assert world.call(US, "Query", TableName="orders", IndexName="by_g", **query)["Count"] == 0
    assert [("userIdentity" in each, each["eventName"]) for each in records(world, EU)] == [
        (False, "INSERT"),
        (True, "REMOVE"),
    ]
    assert [("userIdentity" in each, each["eventName"]) for each in records(world, US)] == [
        (False, "INSERT"),
        (False, "REMOVE"),
    ]


def records(world: World, region: str) -> list[dict[str, Any]]:
    arn = world.describe(region)["LatestStreamArn"]
    assert f":{region}:" in arn
    (shard,) = world.call(region, "DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]
    position = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = world.call(region, "GetShardIterator", **position)["ShardIterator"]
    found: list[dict[str, Any]] = world.call(region, "GetRecords", ShardIterator=iterator)["Records"]
    return found


# A replica does not show the attributes of the legacy version, and a transaction arrives item by item.
def test_items_arrive_as_they_were_written(world: World) -> None:
    world.replicate_orders()
    put = {"TableName": "orders", "Item": {"p": {"S": "a"}, "s": {"N": "1"}, "b": {"B": "AAE="}}}
    other = {"TableName": "orders", "Item": {"p": {"S": "b"}, "s": {"N": "1"}, "l": {"L": [{"NULL": True}]}}}
    world.call(EU, "TransactWriteItems", TransactItems=[{"Put": put}, {"Put": other}])
    world.regions.settle()
    items = world.call(US, "Scan", TableName="orders")["Items"]
    assert sorted(items, key=lambda item: item["p"]["S"]) == [put["Item"], other["Item"]]


def test_replicas_are_described_as_those_of_the_current_version(world: World) -> None:
    world.replicate_orders()
    described = world.describe(AP)
    assert described["GlobalTableVersion"] == "2019.11.21"
    assert sorted(each["RegionName"] for each in described["Replicas"]) == [EU, US]
    assert {each["ReplicaStatus"] for each in described["Replicas"]} == {"ACTIVE"}
    assert described["TableArn"] == f"arn:aws:dynamodb:{AP}:000000000000:table/orders"
    assert described["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    with pytest.raises(DynamoDBError) as caught:
        world.call(AP, "DescribeGlobalTable", GlobalTableName="orders")
    assert caught.value.code == "GlobalTableNotFoundException"


def test_a_replica_is_deleted_from_another_region(world: World) -> None:
    world.replicate_orders()
    world.put(EU, "1", "x")
    world.call(US, "UpdateTable", TableName="orders", ReplicaUpdates=[{"Delete": {"RegionName": AP}}])
    world.regions.settle()
    assert world.call(AP, "ListTables")["TableNames"] == []
    assert [each["RegionName"] for each in world.describe(EU)["Replicas"]] == [US]
    world.call(US, "DeleteTable", TableName="orders")
    world.regions.settle()
    described = world.describe(EU)
    assert "Replicas" not in described
    assert world.values(EU) == {"1": "x"}


# Nobody knows what the other region has written meanwhile, so the new table gets all rows of both.
def test_a_replica_that_was_made_anew_gets_everything(world: World) -> None:
    world.replicate_orders()
    world.regions.cut(US, AP)
    world.put(US, "1", "only in us")
    world.put(EU, "2", "x")
    world.regions.settle()
    world.call(AP, "DeleteTable", TableName="orders")
    world.regions.settle()
    world.add(AP)
    world.regions.settle()
    world.put(AP, "3", "y")
    world.regions.heal()
    world.regions.settle()
    assert [sorted(world.values(name)) for name in NAMES] == [["1", "2", "3"]] * 3


def test_two_regions_add_replicas_at_once(world: World) -> None:
    world.replicate_orders(US)
    world.regions.cut(EU)
    world.add(AP, at=US)
    world.put(EU, "1", "eu")
    world.regions.settle()
    world.put(AP, "2", "ap")
    world.regions.heal()
    world.regions.settle()
    assert [sorted(world.values(name)) for name in NAMES] == [["1", "2"]] * 3
    assert sorted(each["RegionName"] for each in world.describe(EU)["Replicas"]) == [AP, US]


def test_indexes_and_ttl_are_shared(world: World) -> None:
    world.replicate_orders()
    world.put(US, "1", "x", g={"S": "red"})
    create = {"Create": {key: value for key, value in index().items() if key != "ProvisionedThroughput"}}
    definitions = attributes(p="S", s="N", g="S")
    world.call(
        US, "UpdateTable", TableName="orders", AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[create]
    )
    ttl = {"Enabled": True, "AttributeName": "ends"}
    world.call(US, "UpdateTimeToLive", TableName="orders", TimeToLiveSpecification=ttl)
    world.regions.settle()
    for name in NAMES:
        world.regions.databases[name].janitor.sweep()
        query = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": {"S": "red"}}}
        assert world.call(name, "Query", TableName="orders", IndexName="by_g", **query)["Count"] == 1
        described = world.call(name, "DescribeTimeToLive", TableName="orders")["TimeToLiveDescription"]
        assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ends"}
    world.call(EU, "UpdateTable", TableName="orders", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by_g"}}])
    world.regions.settle()
    assert "GlobalSecondaryIndexes" not in world.describe(AP)


def test_a_global_table_of_the_legacy_version(world: World) -> None:
    stream: dict[str, Any] = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
    for name in (EU, US):
        world.call(name, "CreateTable", **table(AttributeDefinitions=attributes(p="S", s="N"), **stream))
    group = [{"RegionName": EU}, {"RegionName": US}]
    world.call(EU, "CreateGlobalTable", GlobalTableName="orders", ReplicationGroup=group)
    world.regions.settle()
    world.put(US, "1", "x")
    world.regions.settle()
    assert world.values(EU) == {"1": "x"}
    described = world.call(US, "DescribeGlobalTable", GlobalTableName="orders")["GlobalTableDescription"]
    assert sorted(each["RegionName"] for each in described["ReplicationGroup"]) == [EU, US]
    # A replica that is removed keeps its table, which is no replica any more.
    world.call(EU, "UpdateGlobalTable", GlobalTableName="orders", ReplicaUpdates=[{"Delete": {"RegionName": US}}])
    world.regions.settle()
    world.put(EU, "2", "y")
    world.regions.settle()
    assert world.values(US) == {"1": "x"}


def test_what_is_rejected(world: World) -> None:
    world.replicate_orders(US)

    def refused(update: dict[str, Any], **more: Any) -> str:
        with pytest.raises(DynamoDBError) as caught:
            world.call(EU, "UpdateTable", TableName="orders", ReplicaUpdates=[update], **more)
        return caught.value.message

    assert "local region" in refused({"Create": {"RegionName": EU}})
    assert "already existed as tables" in refused({"Create": {"RegionName": US}})
    assert f"the regions here are {EU}, {US}, {AP}" in refused({"Create": {"RegionName": "eu-north-1"}})
    assert "was not found: ap-south-1" in refused({"Delete": {"RegionName": AP}})
    assert "but for EVENTUAL" in refused({"Create": {"RegionName": AP}}, MultiRegionConsistency="STRONG")
    assert "cannot be combined" in refused({"Create": {"RegionName": AP}}, BillingMode="PAY_PER_REQUEST")
    with pytest.raises(DynamoDBError, match="needed by its replicas"):
        world.call(EU, "UpdateTable", TableName="orders", StreamSpecification={"StreamEnabled": False})
    world.add(AP)
    assert "Table is being updated" in refused({"Delete": {"RegionName": US}})
    world.regions.settle()


def test_links_are_between_two_regions_that_there_are(world: World) -> None:
    with pytest.raises(ValueError, match="there is no region 'mars'"):
        world.regions.cut("mars")
    with pytest.raises(ValueError, match="between two regions"):
        world.regions.cut(EU, EU)
    world.regions.cut(EU)
    assert world.regions.state()["cut"] == [[EU, AP], [EU, US]]
    world.regions.heal(EU, US)
    assert world.regions.state()["cut"] == [[EU, AP]]


def test_what_was_not_sent_is_sent_when_the_folders_are_opened_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.replicate_orders()
    world.put(EU, "1", "x")
    world.delete(EU, "1")
    world.put(EU, "2", "y")
    world.reopen()
    world.regions.settle()
    assert [world.values(name) for name in NAMES] == [{"2": "y"}] * 3
    with pytest.raises(StorageError, match="another process replicates"):
        Regions(NAMES, tmp_path)
    world.close()


# Another process may serve or write the folder of a region alone.
def test_a_folder_knows_its_region(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.replicate_orders(US)
    world.regions.close()
    alone = Database(tmp_path / US)
    shown = alone.call("DescribeTable", {"TableName": "orders"})["Table"]
    assert shown["TableArn"] == f"arn:aws:dynamodb:{US}:000000000000:table/orders"
    assert [each["RegionName"] for each in shown["Replicas"]] == [EU]
    alone.call("PutItem", {"TableName": "orders", "Item": {"p": {"S": "1"}, "s": {"N": "1"}, "v": {"S": "alone"}}})
    alone.close()
    world.regions = Regions(NAMES, tmp_path)
    world.regions.settle()
    assert world.values(EU) == {"1": "alone"}
    world.regions.close()
    (tmp_path / US).rename(tmp_path / "eu-north-1")
    with pytest.raises(StorageError, match="is of the region us-east-1, not eu-north-1"):
        Regions((EU, "eu-north-1"), tmp_path)


def test_the_check_compares_rows_and_versions(world: World) -> None:
    world.replicate_orders(US)
    world.put(EU, "1", "x")
    world.put(EU, "2", "y")
    world.delete(EU, "2")
    database = world.regions.databases[EU]
    table = database.catalog.last_seen("orders")
    assert table is not None
    assert table.replication is not None
    with database.read() as snapshot:
        kept = dict(row_versions.versions(snapshot, table.replication))
        ((time, deleted),) = row_versions.deleted_rows(snapshot, table.replication)
    (there,) = kept.keys() - {deleted}
    swapped = row_versions.Version(time, b"eu-west-1", deleted=True)

    def harm(batch: WriteBatch) -> None:
        assert table.replication is not None
        row_versions.note(batch, table.replication, table.space + there, swapped)
        row_versions.note(batch, table.replication, table.space + deleted, kept[there])

    def mend(batch: WriteBatch) -> None:
        assert table.replication is not None
        for row in (there, deleted):
            row_versions.note(batch, table.replication, table.space + row, kept[row])

    database.store.write(harm)
    assert sorted(check_database(database).problems) == sorted(
        [
            f"table orders: row {there.hex()} is there, and its version says otherwise",
            f"table orders: row {deleted.hex()} is not there, and its version says otherwise",
        ]
    )
    database.store.write(mend)


def test_the_thread_replicates_by_itself(world: World) -> None:
    world.replicate_orders()
    world.regions.start()
    world.put(EU, "1", "x")
    database = world.regions.databases[US]
    arn = world.describe(US)["LatestStreamArn"]
    assert arn
    with database.read() as snapshot:
        stream = database.catalog.require(snapshot, "orders").stream
    assert stream is not None
    space = stream.space.to_bytes(4, "big")
    # A record of the stream is there as soon as the write has arrived.
    assert database.signal.version(space) > 0 or database.signal.wait(space, 0, timeout=30)
    assert world.values(US) == {"1": "x"}


# The region that was cut off did not know the index, which rejects such an item. As in the table of an index that is
# added later, the item is not in it.
def test_an_item_that_an_index_rejects_arrives_without_it(world: World) -> None:
    world.replicate_orders()
    world.regions.cut(US)
    create = {"Create": {key: value for key, value in index().items() if key != "ProvisionedThroughput"}}
    definitions = attributes(p="S", s="N", g="S")
    world.call(
        EU, "UpdateTable", TableName="orders", AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[create]
    )
    world.regions.databases[EU].janitor.sweep()
    world.put(US, "1", "x", g={"N": "5"})
    world.put(US, "2", "y", g={"S": ""})
    world.put(US, "3", "z", g={"S": "red"})
    world.regions.heal()
    world.regions.settle()
    for name in NAMES:
        world.regions.databases[name].janitor.sweep()
        assert sorted(world.values(name)) == ["1", "2", "3"]
        found = world.call(name, "Scan", TableName="orders", IndexName="by_g")["Items"]
        assert [item["p"]["S"] for item in found] == ["3"]
