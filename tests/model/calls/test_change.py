"""`sk.Change` and `sk.feeds.read_record`: the records of a table's stream, as GetRecords and Lambda have them."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any, assert_type

import pytest

import sortkey as sk
from sortkey.model.calls.change import ChangeReader

FILES = sk.Table("change-files", stream="NEW_AND_OLD_IMAGES")


class File(sk.Item, table=FILES):
    id: bytes
    number: int
    ready: bool = False

    key = sk.Key("{id}", "{number}", names=("id", "number"))


DESKS = sk.Table("change-desks", stream="NEW_AND_OLD_IMAGES")


class Desk(sk.Item, table=DESKS):
    room: str
    free: bool = True

    key = sk.Key("ROOM#{room}", "DESK")


class Lamp(sk.Item, table=DESKS):
    room: str

    key = sk.Key("ROOM#{room}", "LAMP")


FILE = File(id=b"\x00\xff", number=7, ready=True)
KEYS = {"id": {"B": b64encode(b"\x00\xff").decode()}, "number": {"N": "7"}}
IMAGE = {**KEYS, "ready": {"BOOL": True}}


def lambda_record(event: str, **images: Any) -> dict[str, Any]:
    """As Lambda passes it: DynamoDB JSON."""
    change = {
        "ApproximateCreationDateTime": 1787572800.0,
        "Keys": KEYS,
        "SequenceNumber": "4421584500000000017450439091",
        "StreamViewType": "NEW_AND_OLD_IMAGES",
        **images,
    }
    return {"eventID": "1", "eventName": event, "eventSource": "aws:dynamodb", "dynamodb": change}


def test_a_record_of_a_lambda_event() -> None:
    inserted = sk.feeds.read_record(lambda_record("INSERT", NewImage=IMAGE), File)
    assert_type(inserted, "sk.Change[File]")
    assert inserted == sk.Change(
        kind="INSERT",
        old=None,
        new=FILE,
        key=FILE.key.key(),
        sequence="0000000000004421584500000000017450439091",
        at=datetime(2026, 8, 24, 12, tzinfo=UTC),
        shard="",
        expired=False,
    )


def test_the_images_of_a_change() -> None:
    older = {**IMAGE, "ready": {"BOOL": False}}
    modified = sk.feeds.read_record(lambda_record("MODIFY", OldImage=older, NewImage=IMAGE), FILES)
    assert (modified.kind, modified.old, modified.new) == ("MODIFY", sk.replace(FILE, ready=False), FILE)
    removed = sk.feeds.read_record(lambda_record("REMOVE", OldImage=IMAGE), File)
    assert (removed.old, removed.new) == (FILE, None)
    only_keys = sk.feeds.read_record(lambda_record("MODIFY"), File)
    assert (only_keys.old, only_keys.new, only_keys.key) == (None, None, FILE.key.key())


# GetRecords and Lambda spell the same identity in two ways.
@pytest.mark.parametrize(
    ("identity", "expired"),
    [
        ({"type": "Service", "principalId": "dynamodb.amazonaws.com"}, True),
        ({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}, True),
        ({"type": "Service", "principalId": "another.amazonaws.com"}, False),
        (None, False),
    ],
)
def test_whether_ttl_deleted_the_item(identity: dict[str, str] | None, expired: bool) -> None:
    record = {**lambda_record("REMOVE", OldImage=IMAGE), "userIdentity": identity}
    assert sk.feeds.read_record(record, File).expired is expired


def test_records_of_a_stream() -> None:
    with sk.connect("memory:", tables=[DESKS]) as db:
        db.create_tables()
        before = datetime.now(UTC).replace(microsecond=0)
        desk = Desk(room="4")
        db.put(desk)
        db.update(desk.key, {"free": False})
        db.delete(desk.key)
        stream = db.client.describe_table(TableName=DESKS.name)["Table"]["LatestStreamArn"]
        shard = db.client.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"][0]["ShardId"]
        position = db.client.get_shard_iterator(StreamArn=stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
        records = db.client.get_records(ShardIterator=position["ShardIterator"])["Records"]
        after = datetime.now(UTC)
    changes = [sk.feeds.read_record(record, DESKS, shard=shard) for record in records]
    taken = sk.replace(desk, free=False)
    assert [change[:3] for change in changes] == [
        ("INSERT", None, desk),
        ("MODIFY", desk, taken),
        ("REMOVE", taken, None),
    ]
    assert {change.shard for change in changes} == {shard}
    assert all(before <= change.at <= after and change.at.tzinfo is UTC for change in changes)
    sequences = [change.sequence for change in changes]
    assert sequences == sorted(set(sequences))
    assert {len(each) for each in sequences} == {40}


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"Records": []},
        "record",
        {"eventName": "INSERT", "dynamodb": {}},
        {"dynamodb": lambda_record("INSERT")["dynamodb"]},
        lambda_record("INSERT", SequenceNumber=None),
    ],
)
def test_things_that_are_no_records(record: Any) -> None:
    with pytest.raises(sk.DecodeError, match="a record of a stream has eventName"):
        sk.feeds.read_record(record, FILES)


def desk_record(sort: str, kind: str = "INSERT") -> dict[str, Any]:
    image = {"pk": {"S": "ROOM#4"}, "sk": {"S": sort}, "room": {"S": "4"}}
    return lambda_record(kind, Keys=image, NewImage=image)


def test_a_class_reads_only_its_own_records() -> None:
    with pytest.raises(sk.DecodeError, match="it is of the class Lamp, not Desk"):
        sk.feeds.read_record(desk_record("LAMP"), Desk)
    assert [concerns(Desk, desk_record(sort)) for sort in ("DESK", "LAMP", "CHAIR")] == [True, False, False]
    assert [concerns(DESKS, desk_record(sort)) for sort in ("DESK", "LAMP", "CHAIR")] == [True, True, False]


def concerns(of: Any, record: dict[str, Any]) -> bool:
    return ChangeReader(of).own_change(record, "s", low_level=False) is not None


LAMP_KEY = {"pk": {"S": "ROOM#4"}, "sk": {"S": "LAMP"}}


# A stream may have keys only.
def test_a_record_without_images_is_told_by_its_key() -> None:
    record = lambda_record("MODIFY", Keys=LAMP_KEY, StreamViewType="KEYS_ONLY")
    assert concerns(Lamp, record)
    assert not concerns(Desk, record)


# DynamoDB Local records both of two deletes that come at once. An aggregate would wait for the second one's image.
def test_a_record_that_could_have_images_and_has_none_changes_nothing() -> None:
    assert not concerns(Lamp, lambda_record("REMOVE", Keys=LAMP_KEY))


class Ticket(sk.Item, table="change-tickets", tag="open"):
    number: int

    key = sk.Key("TICKET#{number:d}", "TICKET")


class ClosedTicket(Ticket, tag="closed"):
    reason: str = ""


# An item that becomes one of another class is gone for a feed of its former class.
def test_an_image_of_another_class_counts_as_no_item() -> None:
    row = {"pk": {"S": "TICKET#1"}, "sk": {"S": "TICKET"}, "number": {"N": "1"}}
    opened, closed = ({**row, "type": {"S": tag}} for tag in ("open", "closed"))
    record = lambda_record("MODIFY", Keys=row, OldImage=closed, NewImage=opened)
    change = ChangeReader(ClosedTicket).own_change(record, "s", low_level=True)
    assert change is not None
    assert (change.old, change.new) == (ClosedTicket(number=1), None)
