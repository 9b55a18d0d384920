"""Fields that only an index key holds: `Annotated[str, sk.in_key]` in the template of an index.

Single-table designs often store a value in `GSI1PK` alone. The key is then all that programs share, so it decides."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import sortkey as sk
from sortkey.model.audit.finding import Kind


class Customer(sk.Item, table="in-index-customers"):
    id: str
    name: str
    city: Annotated[str, sk.in_key]
    plan: Annotated[str | None, sk.in_key] = None
    score: Annotated[int | None, sk.in_key] = None

    key = sk.Key("CUSTOMER#{id:raw}", "PROFILE", names=("PK", "SK"))
    by_city = sk.Index("GSI1", "CITY#{city:raw}", "CUSTOMER#{id:raw}", names=("GSI1PK", "GSI1SK"))
    by_plan = sk.Index("GSI2", "PLAN#{plan}", "{score}", names=("GSI2PK", "GSI2SK"), projection="KEYS_ONLY")


TABLE = Customer.__table__
KEY: dict[str, Any] = {"PK": {"S": "CUSTOMER#1"}, "SK": {"S": "PROFILE"}}
ROW: dict[str, Any] = {
    **KEY,
    "id": {"S": "1"},
    "name": {"S": "Ada"},
    "GSI1PK": {"S": "CITY#Berlin"},
    "GSI1SK": {"S": "CUSTOMER#1"},
}
PATH = Customer.key(id="1")
ADA = Customer(id="1", name="Ada", city="Berlin")


@pytest.fixture
def db(memory: sk.Session) -> sk.Session:
    memory.create_tables(Customer)
    memory.client.put_item(TableName="in-index-customers", Item=ROW)
    return memory


@pytest.fixture
def memory() -> Any:
    with sk.connect("memory:") as session:
        yield session


def stored(db: sk.Session) -> dict[str, Any]:
    (row,) = db.scan_rows(TABLE)
    return dict(row)


def move(db: sk.Session, city: str) -> None:
    """What the other program does, which knows the key only."""
    db.client.update_item(
        TableName="in-index-customers",
        Key=KEY,
        UpdateExpression="SET GSI1PK = :c",
        ExpressionAttributeValues={":c": {"S": f"CITY#{city}"}},
    )


def test_the_field_is_read_from_the_key_and_written_to_it_alone(db: sk.Session) -> None:
    assert db.get(PATH) == ADA
    db.put(sk.replace(ADA, name="Ada L."))
    assert stored(db) == ROW | {"name": {"S": "Ada L."}}
    assert db.audit(TABLE).fine == 1


def test_what_another_program_writes_to_the_key_counts(db: sk.Session) -> None:
    db.put(ADA)
    move(db, "Rome")
    assert [each.city for each in db.iterate(Customer.by_city(city="Rome"))] == ["Rome"]
    assert db.get(PATH) == sk.replace(ADA, city="Rome")
    report = db.audit(TABLE, repair=True)
    assert (report.fine, report.write_units) == (1, 0)
    assert stored(db)["GSI1PK"] == {"S": "CITY#Rome"}


def test_every_read_has_it(db: sk.Session) -> None:
    assert db.page(Customer.key(id="1"), first=2).items == [ADA]
    assert db.lookup(Customer.key, [{"id": "1"}]) == [ADA]
    assert list(db.scan(Customer)) == [ADA]
    assert list(db.iterate(Customer.by_city(city="Berlin"))) == [ADA]
    only = db.get(PATH, only=["city"])
    assert only is not None
    assert only.city == "Berlin"


def test_an_update_changes_the_key_in_one_request(db: sk.Session) -> None:
    before = sum(reading.calls for reading in db.meter.readings())
    assert db.update(PATH, {"city": "Rome"}) == sk.replace(ADA, city="Rome")
    assert sum(reading.calls for reading in db.meter.readings()) == before + 1
    assert stored(db) == ROW | {"GSI1PK": {"S": "CITY#Rome"}}
    with pytest.raises(sk.EncodeError, match=r"Customer.city: expected str, got None"):
        db.update(PATH, {"city": None})


def test_a_transaction_an_upsert_and_a_batch_write_it(db: sk.Session) -> None:
    transaction = sk.Transaction()
    transaction.update(PATH, {"city": "Oslo"}, where={"city": "Berlin"})
    db.transact(transaction)
    assert stored(db) == ROW | {"GSI1PK": {"S": "CITY#Oslo"}}
    assert db.upsert(PATH, {"city": "Bonn", "name": "Eve"}) == Customer(id="1", name="Eve", city="Bonn")
    new = db.upsert(Customer.key(id="2"), {"city": "Bonn", "name": "Eve"})
    assert db.get(new.key) == new
    db.delete(new.key)
    db.batch(put=[ADA])
    assert stored(db) == ROW


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({"city": "Berlin"}, True),
        ({"city": "Rome"}, False),
        (sk.F(Customer.city) != "Rome", True),
        (sk.F(Customer.city) != "Berlin", False),
        (sk.F(Customer.city).is_in("Rome", "Berlin"), True),
        (~sk.F(Customer.city).is_in("Rome", "Berlin"), False),
        (sk.F(Customer.plan).exists(), False),
        ({"plan": None}, True),
        ({"plan": "A"}, False),
        (sk.F(Customer.plan) != "A", True),
    ],
)
def test_conditions_compare_the_key(db: sk.Session, where: Any, matches: bool) -> None:
    assert len(list(db.scan(Customer, where=where))) == matches
    assert db.count(Customer.key(id="1"), where=where) == matches
    if matches:
        assert db.update(PATH, {"name": "Eve"}, where=where).name == "Eve"
    else:
        with pytest.raises(sk.ConditionFailed):
            db.update(PATH, {"name": "Eve"}, where=where)


def test_a_condition_that_the_key_cannot_answer_names_the_way_out(db: sk.Session) -> None:
    with pytest.raises(sk.Unsupported, match=r"only equality can be compared; use an access path, or store the field"):
        db.count(PATH, where=sk.F(Customer.city) > "A")
    with pytest.raises(sk.NoAccessPath, match="use the path for it"):
        db.count(Customer.by_plan(plan="A"), where=sk.F(Customer.score) > 1)
    assert db.count(Customer.by_city(city="Berlin"), where={"city": "Berlin"}) == 1
    assert db.count(Customer.by_city(city="Berlin"), where={"city": "Rome"}) == 0


# A number that is alone in its key attribute is stored as a number.
def test_a_native_key_attribute_has_an_order(db: sk.Session) -> None:
    db.put(sk.replace(ADA, plan="A", score=7))
    assert stored(db)["GSI2SK"] == {"N": "7"}
    assert db.count(PATH, where=sk.F(Customer.score) >= 7) == 1
    assert db.count(PATH, where=sk.F(Customer.score).between(8, 9)) == 0
    assert db.update(PATH, [sk.F(Customer.score).add(2)]).score == 9


def test_an_optional_field_takes_the_item_out_of_the_index(db: sk.Session) -> None:
    assert db.update(PATH, {"plan": "A", "score": 1}) == sk.replace(ADA, plan="A", score=1)
    assert db.update(PATH, {"score": 2}) == sk.replace(ADA, plan="A", score=2)
    (found,) = db.iterate(Customer.by_plan(plan="A"))
    assert (found.id, found.plan, found.score) == ("1", "A", 2)
    with pytest.raises(sk.PartialItem):
        _ = found.city
    assert db.whole([found]) == [sk.replace(ADA, plan="A", score=2)]
    assert db.update(PATH, {"plan": None, "score": None}) == ADA
    assert stored(db) == ROW


# Half a key would hold neither.
def test_fields_of_one_key_are_given_together(db: sk.Session) -> None:
    with pytest.raises(sk.EncodeError, match=r"Customer.plan is in_key, and the item is in no index that holds it"):
        db.put(sk.replace(ADA, plan="A"))
    with pytest.raises(sk.EncodeError, match=r"Customer.plan is in_key, and the item is in no index that holds it"):
        db.update(PATH, {"plan": "A"})
    db.update(PATH, {"plan": "A", "score": 1})
    with pytest.raises(sk.EncodeError, match=r"Customer.score is in_key, and the item is in no index that holds it"):
        db.update(PATH, {"plan": None})
    assert db.update(PATH, {"plan": None, "score": None}) == ADA


def test_a_key_that_the_template_cannot_read_is_an_error(db: sk.Session) -> None:
    db.client.put_item(TableName="in-index-customers", Item=ROW | {"GSI1PK": {"S": "TOWN#Rome"}})
    with pytest.raises(sk.DecodeError, match=r"GSI1PK={'S': 'TOWN#Rome'}, which 'CITY#{city:raw}' cannot read"):
        db.get(PATH)
    db.client.put_item(TableName="in-index-customers", Item={**KEY, "id": {"S": "1"}, "name": {"S": "Ada"}})
    with pytest.raises(sk.DecodeError, match=r"has no city \(city is in GSI1PK\)"):
        db.get(PATH)
    assert db.audit(TABLE, repair=True).count(Kind.UNDECODABLE) == 1


# A row may have been written by a program that stored the attribute, too. Nobody here knows who reads it.
def test_an_attribute_with_the_name_of_the_field_is_left_alone(db: sk.Session) -> None:
    db.client.put_item(TableName="in-index-customers", Item=ROW | {"city": {"S": "Bonn"}})
    item = db.get(PATH)
    assert item == ADA
    assert sk.extra(item) == {"city": {"S": "Bonn"}}
    db.put(sk.replace(item, city="Rome"))
    assert stored(db) == ROW | {"city": {"S": "Bonn"}, "GSI1PK": {"S": "CITY#Rome"}}


class Trip(sk.Item, table="in-index-trips"):
    id: str
    city: Annotated[str, sk.in_key]
    land: Annotated[str, sk.in_key]
    seats: int = 0

    key = sk.Key("TRIP#{id}")
    by_land = sk.Index("gsi1", "{land}#{city}", "{seats}")
    by_city = sk.Index("gsi2", "CITY#{city}", projection=["land"])


def test_one_of_several_fields_of_a_key_is_updated_alone(memory: sk.Session) -> None:
    memory.create_tables(Trip)
    trip = Trip(id="1", city="Rome", land="IT")
    memory.put(trip)
    assert memory.update(trip.key, {"land": "VA"}) == sk.replace(trip, land="VA")
    assert memory.update(trip.key, {"city": "Bonn"}) == Trip(id="1", city="Bonn", land="VA")
    assert memory.update(trip.key, {"seats": 3}) == Trip(id="1", city="Bonn", land="VA", seats=3)
    (row,) = memory.scan_rows(Trip.__table__)
    assert row == {
        "pk": {"S": "TRIP#1"},
        "id": {"S": "1"},
        "seats": {"N": "3"},
        "gsi1pk": {"S": "VA#Bonn"},
        "gsi1sk": {"N": "3"},
        "gsi2pk": {"S": "CITY#Bonn"},
    }
    (found,) = memory.iterate(Trip.by_city(city="Bonn"))
    assert (found.city, found.land) == ("Bonn", "VA")
    with pytest.raises(sk.Unsupported, match="several keys have it"):
        memory.count(trip.key, where={"city": "Bonn"})
    with pytest.raises(sk.Unsupported, match="the key has other fields, too"):
        memory.count(trip.key, where={"land": "VA"})


def test_keys_that_disagree_are_an_error_and_a_finding(memory: sk.Session) -> None:
    memory.create_tables(Trip)
    memory.put(Trip(id="1", city="Rome", land="IT"))
    memory.client.update_item(
        TableName="in-index-trips",
        Key={"pk": {"S": "TRIP#1"}},
        UpdateExpression="SET gsi2pk = :c",
        ExpressionAttributeValues={":c": {"S": "CITY#Bonn"}},
    )
    with pytest.raises(sk.DecodeError, match="the index keys of a row of Trip disagree about city"):
        memory.get(Trip.key(id="1"))
    report = memory.audit(Trip, repair=True)
    assert [(each.kind, each.repairable) for each in report.findings] == [(Kind.INDEX_KEYS_DISAGREE, 0)]


def test_a_row_that_is_older_than_one_of_the_indexes_has_it_in_the_other(memory: sk.Session) -> None:
    memory.create_tables(Trip)
    row = {"pk": {"S": "TRIP#1"}, "id": {"S": "1"}, "gsi1pk": {"S": "IT#Rome"}, "gsi1sk": {"N": "0"}}
    memory.client.put_item(TableName="in-index-trips", Item=row)
    trip = Trip(id="1", city="Rome", land="IT")
    assert memory.get(trip.key) == trip
    report = memory.audit(Trip, repair=True)
    assert [(each.kind, each.repaired) for each in report.findings] == [(Kind.INDEX_KEY_MISSING, 1)]
    assert next(iter(memory.iterate(Trip.by_city(city="Rome")))).id == "1"


def test_a_field_must_be_held_whatever_others_are() -> None:
    with pytest.raises(sk.DeclarationError, match=r"city: cannot be in_key: an item is not in by_city if room is None"):

        class Stay(sk.Item, table="in-index-stays"):
            id: str
            city: Annotated[str, sk.in_key]
            room: str | None = None

            key = sk.Key("{id}")
            by_city = sk.Index("gsi1", "CITY#{city}", "{room}")

    with pytest.raises(sk.DeclarationError, match="city is in_key, so it is not an attribute"):

        class ByFields(sk.Item, table="in-index-fields"):
            id: str
            city: Annotated[str, sk.in_key]

            key = sk.Key("{id}")
            by_city = sk.Index("gsi1", ("city",), ("id",))


class Undeclared(sk.Item, table="in-index-undeclared"):
    id: str
    city: str
    mood: str = "calm"

    key = sk.Key("CUSTOMER#{id:raw}", "PROFILE", names=("PK", "SK"))
    by_city = sk.Index("GSI1", "CITY#{city:raw}", "CUSTOMER#{id:raw}", names=("GSI1PK", "GSI1SK"))
    by_mood = sk.Index("GSI2", "MOOD#{mood}", names=("GSI2PK",))


# Without the declaration nothing is guessed: the row is not read, and nobody changes it.
def test_a_required_field_that_only_a_key_has_is_an_error_that_names_the_fix(memory: sk.Session) -> None:
    memory.create_tables(Undeclared)
    row = {name: value for name, value in ROW.items() if name != "name"} | {"GSI2PK": {"S": "MOOD#calm"}}
    memory.client.put_item(TableName="in-index-undeclared", Item=row)
    path = Undeclared.key(id="1")
    readings: list[Any] = [
        lambda: memory.get(path),
        lambda: memory.page(path, first=1),
        lambda: memory.update(path, {"mood": "sad"}, where={"city": "Berlin"}),
        lambda: memory.get(path, only=["city"]),
    ]
    for read in readings:
        with pytest.raises(sk.DecodeError, match=r"declare it as Annotated\[…, sk.in_key\]"):
            read()
    report = memory.audit(Undeclared, repair=True)
    assert [(each.kind, each.repairable) for each in report.findings] == [(Kind.ONLY_IN_INDEX_KEY, 0)]
    assert "sk.in_key" in report.findings[0].examples[0].detail
    assert list(memory.scan_rows(Undeclared.__table__)) == [row]


# A default that the row lacks, and a key that says something else: which one is right is not known.
def test_a_repair_does_not_undo_a_key_that_alone_has_a_field(memory: sk.Session) -> None:
    memory.create_tables(Undeclared)
    row = ROW | {"city": {"S": "Berlin"}, "GSI2PK": {"S": "MOOD#sad"}}
    memory.client.put_item(TableName="in-index-undeclared", Item=row)
    report = memory.audit(Undeclared, repair=True)
    assert [(each.kind, each.subject, each.repairable) for each in report.findings] == [
        (Kind.ONLY_IN_INDEX_KEY, "GSI2", 0)
    ]
    assert not report.is_clean
    assert list(memory.scan_rows(Undeclared.__table__)) == [row]
