"""Copies between stores of the process, and to an endpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import sortkey
from sortkey.client import fence_watch
from sortkey.client.interface import Client
from sortkey.copies import fences, store_copy
from sortkey.copies.errors import CopyFailed, CopyRefused
from sortkey.copies.fences import TagFences
from sortkey.copies.row_form import Selection
from sortkey.copies.row_writer import Stopped
from sortkey.copies.store_copy import Options, StoreCopy, tables_to_copy
from sortkey.copies.table_shape import TableShape
from tests.stores import needs

Make = Callable[..., StoreCopy]


class Notes:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.parts: list[str] = []

    def note(self, message: str) -> None:
        self.lines.append(message)

    def part(self, name: str, unit: str = "") -> Callable[[int, int], None]:
        return lambda done, total: self.parts.append(f"{name}: {done} of {total} {unit}")


@pytest.fixture
def source() -> Iterator[Client]:
    with sortkey.client("memory:") as client:
        yield client


@pytest.fixture
def target(store: str) -> Iterator[Client]:
    with sortkey.client(store) as client:
        yield client


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def copy(source: Client, target: Client, notes: Notes) -> Make:
    def make(**options: Any) -> StoreCopy:
        return StoreCopy(source, target, Options(**options), notes, threading.Event())

    return make


def orders(client: Client, name: str = "orders", rows: int = 300, **members: Any) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "p", "AttributeType": "S"},
            {"AttributeName": "s", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
        **members,
    )
    for number in range(rows):
        client.put_item(TableName=name, Item=order(number))


def order(number: int, **more: Any) -> dict[str, Any]:
    return {
        "p": {"S": f"customer {number % 7}"},
        "s": {"N": str(number)},
        "total": {"N": f"{number}.50"},
        "tags": {"SS": ["a", "b"]},
        "raw": {"B": bytes([number % 256])},
        **more,
    }


def rows(client: Client, table: str = "orders") -> list[dict[str, Any]]:
    found = client.scan(TableName=table)["Items"]
    for row in found:
        row["tags"]["SS"].sort()
    return sorted(found, key=lambda row: float(row["s"]["N"]))


def test_all_rows_are_copied(source: Client, target: Client, copy: Make) -> None:
    orders(source)
    report = copy().run()
    assert (report.rows, report.differences) == (300, [])
    assert rows(target) == rows(source)
    assert len(rows(target)) == 300


def test_a_cut_over_fences_the_source(source: Client, target: Client, copy: Make) -> None:
    orders(source)
    report = copy().run("http://new:8000")
    assert report.fenced_seconds is not None
    with pytest.raises(source.exceptions.TableMovedException, match="moved to http://new:8000"):
        source.put_item(TableName="orders", Item=order(1))
    target.put_item(TableName="orders", Item=order(1))


def test_out_of_any_store(store: str) -> None:
    with sortkey.client(store) as source, sortkey.client("memory:") as target:
        orders(source, rows=40)
        report = StoreCopy(source, target, Options(("orders",)), Notes(), threading.Event()).run()
        assert (report.rows, report.differences) == (40, [])
        assert rows(target) == rows(source)
        source.put_item(TableName="orders", Item=order(3, total={"N": "77"}))
        compared = StoreCopy(source, target, Options(("orders",)), Notes(), threading.Event()).verify()
        assert list(map(str, compared.differences)) == ["p='customer 3', s='3': differs in total"]


def test_a_table_is_made_as_it_is(source: Client, target: Client, copy: Make) -> None:
    needs(target.capabilities(), "index_projections")
    index = {
        "IndexName": "by-total",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "total", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["tags"]},
    }
    attributes = {"p": "S", "s": "N", "total": "N"}
    source.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": tag} for name, tag in attributes.items()],
        GlobalSecondaryIndexes=[
            {**index, "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}},
        ],
        LocalSecondaryIndexes=[{**index, "IndexName": "local"}],
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    ttl = {"Enabled": True, "AttributeName": "expires"}
    source.update_time_to_live(TableName="orders", TimeToLiveSpecification=ttl)
    copy().run()
    ours, theirs = (client.describe_table(TableName="orders")["Table"] for client in (source, target))
    assert [what(ours), what(theirs)] == [what(ours)] * 2
    described = target.describe_time_to_live(TableName="orders")["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires"


def what(description: dict[str, Any]) -> list[Any]:
    """What was declared of a table."""
    indexes = [
        (each["IndexName"], each["KeySchema"], each["Projection"], units(each))
        for name in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        for each in description[name]
    ]
    attributes = sorted((each["AttributeName"], each["AttributeType"]) for each in description["AttributeDefinitions"])
    return [description["KeySchema"], attributes, indexes, description["StreamSpecification"], units(description)]


def units(description: dict[str, Any]) -> tuple[int, int]:
    throughput = description.get("ProvisionedThroughput", {})
    return throughput.get("ReadCapacityUnits", 0), throughput.get("WriteCapacityUnits", 0)


def test_tags_and_recovery_are_copied(source: Client) -> None:
    orders(source, rows=1)
    arn = source.describe_table(TableName="orders")["Table"]["TableArn"]
    source.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "shop"}])
    wanted = {"PointInTimeRecoveryEnabled": True}
    source.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=wanted)
    with sortkey.client("memory:") as target:
        StoreCopy(source, target, Options(), Notes(), threading.Event()).run()
        assert target.list_tags_of_resource(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "shop"}]
        backups = target.describe_continuous_backups(TableName="orders")["ContinuousBackupsDescription"]
        assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


# Consumers of the target would take the rows for new ones.
def test_a_copy_leaves_no_change_in_the_streams(source: Client, target: Client, copy: Make) -> None:
    orders(source, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    copy().run("http://new:8000")
    assert changes(target) == []
    target.put_item(TableName="orders", Item=order(1, total={"N": "9"}))
    assert len(changes(target)) == 1


def test_a_source_without_a_stream_has_none_afterwards(source: Client, copy: Make) -> None:
    orders(source)
    copy().run()
    assert "StreamSpecification" not in source.describe_table(TableName="orders")["Table"]


def changes(client: Client) -> list[dict[str, Any]]:
    arn = client.describe_table(TableName="orders")["Table"]["LatestStreamArn"]
    found = []
    for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        position = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.get_shard_iterator(**position)["ShardIterator"]
        found += client.get_records(ShardIterator=iterator)["Records"]
    return found


# A writer that runs beside the copy: puts, updates and deletes, of new and of old rows.
@pytest.mark.slow
@pytest.mark.parametrize("view", [None, "KEYS_ONLY", "NEW_AND_OLD_IMAGES"])
def test_changes_made_meanwhile_are_applied(source: Client, view: str | None) -> None:
    stream: dict[str, Any] = {}
    if view is not None:
        stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}
    orders(source, **stream)
    done, begun = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            source.put_item(TableName="orders", Item=order(number % 400, total={"N": str(number)}))
            key = {name: order((number * 7) % 400)[name] for name in ("p", "s")}
            if number % 5 == 0:
                source.delete_item(TableName="orders", Key=key)
            number += 1
            if number > 300:
                begun.set()

    with sortkey.client("memory:") as target:
        writer = threading.Thread(target=write)
        writer.start()
        begun.wait()
        stopper = threading.Timer(0.5, done.set)
        stopper.start()
        report = StoreCopy(source, target, Options(), Notes(), threading.Event()).run()
        done.set()
        writer.join()
        assert report.differences == []
        if view is not None:
            # The stream is still on, so the copy can go on, and so it ends with the last changes.
            StoreCopy(source, target, Options(), Notes(), threading.Event()).run("there")
            assert rows(target) == rows(source)


def test_a_copy_without_a_stream_tells_what_it_missed(source: Client, target: Client, copy: Make) -> None:
    orders(source)
    assert copy(follows=False).run().differences == []
    source.put_item(TableName="orders", Item=order(1, total={"N": "999"}))
    source.put_item(TableName="orders", Item=order(1000))
    target.put_item(TableName="orders", Item=order(2000))
    differences = sorted(map(str, copy(follows=False).verify().differences))
    assert differences == [
        "p='customer 1', s='1': differs in total",
        "p='customer 5', s='2000': only in the target",
        "p='customer 6', s='1000': only in the source",
    ]


@pytest.mark.slow
def test_it_continues_where_it_was_stopped(source: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_copy, "SEGMENT_BYTES", 1000)
    orders(source, rows=600)
    with sortkey.client("memory:") as target:
        stopping = threading.Event()
        first = StoreCopy(source, target, Options(rate=300), Notes(), stopping)
        threading.Timer(0.3, stopping.set).start()
        with pytest.raises(Stopped):
            first.run()
        stopped_at = len(rows(target))
        source.delete_item(TableName="orders", Key={name: order(0)[name] for name in ("p", "s")})
        report = StoreCopy(source, target, Options(), Notes(), threading.Event()).run()
        assert (stopped_at < 600, report.differences) == (True, [])
        assert rows(target) == rows(source)


# Else writers that have moved would find their rows overwritten.
def test_a_table_that_has_moved_is_not_copied_again(source: Client, copy: Make) -> None:
    orders(source)
    copy().run("there")
    with pytest.raises(CopyRefused, match="table orders has moved: its fence stands"):
        copy().run("there")
    # Dropping the table in the target, as for another copy, would lose what was written there since.
    with pytest.raises(CopyRefused, match="table orders has moved: its fence stands"):
        copy().run()


# The command was killed while it told the writers: some know, and the others go on writing.
def test_a_move_of_several_tables_goes_on(
    source: Client, target: Client, copy: Make, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders(source, "orders", rows=10)
    orders(source, "returns", rows=10)
    move = TagFences.move

    def move_one(fences: TagFences, tables: Sequence[TableShape], to: str) -> None:
        move(fences, tables[:1], to)
        kill()

    monkeypatch.setattr(TagFences, "move", move_one)
    monkeypatch.setattr(TagFences, "lift", lambda *_: None)
    with pytest.raises(Killed):
        copy().run("there")
    monkeypatch.undo()
    arn = source.describe_table(TableName="returns")["Table"]["TableArn"]
    source.untag_resource(ResourceArn=arn, TagKeys=["sortkey:fence"])
    source.put_item(TableName="returns", Item=order(5000))
    assert copy().run("there").fenced_seconds is not None
    assert notes.lines == ["moved already, and left alone: orders"]
    assert rows(target, "returns") == rows(source, "returns")
    with pytest.raises(source.exceptions.TableMovedException):
        source.put_item(TableName="returns", Item=order(1))


# What was written before the fence is then not in the target.
def test_an_interrupt_at_the_fence_lifts_it(source: Client, target: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    orders(source, rows=10)
    stopping = threading.Event()
    close = TagFences.close

    def interrupted(fences: TagFences, tables: Sequence[TableShape]) -> None:
        source.put_item(TableName="orders", Item=order(5000))
        close(fences, tables)
        stopping.set()

    monkeypatch.setattr(TagFences, "close", interrupted)
    with pytest.raises(Stopped):
        StoreCopy(source, target, Options(), Notes(), stopping).run("there")
    monkeypatch.undo()
    source.put_item(TableName="orders", Item=order(5001))
    assert StoreCopy(source, target, Options(), Notes(), threading.Event()).run("there").fenced_seconds is not None
    assert rows(target) == rows(source)


def test_nothing_is_made_if_one_table_is_refused(source: Client, target: Client, copy: Make) -> None:
    orders(source, "orders", rows=10)
    orders(source, "returns", rows=10)
    orders(target, "returns", rows=1)
    with pytest.raises(CopyRefused, match="table returns has rows in the target"):
        copy().check()
    with pytest.raises(CopyRefused, match="table returns has rows in the target"):
        copy().run()
    assert target.list_tables()["TableNames"] == ["returns"]


def test_an_empty_table_shows_no_rows(source: Client, copy: Make, notes: Notes) -> None:
    orders(source, rows=0)
    assert copy().run().rows == 0
    assert [part for part in notes.parts if " 0 of 0 " not in part] == []


# The command was killed after it had noted the move, and before it told the writers.
@pytest.mark.slow
def test_a_move_that_nobody_was_told_is_made_again(
    source: Client, target: Client, copy: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders(source)
    monkeypatch.setattr(TagFences, "move", lambda *_: kill())
    monkeypatch.setattr(TagFences, "lift", lambda *_: None)
    with pytest.raises(Killed):
        copy().run("there")
    monkeypatch.undo()
    arn = source.describe_table(TableName="orders")["Table"]["TableArn"]
    source.untag_resource(ResourceArn=arn, TagKeys=["sortkey:fence"])
    source.put_item(TableName="orders", Item=order(5000))
    assert copy().run("there").fenced_seconds is not None
    assert rows(target) == rows(source)


class Killed(BaseException):
    pass


def kill() -> None:
    raise Killed


def test_a_cut_over_that_fails_lifts_the_fence(source: Client, copy: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    orders(source)
    monkeypatch.setattr(store_copy, "FENCE_SECONDS", 0.0)
    with pytest.raises(CopyFailed, match="took too long"):
        copy().run("there")
    source.put_item(TableName="orders", Item=order(1))


# Our endpoint, taken for a store without fences.
@pytest.mark.slow
def test_a_cut_over_from_a_store_without_fences(our_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (fences, fence_watch):
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.2)
    with sortkey.client(f"{our_endpoint}?store=dynamodb-local") as source, sortkey.client("memory:") as target:
        source.honour_fences()
        orders(source, rows=30)
        report = StoreCopy(source, target, Options(("orders",)), Notes(), threading.Event()).run("there")
        assert report.fenced_seconds is not None
        with pytest.raises(source.exceptions.TableMovedException, match="moved to there"):
            source.put_item(TableName="orders", Item=order(1))
        fences.fences_of(source).lift(tables_to_copy(source, ["orders"]))
        with sortkey.client(f"{our_endpoint}?store=dynamodb-local") as other:
            other.honour_fences()
            other.put_item(TableName="orders", Item=order(1))
        assert len(rows(target)) == 30
        for name in ("orders", "sortkey-fences"):
            source.delete_table(TableName=name)


def test_a_part_of_the_rows(source: Client, target: Client, copy: Make) -> None:
    orders(source, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    where = Selection("total >= 100 AND p = 'customer 3'")
    assert copy(selection=where).run().differences == []
    wanted = [row for row in rows(source) if float(row["total"]["N"]) >= 100 and row["p"]["S"] == "customer 3"]
    assert rows(target) == wanted
    # A row that leaves the part leaves the copy, too.
    source.put_item(TableName="orders", Item={**wanted[0], "total": {"N": "1"}})
    assert copy(selection=where).run().differences == []
    assert rows(target) == wanted[1:]


def test_pseudonyms(source: Client, target: Client, copy: Make) -> None:
    orders(source, rows=3)
    for number in (0, 1):
        source.put_item(TableName="orders", Item=order(number, name={"S": "Ada"}, age={"N": "36"}))
    selection = Selection(anonymised=("name", "age", "tags"), run_key=b"k" * 32)
    assert copy(selection=selection).run().differences == []
    copied = rows(target)
    assert copied[0]["name"] == copied[1]["name"]
    assert copied[0]["name"]["S"].startswith("anon-")
    assert copied[0]["age"]["N"] not in ("36", "0")
    assert {"a", "b"}.isdisjoint(copied[2]["tags"]["SS"])
    assert [row["raw"] for row in copied] == [row["raw"] for row in rows(source)]
    other = Selection(anonymised=("name", "age", "tags"), run_key=b"l" * 32)
    with pytest.raises(CopyRefused, match="begun with another"):
        copy(selection=other).run()


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(anonymised=("p",)), "p is in the key of table orders"),
        (Selection("total >"), "is no condition"),
        (Selection("total = 1 ORDER BY s"), "a condition alone"),
        (Selection("total = ?"), "is no condition"),
    ],
)
def test_wrong_selections(source: Client, copy: Make, selection: Selection, message: str) -> None:
    orders(source, rows=1)
    with pytest.raises(CopyRefused, match=message):
        copy(selection=selection).run()


def test_a_target_with_rows_is_left_alone(source: Client, target: Client, copy: Make) -> None:
    orders(source)
    orders(target, rows=1)
    with pytest.raises(CopyRefused, match="table orders has rows in the target"):
        copy().run()
    assert len(rows(target)) == 1


def test_a_table_that_is_there_with_another_key(source: Client, target: Client, copy: Make) -> None:
    orders(source)
    target.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "B"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with pytest.raises(CopyRefused, match=r"has the key id \(B\) in the target, and p \(S\), s \(N\)"):
        copy().run()


def test_a_store_is_not_copied_into_itself(source: Client) -> None:
    orders(source, rows=1)
    with pytest.raises(CopyRefused, match="the same store"):
        StoreCopy(source, source, Options(), Notes(), threading.Event()).run()


def test_only_the_named_tables(source: Client, target: Client, copy: Make) -> None:
    for name in ("orders", "others", "empty"):
        orders(source, name, rows=0 if name == "empty" else 5)
    copy(tables=("orders", "empty")).run()
    assert [name for name in target.list_tables()["TableNames"] if name != "sortkey-copies"] == ["empty", "orders"]
    with pytest.raises(CopyRefused, match="there is no table nothing; those of the source: empty, orders, others"):
        copy(tables=("nothing",)).run()


def test_large_rows_and_binary_keys(source: Client, target: Client, copy: Make) -> None:
    source.create_table(
        TableName="files",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "B"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for number in range(8):
        item = {"id": {"B": bytes([number, 255])}, "content": {"B": bytes([number]) * 390_000}}
        source.put_item(TableName="files", Item=item)
    report = copy().run()
    assert (report.rows, report.differences) == (8, [])
    key = {"id": {"B": bytes([7, 255])}}
    assert target.get_item(TableName="files", Key=key)["Item"]["content"]["B"] == bytes([7]) * 390_000


@pytest.mark.slow
def test_vector_indexes_are_left_out_where_there_are_none(source: Client, notes: Notes, our_endpoint: str) -> None:
    vectors = {
        "IndexName": "alike",
        "VectorAttribute": {"AttributeName": "vector"},
        "Dimensions": 2,
        "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    orders(source, rows=2, VectorIndexes=[vectors])
    with sortkey.client("memory:") as target:
        StoreCopy(source, target, Options(), notes, threading.Event()).run()
        assert target.describe_table(TableName="orders")["Table"]["VectorIndexes"][0]["IndexName"] == "alike"
        assert notes.lines == []
    with sortkey.client(f"{our_endpoint}?store=dynamodb-local&prefix=vectors-") as target:
        StoreCopy(source, target, Options(), notes, threading.Event()).run()
        assert notes.lines == ["table orders: DynamoDB Local is left without the vector indexes alike"]
        for name in ("orders", "sortkey-copies"):
            target.delete_table(TableName=name)


# Each store deletes expired rows when it likes.
def test_expired_rows_do_not_count(source: Client, target: Client, copy: Make) -> None:
    orders(source, rows=5)
    copy().run()
    for client in (source, target):
        ttl = {"Enabled": True, "AttributeName": "expires"}
        client.update_time_to_live(TableName="orders", TimeToLiveSpecification=ttl)
    target.put_item(TableName="orders", Item=order(70, expires={"N": "1000000000"}))
    assert copy().verify().differences == []


@pytest.mark.slow
def test_a_rate_is_kept(source: Client) -> None:
    orders(source, rows=100)
    with sortkey.client("memory:") as target:
        report = StoreCopy(source, target, Options(rate=100), Notes(), threading.Event()).run()
        assert report.differences == []
        # The first batch is free.
        assert report.seconds > 0.7
