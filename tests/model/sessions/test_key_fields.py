"""Rows whose attributes say something else than their primary key: the key says which row an item is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import pytest

import sortkey as sk
from sortkey.model.audit.finding import Kind

ADA = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Job(sk.Item, table="key-field-jobs"):
    owner: str
    number: int
    note: str = ""
    state: str = "OPEN"

    key = sk.Key("OWNER#{owner}", "JOB#{number:d}")
    by_state = sk.Index("gsi1", "STATE#{state}", "{number}")
    by_note = sk.Index("gsi2", "NOTE#{note}", projection=["owner", "number"])


class Visit(sk.Item, table="key-field-visits"):
    user: UUID
    at: datetime
    page: str = ""

    key = sk.Key("USER#{user}", "{at:%Y-%m-%dT%H:%M:%SZ}")


class Member(sk.Item, table="key-field-members"):
    email: Annotated[str, sk.in_key]
    name: str = ""
    city: str | None = None

    key = sk.Key("MEMBER#{email}")
    by_city = sk.Index("gsi1", "CITY#{city}")


def job_row(number: int, says: int, note: str) -> dict[str, Any]:
    return {
        "pk": {"S": "OWNER#ada"},
        "sk": {"S": f"JOB#{number}"},
        "owner": {"S": "ada"},
        "number": {"N": str(says)},
        "note": {"S": note},
        "state": {"S": "OPEN"},
        "gsi1pk": {"S": "STATE#OPEN"},
        "gsi1sk": {"N": str(says)},
        "gsi2pk": {"S": f"NOTE#{note}"},
    }


THREE = Job(owner="ada", number=3, note="three")
FIVE = Job(owner="ada", number=5, note="five")


# With and without an undeclared attribute: the two ways to decode a row.
@pytest.fixture(params=[{}, {"extra": {"S": "x"}}], ids=["declared", "extra"])
def jobs(db: sk.Session, request: pytest.FixtureRequest) -> sk.Session:
    """A session with job 3, whose attribute says that it is job 5, and job 5."""
    db.create_tables(Job)
    for row in (job_row(3, 5, "three"), job_row(5, 5, "five")):
        db.client.put_item(TableName="key-field-jobs", Item={**row, **request.param})
    return db


def notes(db: sk.Session) -> set[str]:
    return {row["note"]["S"] for row in db.scan_rows(Job.__table__)}


def test_every_read_shows_the_field_of_the_key(jobs: sk.Session) -> None:
    three = Job.key(owner="ada", number=3)
    assert jobs.get(three) == THREE
    assert jobs.get_many([three]) == [THREE]
    assert jobs.lookup(Job.key, [{"owner": "ada", "number": 3}]) == [THREE]
    assert list(jobs.iterate(Job.key(owner="ada"))) == [THREE, FIVE]
    assert sorted(jobs.iterate(Job.by_state(state="OPEN")), key=lambda job: job.number) == [THREE, FIVE]
    assert sorted(jobs.scan(Job), key=lambda job: job.number) == [THREE, FIVE]
    only = jobs.get(three, only=["number", "note"])
    assert only is not None
    assert only.number == 3
    (partial,) = jobs.iterate(Job.by_note(note="three"))
    assert partial.number == 3
    assert jobs.whole([partial]) == [THREE]


def test_a_delete_by_the_key_of_an_item_deletes_its_row(jobs: sk.Session) -> None:
    (three, _) = jobs.iterate(Job.key(owner="ada"))
    assert jobs.delete(three.key) == THREE
    assert notes(jobs) == {"five"}


def test_a_put_and_an_update_write_the_row_that_was_read(jobs: sk.Session) -> None:
    (three, _) = jobs.iterate(Job.key(owner="ada"))
    assert jobs.update(three.key, {"state": "DONE"}) == sk.replace(THREE, state="DONE")
    assert [job.note for job in jobs.iterate(Job.by_state(state="DONE"))] == ["three"]
    jobs.put(sk.replace(three, note="third"))
    assert notes(jobs) == {"third", "five"}


# The store compares attributes, and cannot read keys.
@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"number": 3}, ["three"]),
        ({"number": 5}, ["five"]),
        (sk.F(Job.number) != 5, ["three"]),
        ((sk.F(Job.number) < 5) & sk.F(Job.note).exists(), ["three"]),
        ((sk.F(Job.number) == 3) | (sk.F(Job.note) == "five"), ["five", "three"]),
        ((sk.F(Job.number) < 9) & {"owner": "ada"}, ["five", "three"]),
        ({"owner": "bob"}, []),
    ],
)
def test_conditions_are_of_the_field_of_the_key(jobs: sk.Session, where: Any, found: list[str]) -> None:
    path = Job.key(owner="ada")
    assert sorted(job.note for job in jobs.iterate(path, where=where)) == found
    assert jobs.count(path, where=where) == len(found)
    assert sorted(job.note for job in jobs.scan(Job, where=where)) == found
    assert sorted(job.note for job in jobs.iterate(Job.by_state(state="OPEN"), where=where)) == found
    if "three" in found:
        jobs.update(Job.key(owner="ada", number=3), {"note": "three"}, where=where)
    else:
        with pytest.raises(sk.ConditionFailed):
            jobs.update(Job.key(owner="ada", number=3), {"note": "three"}, where=where)
    assert jobs.delete_all(path, where=where).items == len(found)
    assert notes(jobs) == {"three", "five"} - set(found)


def test_a_condition_with_a_value_that_the_field_cannot_have_is_rejected(jobs: sk.Session) -> None:
    with pytest.raises(sk.EncodeError, match=r"Job.number"):
        jobs.count(Job.key(owner="ada"), where={"number": "three"})


@pytest.mark.parametrize(("number", "is_put"), [(3, True), (5, False)])
def test_a_put_with_a_condition_on_the_key(jobs: sk.Session, number: int, is_put: bool) -> None:
    changed = sk.replace(THREE, note="third")
    if is_put:
        jobs.put(changed, where={"number": number})
    else:
        with pytest.raises(sk.ConditionFailed):
            jobs.put(changed, where={"number": number})
    assert notes(jobs) == {"third" if is_put else "three", "five"}


def test_an_audit_reports_it_and_repairs_nothing(jobs: sk.Session) -> None:
    before = sorted(jobs.scan_rows(Job.__table__), key=lambda row: row["sk"]["S"])
    report = jobs.audit(Job.__table__, repair=True)
    assert [(each.kind, each.subject, each.rows, each.repaired) for each in report.findings] == [
        (Kind.KEY_DISAGREES, "number", 1, 0)
    ]
    assert "number is 5, but 3 in the key" in report.findings[0].examples[0].detail
    assert sorted(jobs.scan_rows(Job.__table__), key=lambda row: row["sk"]["S"]) == before


# The same value in another form is no disagreement: an audit rewrites it.
def test_the_same_value_in_another_form(db: sk.Session) -> None:
    db.create_tables(Visit)
    row = {
        "pk": {"S": f"USER#{ADA}"},
        "sk": {"S": "2026-08-24T12:00:00Z"},
        "user": {"S": ADA.upper()},
        "at": {"S": "2026-08-24T14:00:00+02:00"},
    }
    db.client.put_item(TableName="key-field-visits", Item=row)
    visit = Visit(user=UUID(ADA), at=datetime(2026, 8, 24, 12, tzinfo=UTC))
    with pytest.raises(sk.DecodeError, match=r"Visit\.user: '6BA7B810-.* is not in the form of the field"):
        db.get(visit.key)
    report = db.audit(Visit.__table__, repair=True)
    assert [(each.kind, each.subject, each.repaired) for each in report.findings] == [
        (Kind.OTHER_FORM, "user", 1),
        (Kind.OTHER_FORM, "at", 1),
    ]
    assert db.get(visit.key) == visit
    (after,) = db.scan_rows(Visit.__table__)
    assert (after["user"], after["at"]) == ({"S": ADA}, {"S": "2026-08-24T12:00:00.000000Z"})


def test_a_key_that_cannot_be_read_is_named(db: sk.Session) -> None:
    db.create_tables(Visit)
    key = {"pk": {"S": f"USER#{ADA}"}, "sk": {"S": "2026-02-30T12:00:00Z"}}
    times = {"user": {"S": ADA}, "at": {"S": "2026-03-02T12:00:00.000000Z"}}
    db.client.put_item(TableName="key-field-visits", Item={**key, **times})
    wanted = r"a row of Visit has a key that 'USER#\{user\}', '\{at:%Y-%m-%dT%H:%M:%SZ\}' cannot read: .*2026-02-30"
    with pytest.raises(sk.DecodeError, match=wanted):
        list(db.iterate(Visit.key(user=UUID(ADA))))
    with pytest.raises(sk.DecodeError, match=wanted):
        list(db.scan(Visit))
    (finding,) = db.audit(Visit.__table__).findings
    assert (finding.kind, finding.rows) == (Kind.UNDECODABLE, 1)
    assert "a key that" in finding.examples[0].detail


@pytest.mark.parametrize("says", ["ada@example.org", "Ada@Example.org"])
def test_an_attribute_with_the_name_of_an_in_key_field_is_kept(db: sk.Session, says: str) -> None:
    db.create_tables(Member)
    key = {"pk": {"S": "MEMBER#ada@example.org"}}
    db.client.put_item(TableName="key-field-members", Item={**key, "email": {"S": says}, "name": {"S": "A"}})
    path = Member.key(email="ada@example.org")
    ada = db.get(path)
    assert ada == Member(email="ada@example.org", name="A")
    assert sk.extra(ada) == {"email": {"S": says}}
    db.put(sk.replace(ada, name="B"))
    assert db.update(path, {"city": "Rome"}) == Member(email="ada@example.org", name="B", city="Rome")
    (row,) = db.scan_rows(Member.__table__)
    assert row["email"] == {"S": says}
    assert db.audit(Member.__table__).fine == 1


# Moving an item to another key must not leave the old key in the attribute.
def test_the_attribute_follows_an_in_key_field_that_is_replaced(db: sk.Session) -> None:
    db.create_tables(Member)
    row = {"pk": {"S": "MEMBER#ada"}, "email": {"S": "ada"}, "name": {"S": "A"}}
    db.client.put_item(TableName="key-field-members", Item=row)
    ada = db.get(Member.key(email="ada"))
    assert ada is not None
    db.put(sk.replace(ada, email="bob"))
    (moved,) = (row for row in db.scan_rows(Member.__table__) if row["pk"] == {"S": "MEMBER#bob"})
    assert moved == {"pk": {"S": "MEMBER#bob"}, "email": {"S": "bob"}, "name": {"S": "A"}}


class Parcel(sk.Item, table="key-field-parcels", version=2):
    number: int
    city: str = ""

    key = sk.Key("{number}", names=("number",))


@Parcel.upgrade(1)
def renumber(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "number": row["number"] + 1}


def test_an_upgrade_does_not_change_the_key(db: sk.Session) -> None:
    db.create_tables(Parcel)
    db.client.put_item(TableName="key-field-parcels", Item={"number": {"N": "7"}})
    assert db.get(Parcel.key(number=7)) == Parcel(number=7)
    assert db.update(Parcel.key(number=7), {"city": "Rome"}) == Parcel(number=7, city="Rome")


class Offer(sk.Item):
    updated: int


class Shop(sk.Item, table="key-field-shops"):
    email: str
    name: str = ""

    offers = sk.Entries(Offer, "offer:")
    key = sk.Key("SHOP#{email}")


class Customer(sk.Item, table="key-field-customers", version=2):
    email: str
    number: int
    name: str = ""

    key = sk.Key("CUSTOMER#{email}", "{number:d}")
    by_name = sk.Index("gsi1", "NAME#{name}", "{email}")


@Customer.upgrade(1)
def number_of_text(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "number": int(row["number"])} if "number" in row else row


def only_row(db: sk.Session, table: Any) -> dict[str, Any]:
    (row,) = db.scan_rows(table)
    return row


# Only the program that wrote the attribute knows whether it, or the key, is right.
@pytest.mark.parametrize("says", [None, "ADA"])
def test_an_entry_leaves_the_attribute(db: sk.Session, says: str | None) -> None:
    db.create_tables(Shop)
    stored = {} if says is None else {"email": {"S": says}}
    db.client.put_item(TableName="key-field-shops", Item={"pk": {"S": "SHOP#ada"}, **stored})
    path = Shop.key(email="ada")
    assert db.put_entry(path, Shop.offers, "a", Offer(updated=1), newer_by="updated").item.email == "ada"
    assert only_row(db, Shop.__table__)["email"] == {"S": says or "ada"}


def customer_row(**attributes: Any) -> dict[str, Any]:
    return {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "7"}, "name": {"S": "A"}, **attributes}


# An upgrade may change how the attribute is stored.
def test_an_update_of_an_older_version_leaves_the_attributes(db: sk.Session) -> None:
    db.create_tables(Customer)
    path = Customer.key(email="ada", number=7)
    row = customer_row(email={"S": "ADA"}, number={"S": "5"})
    db.client.put_item(TableName="key-field-customers", Item=row)
    assert db.update(path, {"name": "B"}) == Customer(email="ada", number=7, name="B")
    after = only_row(db, Customer.__table__)
    assert (after["email"], after["number"], after["_v"]) == ({"S": "ADA"}, {"N": "5"}, {"N": "2"})
    assert list(db.iterate(Customer.by_name(name="B"))) == [Customer(email="ada", number=7, name="B")]
    assert db.update(path, {"name": "C"}) == Customer(email="ada", number=7, name="C")


def test_an_update_of_an_older_version_adds_the_attributes_that_the_row_lacks(db: sk.Session) -> None:
    db.create_tables(Customer)
    db.client.put_item(TableName="key-field-customers", Item=customer_row())
    db.update(Customer.key(email="ada", number=7), {"name": "B"})
    after = only_row(db, Customer.__table__)
    assert (after["email"], after["number"]) == ({"S": "ada"}, {"N": "7"})
