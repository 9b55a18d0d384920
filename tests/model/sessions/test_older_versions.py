"""Rows of older versions: conditions and changes see what upgrades make of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import sortkey as sk
from tests.model.sessions.old_rows import Reading, put_row, reading_row, row_of

SENSOR = Reading.key(sensor="s")


@pytest.fixture
def old(db: sk.Session) -> sk.Session:
    db.create_tables(Reading)
    return db


def test_where_sees_rows_of_older_versions_as_upgraded(old: sk.Session) -> None:
    put_row(old, reading_row(text="7"), "old-readings")
    path = Reading.key(sensor="s")
    for where, matches in (({"value": 7}, 1), ({"value": 8}, 0), ({"seen": 0}, 1), (sk.F(Reading.value) > 6, 1)):
        assert old.count(path, where=where) == matches
        assert len(list(old.iterate(path, where=where))) == matches
        assert len(old.page(path, where=where).items) == matches
    with pytest.raises(sk.ConditionFailed) as error:
        old.update(SENSOR, {"seen": 1}, where={"value": 8})
    assert error.value.item == Reading(sensor="s", value=7)
    with pytest.raises(sk.ConditionFailed):
        old.delete(SENSOR, where={"value": 8})
    assert row_of(old, SENSOR) == reading_row(text="7")
    assert old.update(SENSOR, [sk.F(Reading.seen).add(1)], where={"value": 7}) == Reading(sensor="s", value=7, seen=1)
    assert old.count(Reading.by_value(value=7)) == 1


# The upgrade changes many attributes, but it must leave those that the row got since it was read.
def test_an_upgrade_keeps_what_another_program_adds_meanwhile(
    memory: sk.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.create_tables(Reading)
    put_row(memory, reading_row(text="7"), "old-readings")
    call = memory.client._call_unparsed
    written: list[str] = []

    def meddling(operation: str, members: dict[str, Any], binary: bool) -> dict[str, Any]:
        if operation == "UpdateItem":
            written.append(operation)
            if len(written) == 2:  # the first attempt fails, and returns the row of the older version
                put_row(memory, reading_row(text="7", note={"S": "new"}), "old-readings")
        return call(operation, members, binary)

    monkeypatch.setattr(memory.client, "_call_unparsed", meddling)
    memory.update(SENSOR, {"seen": 1})
    row = row_of(memory, SENSOR)
    assert (row["note"], row["value"], row["_v"]) == ({"S": "new"}, {"N": "7"}, {"N": "2"})
    assert "text" not in row


def test_deletes_and_transactions_see_rows_of_older_versions_as_upgraded(old: sk.Session) -> None:
    put_row(old, reading_row(text="7"), "old-readings")
    put_row(old, reading_row("t", text="9", extra={"S": "kept"}), "old-readings")
    both = sk.Transaction()
    both.delete(SENSOR, where={"value": 7})
    both.update(Reading.key(sensor="t"), [sk.F(Reading.seen).add(2)], where=sk.F(Reading.value) < 9)
    with pytest.raises(sk.TransactionFailed) as error:
        old.transact(both)
    assert error.value.reasons == ("ConditionalCheckFailed", "ConditionalCheckFailed")
    both = sk.Transaction()
    both.delete(SENSOR, where={"value": 7})
    both.update(Reading.key(sensor="t"), [sk.F(Reading.seen).add(2)], where={"value": 9})
    old.transact(both)
    assert old.get(SENSOR) is None
    assert old.get(Reading.key(sensor="t")) == Reading(sensor="t", value=9, seen=2)
    assert row_of(old, Reading.key(sensor="t"))["extra"] == {"S": "kept"}


def test_a_put_compares_with_rows_of_older_versions_as_upgraded(old: sk.Session) -> None:
    put_row(old, reading_row(text="7"), "old-readings")
    assert not old.put(Reading(sensor="s", value=7), newer_by="value")
    assert old.put(Reading(sensor="s", value=8), newer_by="value")
    assert old.get(SENSOR, consistent=True) == Reading(sensor="s", value=8)
    put_row(old, reading_row(text="7", seen={"N": "3"}), "old-readings")
    with pytest.raises(sk.ConditionFailed, match="seen is 4, but the stored item has 3"):
        old.put(Reading(sensor="s", value=1, seen=4), if_version="seen")
    assert old.put(Reading(sensor="s", value=1, seen=3), if_version="seen")


class Address(msgspec.Struct):
    city: str


class Move(msgspec.Struct):
    to: Address
    boxes: set[str] = msgspec.field(default_factory=set)


class Resident(sk.Item, table="old-rows-residents", version=2):
    id: str
    home: Address
    moves: list[Move] = sk.field(default_factory=list)
    name: str = ""
    key = sk.Key("RESIDENT#{id}")


@Resident.upgrade(1)
def cities_have_capitals(row: dict[str, Any]) -> dict[str, Any]:
    row["name"] = row.pop("called", "")
    row["home"]["city"] = row["home"]["city"].title()
    return row


def address(city: str) -> dict[str, Any]:
    """As another program stores it, with a place on the map."""
    return {"M": {"city": {"S": city}, "map": {"L": [{"N": "1"}, {"M": {"x": {"N": "2"}}}]}}}


def move(city: str) -> dict[str, Any]:
    return {"M": {"to": address(city), "boxes": {"SS": ["a", "b", "c"]}, "van": {"S": "blue"}}}


@pytest.fixture
def resident(memory: sk.Session) -> sk.Session:
    memory.create_tables(Resident)
    row = {
        "pk": {"S": "RESIDENT#1"},
        "id": {"S": "1"},
        "called": {"S": "ann"},
        "home": address("rome"),
        "moves": {"L": [move("Oslo"), move("Bern")]},
    }
    memory.client.put_item(TableName="old-rows-residents", Item=row)
    return memory


RESIDENT = Resident.key(id="1")


# The item shows only what its class declares; what other programs keep beside it, they still need.
def test_an_upgrade_keeps_undeclared_attributes_inside_of_maps(resident: sk.Session) -> None:
    assert resident.audit(Resident, repair=True, upgrade=True).is_clean
    row = row_of(resident, RESIDENT)
    assert (row["_v"], row["name"]) == ({"N": "2"}, {"S": "ann"})
    assert row["home"] == address("Rome")
    assert row["moves"] == {"L": [move("Oslo"), move("Bern")]}


def oslo_to(city: str) -> dict[str, Any]:
    return {"L": [move(city), move("Bern")]}


ADDED: dict[str, Any] = {"M": {"to": {"M": {"city": {"S": "Ulm"}}}}}


@pytest.mark.parametrize(
    ("changes", "home", "moves"),
    [
        ({"name": "eve"}, address("Rome"), oslo_to("Oslo")),
        ({"home.city": "Paris"}, address("Paris"), oslo_to("Oslo")),
        ({"moves[0].to.city": "Riga"}, address("Rome"), oslo_to("Riga")),
        (
            [sk.F(Resident.moves).append([Move(Address("Ulm"))])],
            address("Rome"),
            {"L": [move("Oslo"), move("Bern"), ADDED]},
        ),
        ({"home": Address("Paris")}, {"M": {"city": {"S": "Paris"}}}, oslo_to("Oslo")),
        ({"moves": [Move(Address("Ulm"))]}, address("Rome"), {"L": [ADDED]}),
    ],
)
def test_an_update_of_an_older_row_keeps_undeclared_attributes_unless_it_replaces_the_field(
    resident: sk.Session, changes: dict[str, Any], home: dict[str, Any], moves: dict[str, Any]
) -> None:
    resident.update(RESIDENT, changes)
    row = row_of(resident, RESIDENT)
    assert (row["_v"], row["home"], row["moves"]) == ({"N": "2"}, home, moves)
