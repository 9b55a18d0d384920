"""Updates of rows that lack a field of an index: no update leaves half an index key.

The row is older than the field, so the item shows the field's default. The index has the item only if the row has all
attributes of the key."""

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
PATHS: list[sk.Path[Parcel]] = [
    Parcel.of_fields(state="OPEN"),
    Parcel.named(state="OPEN"),
    Parcel.beside_a_template(state="OPEN"),
    Parcel.by_zone(zone=1),
]
CHANGES = pytest.mark.parametrize(
    "changes",
    [{"weight": 5}, {"weight": sk.initially(5)}, {"weight": sk.add(5)}, {"weight": 5, "zone": 1}],
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


@pytest.mark.parametrize("change", ["a", sk.initially("a")], ids=["assigned", "initially"])
def test_an_update_of_the_field_that_decides_the_shard_writes_the_whole_key(db: sk.Session, change: Any) -> None:
    db.create_tables(Rank)
    db.client.put_item(TableName="old-rows-ranks", Item={"pk": {"S": "RANK#1"}, "id": {"S": "1"}})
    after = db.update(Rank.key(id="1"), {"group": change})
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
