"""Updates of rows whose index keys are not those of the item: no update leaves half an index key.

A row that is older than a field of an index lacks it, so the item shows the field's default. The index has the item
only if the row has all attributes of the key. A row that another program has changed may be in an index that its item
is not in; an update that removes one attribute of such a key removes all.
"""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk


class Parcel(sk.Item, table="old-rows-parcels"):
    id: str
    state: str = "OPEN"
    weight: int | None = None
    zone: int = 1

    key = sk.Key("PARCEL#{id}")
    of_fields = sk.Index("gsi1", ("state",), ("weight",))
    named = sk.Index("gsi2", "{state}", "{weight}", names=("state", "weight"))
    beside_a_template = sk.Index("gsi3", "{state}", "W#{weight}#{zone}", names=("state", "gsi3sk"))
    by_zone = sk.Index("gsi4", "ZONE#{zone}", "{weight}", names=("gsi4pk", "weight"))


class Rank(sk.Item, table="old-rows-ranks"):
    id: str
    group: str | None = None
    count: int = 0

    key = sk.Key("RANK#{id}")
    top = sk.Index("gsi1", "TOP", "{count}", names=("gsi1pk", "count"), shards=sk.Shards(4, by="group"))


PARCEL = Parcel.key(id="1")
PATHS: list[sk.AccessPath[Parcel]] = [
    Parcel.of_fields(state="OPEN"),
    Parcel.named(state="OPEN"),
    Parcel.beside_a_template(state="OPEN"),
    Parcel.by_zone(zone=1),
]
CHANGES = pytest.mark.parametrize(
    "changes",
    [{"weight": 5}, [sk.F(Parcel.weight).if_not_exists(5)], [sk.F(Parcel.weight).add(5)], {"weight": 5, "zone": 1}],
    ids=["assigned", "initially", "add", "two fields"],
)


@pytest.fixture
def parcels(db: sk.Session) -> sk.Session:
    db.create_tables(Parcel)
    db.client.put_item(TableName="old-rows-parcels", Item={"pk": {"S": "PARCEL#1"}, "id": {"S": "1"}})
    return db


def assert_in_all_indexes(db: sk.Session, item: Parcel) -> None:
    assert [list(db.iterate(path)) for path in PATHS] == [[item]] * len(PATHS)
    assert db.audit(Parcel.__table__).fine == 1


@CHANGES
def test_an_update_that_brings_an_item_into_an_index_writes_the_whole_key(
    parcels: sk.Session, changes: dict[str, Any]
) -> None:
    after = parcels.update(PARCEL, changes)
    assert after == Parcel(id="1", weight=5)
    assert_in_all_indexes(parcels, after)


@CHANGES
def test_a_transaction_that_brings_an_item_into_an_index_writes_the_whole_key(
    parcels: sk.Session, changes: dict[str, Any]
) -> None:
    transaction = sk.Transaction()
    transaction.update(PARCEL, changes)
    parcels.transact(transaction)
    assert_in_all_indexes(parcels, Parcel(id="1", weight=5))


@pytest.mark.parametrize(
    "change", [sk.F(Rank.group).set("a"), sk.F(Rank.group).if_not_exists("a")], ids=["set", "if_not_exists"]
)
def test_an_update_of_the_field_that_decides_the_shard_writes_the_whole_key(db: sk.Session, change: Any) -> None:
    db.create_tables(Rank)
    db.client.put_item(TableName="old-rows-ranks", Item={"pk": {"S": "RANK#1"}, "id": {"S": "1"}})
    after = db.update(Rank.key(id="1"), change)
    assert list(db.iterate(Rank.top())) == [after]
    assert db.audit(Rank.__table__).fine == 1


# The key of a row that has all fields is complete already.
def test_a_whole_row_is_updated_as_before(db: sk.Session) -> None:
    db.create_tables(Parcel)
    db.put(Parcel(id="1", state="DONE"))
    after = db.update(PARCEL, {"weight": 7})
    assert list(db.iterate(Parcel.of_fields(state="DONE"))) == [after]
    assert db.update(PARCEL, {"weight": None}) == Parcel(id="1", state="DONE")
    assert list(db.iterate(Parcel.of_fields(state="DONE"))) == []
    assert db.audit(Parcel.__table__).fine == 1


class Bed(sk.Item, table="old-rows-beds"):
    id: str
    city: str
    room: str | None = None
    guest: str | None = None

    key = sk.Key("BED#{id}")
    by_city = sk.Index("gsi1", "CITY#{city}", "{room}#{id}")
    by_room = sk.Index("gsi2", "BED#{id}", "ROOM#{room}", names=("bed", "bed_room"))
    by_guest = sk.Index("gsi3", "BED#{id}", "GUEST#{guest}", names=("bed", "bed_guest"))


BED = Bed.key(id="1")
IN_ROME: dict[str, Any] = {"gsi1pk": {"S": "CITY#Rome"}, "gsi1sk": {"S": "7#1"}}
BOTH: dict[str, Any] = {"bed": {"S": "BED#1"}, "bed_guest": {"S": "GUEST#ada"}, "bed_room": {"S": "ROOM#7"}}


@pytest.fixture
def beds(db: sk.Session) -> sk.Session:
    db.create_tables(Bed)
    return db


def store_bed(db: sk.Session, **attributes: Any) -> None:
    row = {"pk": {"S": "BED#1"}, "id": {"S": "1"}, **attributes}
    db.client.put_item(TableName="old-rows-beds", Item=row)


def stored_bed(db: sk.Session) -> dict[str, Any]:
    (row,) = db.scan_rows(Bed.__table__)
    return dict(row)


# Only the partition key of the index contains the city. The room is absent, so the item is not in the index.
@pytest.mark.parametrize("in_transaction", [False, True], ids=["update", "transaction"])
def test_an_update_that_removes_one_attribute_of_a_key_removes_all(beds: sk.Session, in_transaction: bool) -> None:
    store_bed(beds, **IN_ROME, city={"S": "Rome"})
    if in_transaction:
        transaction = sk.Transaction()
        transaction.update(BED, {"city": "Oslo"})
        beds.transact(transaction)
    else:
        assert beds.update(BED, {"city": "Oslo"}) == Bed(id="1", city="Oslo")
    assert stored_bed(beds).keys().isdisjoint(IN_ROME)
    assert beds.get(BED) == Bed(id="1", city="Oslo")
    assert beds.audit(Bed.__table__).fine == 1


# The two indexes share an attribute. The row has no room, but the key of the index by room.
def test_an_attribute_that_indexes_share_takes_the_rest_of_their_keys_with_it(beds: sk.Session) -> None:
    store_bed(beds, city={"S": "Rome"}, guest={"S": "ada"}, **BOTH)
    assert beds.update(BED, {"guest": None}) == Bed(id="1", city="Rome")
    assert stored_bed(beds).keys().isdisjoint(BOTH)
    assert beds.audit(Bed.__table__).fine == 1


# The item leaves the index by room, and stays in the one by guest, which needs the attribute that they share.
def test_an_attribute_that_another_index_needs_is_kept(beds: sk.Session) -> None:
    store_bed(beds, city={"S": "Rome"}, guest={"S": "ada"}, room={"S": "7"}, **IN_ROME, **BOTH)
    after = beds.update(BED, {"room": None})
    assert after == Bed(id="1", city="Rome", guest="ada")
    assert list(beds.iterate(Bed.by_guest(id="1"))) == [after]
    assert beds.audit(Bed.__table__).fine == 1
