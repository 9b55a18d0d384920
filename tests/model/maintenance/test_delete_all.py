"""`db.delete_all`: what a path or a scan finds, and nothing that another writer has changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.calls.steps import Pacing
from sortkey.model.maintenance.delete_all import DeleteAll, DeleteOptions
from tests.model.sessions.old_rows import put_row
from tests.model.sessions.shop import SHOP, Customer, Order, Parcel, numbers, order

ADA = Order.key(customer="ada")
NOTES = sk.Table("delete-notes")


class Note(sk.Item, table=NOTES, version=2):
    id: str
    topic: str
    text: str = ""

    key = sk.Key("NOTE#{id}")
    by_topic = sk.Index("gsi1", "TOPIC#{topic}", "{id}", projection="KEYS_ONLY")


@Note.upgrade(1)
def texts_were_bodies(old: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in old.items() if name != "body"}, "text": old.get("body", "")}


def everything(db: sk.Session) -> list[str]:
    return sorted(map(repr, db.scan(SHOP, consistent=True)))


def test_a_path(db: sk.Session) -> None:
    others = [Customer(customer="ada"), Order(customer="bob", number=1)]
    db.batch(put=[*others, *(order(number) for number in range(60))])
    deleted = db.delete_all(ADA.after(9))
    assert (deleted.items, deleted.kept) == (50, 0)
    assert (deleted.read_units > 0) is db.capabilities.consumed_capacity
    assert (deleted.write_units >= 50) is db.capabilities.consumed_capacity
    assert numbers(list(db.iterate(ADA, consistent=True))) == list(range(10))
    assert db.delete_all(ADA).items == 10
    assert everything(db) == sorted(map(repr, others))
    assert db.delete_all(ADA).items == 0


def test_a_collection(db: sk.Session) -> None:
    db.batch(put=[Customer(customer="ada"), *(order(number) for number in range(3)), Customer(customer="bob")])
    assert db.delete_all(sk.collection(Customer.key, customer="ada")).items == 4
    assert everything(db) == [repr(Customer(customer="bob"))]


def test_a_filter(db: sk.Session) -> None:
    db.batch(put=[order(number, visits=number % 2) for number in range(10)])
    assert db.delete_all(ADA, where={"visits": 1}).items == 5
    assert numbers(list(db.iterate(ADA, consistent=True))) == [0, 2, 4, 6, 8]
    some = (sk.F(Order.visits) > 3) | (sk.F(Order.number) >= 6)
    assert db.delete_all(ADA, where=some).items == 2
    assert db.delete_all(Order, where=~~((some) | (sk.F(Order.number) == 4)), scan=True).items == 1


def test_an_index(db: sk.Session) -> None:
    db.batch(
        put=[*(order(number, status="DONE") for number in range(30)), order(99), Parcel(parcel="p", status="DONE")]
    )
    assert db.delete_all(Order.by_status(status="DONE")).items == 30
    assert everything(db) == sorted(map(repr, [order(99), Parcel(parcel="p", status="DONE")]))


# A key alone is enough to delete a row, whatever else it has.
def test_rows_that_cannot_be_decoded_are_deleted(db: sk.Session) -> None:
    db.put(order(1))
    put_row(db, {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#000002"}, "total": {"S": "much"}}, "shop")
    put_row(db, {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#3"}}, "shop")
    assert db.delete_all(ADA).items == 2
    assert [row["sk"] for row in db.scan_rows(SHOP, consistent=True)] == [{"S": "ORDER#3"}]
    assert db.meter.reading("Order.key").rows_unrecognised == 1


def test_a_class_needs_the_word_scan(db: sk.Session) -> None:
    db.batch(put=[Customer(customer="ada"), *(Order(customer=f"c{each}", number=each) for each in range(60))])
    with pytest.raises(ValueError, match=r"scans the whole table, .* say scan=True"):
        db.delete_all(Order)
    assert db.delete_all(Order, where=sk.F(Order.number) < 20, scan=True, segments=3).items == 20
    assert db.delete_all(Order, scan=True).items == 40
    assert everything(db) == [repr(Customer(customer="ada"))]


# The index has keys only, the store cannot judge rows of an older version, and a row may have changed since.
def test_rows_of_an_older_version(db: sk.Session) -> None:
    db.create_tables(NOTES)
    db.batch(put=[Note(id=f"n{each}", topic="a", text="x" if each < 3 else "y") for each in range(5)])
    for each, body in (("o1", "x"), ("o2", "y")):
        row = {"pk": f"NOTE#{each}", "id": each, "topic": "a", "body": body, "gsi1pk": "TOPIC#a", "gsi1sk": each}
        put_row(db, {name: {"S": value} for name, value in row.items()}, "delete-notes")
    assert db.delete_all(Note, where={"text": "x"}, scan=True).items == 4
    assert db.delete_all(Note.by_topic(topic="a")).items == 3
    assert list(db.scan_rows(NOTES, consistent=True)) == []


def interrupted(
    db: sk.Session, found: Any, where: Any, meanwhile: Callable[[], object], **options: Any
) -> tuple[int, int]:
    """Deletes, with something happening between the first read and the first delete; how many were deleted, kept."""
    work = DeleteAll(db._context, found, where, DeleteOptions(**options))
    more = db._run(work.part())
    meanwhile()
    while more:
        more = db._run(work.part())
    return work.result.items, work.result.kept


@pytest.mark.parametrize(
    ("found", "where", "options"),
    [
        (Order.by_status(status="DONE"), None, {}),
        (Order.by_status(status="DONE"), {"visits": 0}, {}),
        (ADA, {"status": "DONE"}, {}),
        (Order, {"status": "DONE"}, {"scan": True}),
    ],
)
def test_items_that_no_longer_match_are_kept(memory: sk.Session, found: Any, where: Any, options: Any) -> None:
    memory.batch(put=[order(number, status="DONE") for number in range(5)])

    def meanwhile() -> None:
        memory.update(order(1).key, {"status": "OPEN"})
        memory.update(order(2).key, {"total": 7})
        memory.delete(order(3).key)

    assert interrupted(memory, found, where, meanwhile, **options) == (3, 1)
    assert everything(memory) == [repr(order(1))]


# The store cannot judge this row by itself: the delete is conditional on the row, and is planned again from a new one.
def test_a_row_that_changes_and_still_matches(memory: sk.Session) -> None:
    memory.create_tables(NOTES)
    old = {"pk": {"S": "NOTE#1"}, "id": {"S": "1"}, "topic": {"S": "a"}, "body": {"S": "x"}}
    put_row(memory, old, "delete-notes")

    def meanwhile() -> None:
        put_row(memory, {**old, "note": {"S": "new"}}, "delete-notes")

    assert interrupted(memory, Note, {"text": "x"}, meanwhile, scan=True) == (1, 0)


# The row of the older version lacks the field, which another writer sets.
def test_an_older_row_that_no_longer_matches_is_kept(memory: sk.Session) -> None:
    memory.create_tables(NOTES)
    put_row(memory, {"pk": {"S": "NOTE#1"}, "id": {"S": "1"}, "topic": {"S": "a"}}, "delete-notes")

    def meanwhile() -> None:
        memory.update(Note.key(id="1"), {"text": "new"})

    assert interrupted(memory, Note, {"text": ""}, meanwhile, scan=True) == (0, 1)
    assert memory.get(Note.key(id="1")) == Note(id="1", topic="a", text="new")


def test_the_rate_limits_units() -> None:
    time = [0.0]
    with sk.connect("memory:", tables=[SHOP], pacing=Pacing(monotonic=lambda: time[0])) as db:
        db.create_tables()
        db.batch(put=[order(number) for number in range(1000)])
        db._runner.sleep = lambda seconds: time.__setitem__(0, time[0] + seconds)
        deleted = db.delete_all(ADA, rate=100)
        # No pause follows the last part.
        assert time[0] >= (deleted.read_units + deleted.write_units) / 100 - 3 * 400 / 100
        assert deleted.items == 1000


# A timeout is for each part: a table may have more rows than can be deleted within it.
@pytest.mark.slow
def test_the_timeout_is_for_each_part() -> None:
    time = [0.0]

    def later() -> float:
        time[0] += 0.1
        return time[0]

    with sk.connect("memory:", tables=[SHOP], pacing=Pacing(monotonic=later), timeout=1.0) as db:
        db.create_tables()
        for start in range(0, 3000, 500):
            db.batch(put=[order(number) for number in range(start, start + 500)])
        db.update(order(1).key, {"status": "DONE"})
        started = time[0]
        assert db.delete_all(ADA, where={"status": "OPEN"}).items == 2999
        assert time[0] - started > 1.0


def test_wrong_arguments(memory: sk.Session) -> None:
    with pytest.raises(TypeError, match="expected an access path"):
        memory.delete_all(order(1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scan and segments are for classes"):
        memory.delete_all(ADA, scan=True)
    with pytest.raises(ValueError, match="rate must be more than 0"):
        memory.delete_all(ADA, rate=0)
    with pytest.raises(sk.UnknownField):
        memory.delete_all(ADA, where={"state": "OPEN"})
