"""Partial updates: typed, conditional, and with index keys kept up to date."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from tests.model.sessions.old_rows import put_row
from tests.model.sessions.shop import SHOP, Order, Parcel, numbers, order

ONE = Order.key(customer="ada", number=1)


def test_the_item_after_the_update_comes_back(db: sk.Session) -> None:
    db.put(order(1, tags={"a"}, notes=["x"]))
    changes: list[Any] = [
        sk.F(Order.total).add(Decimal("1.5")),
        sk.F(Order.tags).add({"b"}),
        sk.F(Order.notes).append(["y"]),
        {"updated": 7},
    ]
    updated = db.update(ONE, changes)
    assert updated == order(1, total=Decimal("1.5"), tags={"a", "b"}, notes=["x", "y"], updated=7)
    assert db.update(ONE, [sk.F(Order.tags).delete({"a", "b"})]).tags == set()
    assert db.get(ONE, consistent=True) == order(1, total=Decimal("1.5"), notes=["x", "y"], updated=7)


# The index key is made of a field that changes and of others that do not.
def test_none_for_a_field_that_takes_none_is_rejected_by_name(db: sk.Session) -> None:
    with pytest.raises(sk.EncodeError, match=r"Order\.visits: expected int, got None"):
        db.update(ONE, {"visits": None})


def test_index_keys_follow(db: sk.Session) -> None:
    db.put(order(1, city="Berlin"))
    db.update(ONE, [sk.F(Order.visits).add(3)])
    db.update(ONE, {"status": "DONE"})
    assert numbers(list(db.iterate(Order.by_city(city="Berlin", status="DONE").between(3, 3)))) == [1]
    assert db.count(Order.by_city(city="Berlin", status="OPEN")) == 0
    assert db.count(Order.by_status(status="DONE")) == 1
    db.update(ONE, {"city": None})
    assert db.count(Order.by_city(city="Berlin")) == 0
    db.update(ONE, {"city": "Rome"})
    assert db.count(Order.by_city(city="Rome", status="DONE", visits=3)) == 1


def test_a_missing_item_is_not_created(db: sk.Session) -> None:
    for changes in ({"updated": 1}, {"status": "DONE"}, {"city": "Rome"}):
        with pytest.raises(sk.ItemMissing, match=r"Order.key\(.*\) does not exist"):
            db.update(ONE, changes)
    assert db.get(ONE) is None


def test_conditions_are_of_the_stored_item(db: sk.Session) -> None:
    db.put(order(1, visits=2))
    with pytest.raises(sk.ConditionFailed) as error:
        db.update(ONE, {"status": "DONE"}, where=sk.F(Order.visits) >= 3)
    assert error.value.item == order(1, visits=2)
    assert db.update(ONE, {"status": "DONE"}, where=(sk.F(Order.visits) >= 2) & {"status": "OPEN"}).status == "DONE"


# What an update cannot do is rejected before anything is sent.
@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({}, ValueError, "changes nothing"),
        ({"number": 2}, sk.KeyChange, "primary key"),
        ([sk.F(Order.number).add(1)], sk.KeyChange, "primary key"),
        ({"statu": "x"}, sk.UnknownField, "did you mean 'status'"),
        ({"statu": 1}, sk.UnknownField, "did you mean 'status'"),
        ({"updated": "x"}, sk.EncodeError, "updated"),
    ],
)
def test_impossible_updates(memory: sk.Session, changes: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        memory.update(ONE, changes)
    assert memory.meter.reading("update Order").calls == 0


def requests_of(db: sk.Session, changes: Any) -> int:
    before = db.meter.reading("update Order").calls
    db.update(ONE, changes)
    return db.meter.reading("update Order").calls - before


# A read costs as much as the update, so it happens only if a key needs it.
def test_items_are_read_only_where_needed(memory: sk.Session) -> None:
    memory.put(order(1, city="Berlin"))
    assert requests_of(memory, {"updated": 1}) == 1
    assert requests_of(memory, [sk.F(Order.total).add(1)]) == 1
    assert requests_of(memory, {"city": None}) == 1
    assert requests_of(memory, {"city": "Rome", "status": "DONE", "visits": 5}) == 1
    assert requests_of(memory, {"visits": 6}) == 2


# Another writer changes the item between the read and the update, which is then planned again.
def test_a_guard_that_fails_plans_again(memory: sk.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.put(order(1, city="Berlin"))
    call = memory.client._call_unparsed
    meddled: list[dict[str, Any]] = []

    def meddling(operation: str, members: dict[str, Any], binary: bool) -> dict[str, Any]:
        if operation == "UpdateItem" and not meddled:
            meddled.append(members)
            put_row(memory, schema_of(Order).encode(order(1, city="Rome", visits=9)), "shop")
        return call(operation, members, binary)

    monkeypatch.setattr(memory.client, "_call_unparsed", meddling)
    assert memory.update(ONE, {"status": "DONE"}) == order(1, city="Rome", visits=9, status="DONE")
    assert memory.count(Order.by_city(city="Rome", status="DONE", visits=9)) == 1
    assert memory.meter.reading("update Order").calls == 2  # the read and the second try; an error is no answer


class Old(sk.Item, table=sk.Table("things")):
    thing: str
    size: str

    key = sk.Key("THING#{thing}")


class Thing(sk.Item, table=sk.Table("things"), version=2):
    thing: str
    width: int
    visits: int = 0

    key = sk.Key("THING#{thing}")
    by_width = sk.Index("gsi1", "WIDTH#{width}", "{thing}")


@Thing.upgrade(1)
def widen(attributes: dict[str, Any]) -> dict[str, Any]:
    return {"thing": attributes["thing"], "width": int(attributes["size"])}


# A row of an older version has none of the newer index keys, so an update brings the whole row up to date.
def test_an_old_row_is_upgraded_as_a_whole() -> None:
    with sk.connect("memory:", tables=[Thing]) as db:
        db.create_tables()
        db.put(Old(thing="t", size="5"))
        assert db.update(Thing.key(thing="t"), [sk.F(Thing.visits).add(2)]) == Thing(thing="t", width=5, visits=2)
        assert list(db.iterate(Thing.by_width(width=5))) == [Thing(thing="t", width=5, visits=2)]
        with pytest.raises(sk.ConditionFailed):
            db.update(Thing.key(thing="t"), {"visits": 1}, where={"width": 6})
        db.put(Old(thing="u", size="5"))
        with pytest.raises(sk.ConditionFailed):
            db.update(Thing.key(thing="u"), {"visits": 1}, where={"visits": 6})


def test_transactions_do_all_or_nothing(db: sk.Session) -> None:
    db.put(order(1, city="Berlin", visits=1))
    sale = sk.Transaction()
    sale.put(order(2), if_absent=True)
    sale.update(ONE, [sk.F(Order.visits).add(-1)], where=sk.F(Order.visits) >= 1)
    sale.delete(order(3).key)
    sale.check(order(4).key, where={"status": None})
    db.transact(sale)
    assert db.count(Order.by_city(city="Berlin", status="OPEN", visits=0)) == 1
    with pytest.raises(sk.TransactionFailed, match=r"update of Order.key.*ConditionalCheckFailed") as error:
        db.transact(sale)
    assert error.value.reasons == ("ConditionalCheckFailed", "ConditionalCheckFailed", None, None)
    with pytest.raises(ValueError, match="1 to 100"):
        db.transact(sk.Transaction())


def test_what_is_not_declared_is_kept(db: sk.Session) -> None:
    row = {**schema_of(Order).encode(order(1)), "legacy": {"S": "kept"}}
    client: Any = db.client
    if isinstance(db, sk.Session):
        client.put_item(TableName=SHOP.name, Item=row)
        db.update(ONE, {"status": "DONE"})
        assert client.get_item(TableName=SHOP.name, Key=ONE.key())["Item"]["legacy"] == {"S": "kept"}


# A counter that makes its item: the first call creates it, with its index keys, and later ones change it.
def test_upsert_creates_or_updates(db: sk.Session) -> None:
    assert db.upsert(ONE, [sk.F(Order.visits).add(2), sk.F(Order.tags).add({"a"}), {"city": "Rome"}]) == order(
        1, visits=2, city="Rome", tags={"a"}
    )
    assert db.upsert(ONE, [sk.F(Order.visits).add(3)]) == order(1, visits=5, city="Rome", tags={"a"})
    assert db.get(ONE, consistent=True) == order(1, visits=5, city="Rome", tags={"a"})
    assert db.count(Order.by_city(city="Rome", status="OPEN", visits=5)) == 1


def test_an_upsert_needs_what_has_no_default(memory: sk.Session) -> None:
    path = Parcel.key(parcel="p")
    assert memory.upsert(path, {"status": "NEW"}) == Parcel(parcel="p", status="NEW")
    with pytest.raises(sk.EncodeError, match="a new item would lack width; add them to the changes"):
        memory.upsert(Thing.key(thing="t"), {"visits": 1})


# Two writers create the same item: the second finds it, and updates it.
def test_an_upsert_that_loses_the_race_updates(memory: sk.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    call = memory.client._call
    meddled: list[dict[str, Any]] = []

    def meddling(operation: str, members: dict[str, Any]) -> dict[str, Any]:
        if operation == "PutItem" and not meddled:
            meddled.append(members)
            call("PutItem", {"TableName": "shop", "Item": schema_of(Order).encode(order(1, visits=9))})
        return call(operation, members)

    monkeypatch.setattr(memory.client, "_call", meddling)
    assert memory.upsert(ONE, [sk.F(Order.visits).add(1)]) == order(1, visits=10)
