"""Rows that a newer program wrote, with a version that this one does not know: whatever depends on them is rejected.

Their attributes may mean something else, so no condition on them can be trusted, and nothing of them may be changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey.model.changes.typed_field import field_of

NEWER = sk.Table("newer-rows", ttl="expires")


class Part(msgspec.Struct):
    at: int


class Bill(sk.Item, table=NEWER):
    """The newer program has renamed `status` to `state`, so its rows seem to have the default."""

    id: str
    status: str = "OPEN"
    amount: int = 0
    revision: int = 0
    expires: int | None = None
    key = sk.Key("BILL#{id}", "BILL")
    by_status = sk.Index("gsi1", "STATUS#{status}", "{id}")
    by_amount = sk.Index("gsi2", "AMOUNTS", "{amount}", projection="KEYS_ONLY")
    by_state = sk.Index("gsi3", "STATES", "{id}", projection=["status"])


class Bag(sk.Item, table=NEWER):
    id: str
    key = sk.Key("BAG#{id}", "BAG")
    parts = sk.Entries(Part, prefix="part:")


class Ticket(sk.Item, table=NEWER, version=2):
    id: str
    status: str = "OPEN"
    amount: int = 0
    revision: int = 0
    key = sk.Key("TICKET#{id}", "TICKET")
    by_status = sk.Index("gsi1", "TICKETS#{status}", "{id}")


@Ticket.upgrade(1)
def as_it_was(old: dict[str, Any]) -> dict[str, Any]:
    return old


BILL = {
    "pk": {"S": "BILL#1"},
    "sk": {"S": "BILL"},
    "id": {"S": "1"},
    "state": {"S": "DONE"},
    "revision": {"N": "0"},
    "gsi1pk": {"S": "STATUS#OPEN"},
    "gsi1sk": {"S": "1"},
    "_v": {"N": "2"},
}
TICKET = {**BILL, "pk": {"S": "TICKET#1"}, "sk": {"S": "TICKET"}, "gsi1pk": {"S": "TICKETS#OPEN"}, "_v": {"N": "3"}}
BAG = {"pk": {"S": "BAG#1"}, "sk": {"S": "BAG"}, "id": {"S": "1"}, "_v": {"N": "2"}}
OPEN = {"status": "OPEN"}

Work = Callable[[sk.Session, Any], Any]


def transact(db: sk.Session, add: Callable[[sk.Transaction], None]) -> None:
    transaction = sk.Transaction()
    add(transaction)
    db.transact(transaction)


WRITES: dict[str, Work] = {
    "update": lambda db, cls: db.update(cls.key(id="1"), {"amount": 5}),
    "update of an index key": lambda db, cls: db.update(cls.key(id="1"), {"status": "PAID"}),
    "update with an operator": lambda db, cls: db.update(cls.key(id="1"), [field_of(cls, "amount").add(5)]),
    "update where": lambda db, cls: db.update(cls.key(id="1"), {"amount": 5}, where=OPEN),
    "upsert": lambda db, cls: db.upsert(cls.key(id="1"), {"amount": 5}),
    "put where": lambda db, cls: db.put(cls(id="1"), where=OPEN),
    "put where it is absent": lambda db, cls: db.put(cls(id="1"), where=field_of(cls, "status") != "PAID"),
    "put if_version": lambda db, cls: db.put(cls(id="1"), if_version="revision"),
    "put newer_by": lambda db, cls: db.put(cls(id="1", amount=5), newer_by="amount"),
    "put newer_by, an older one": lambda db, cls: db.put(cls(id="1", amount=-5), newer_by="amount"),
    "delete where": lambda db, cls: db.delete(cls.key(id="1"), where=OPEN),
    "delete where, another": lambda db, cls: db.delete(cls.key(id="1"), where={"status": "PAID"}),
    "delete_all where": lambda db, cls: db.delete_all(cls.key(id="1"), where=OPEN),
    "delete_all where, another": lambda db, cls: db.delete_all(cls.key(id="1"), where={"status": "PAID"}),
    "delete_all by a scan": lambda db, cls: db.delete_all(cls, where=OPEN, scan=True),
    "delete_all by an index": lambda db, cls: db.delete_all(cls.by_status(status="OPEN")),
    "delete_all by an index, where": lambda db, cls: db.delete_all(cls.by_status(status="OPEN"), where={"amount": 0}),
    "a check": lambda db, cls: transact(db, lambda tx: tx.check(cls.key(id="1"), where=OPEN)),
    "an update in a transaction": lambda db, cls: transact(db, lambda tx: tx.update(cls.key(id="1"), {"amount": 5})),
    "a put in a transaction": lambda db, cls: transact(db, lambda tx: tx.put(cls(id="1"), if_version="revision")),
    "a delete in a transaction": lambda db, cls: transact(db, lambda tx: tx.delete(cls.key(id="1"), where=OPEN)),
}
READS: dict[str, Work] = {
    "get": lambda db, cls: db.get(cls.key(id="1")),
    "get only": lambda db, cls: db.get(cls.key(id="1"), only=["status"]),
    "iterate": lambda db, cls: list(db.iterate(cls.key(id="1"))),
    "iterate only": lambda db, cls: list(db.iterate(cls.key(id="1"), only=["status"])),
    "iterate where": lambda db, cls: list(db.iterate(cls.key(id="1"), where=OPEN)),
    "iterate where, another": lambda db, cls: list(db.iterate(cls.key(id="1"), where={"status": "DONE"})),
    "page where, another": lambda db, cls: db.page(cls.by_status(status="OPEN"), where={"amount": 9}),
    "scan where, another": lambda db, cls: list(db.scan(cls, where={"status": "DONE"})),
    "first where, another": lambda db, cls: db.first(cls.key(id="1"), where={"status": "DONE"}),
    "count": lambda db, cls: db.count(cls.key(id="1")),
    "count where": lambda db, cls: db.count(cls.key(id="1"), where=OPEN),
    "count where, another": lambda db, cls: db.count(cls.key(id="1"), where={"status": "DONE"}),
    "count by an index": lambda db, cls: db.count(cls.by_status(status="OPEN")),
}


@pytest.fixture
def newer(db: sk.Session) -> sk.Session:
    db.create_tables(NEWER)
    for row in (BILL, TICKET, BAG):
        db.client.put_item(TableName="newer-rows", Item=row)
    return db


def row_of(db: sk.Session, stored: dict[str, Any]) -> Any:
    key = {name: stored[name] for name in ("pk", "sk")}
    return db.client.get_item(TableName="newer-rows", Key=key, ConsistentRead=True).get("Item")


def with_mark(db: sk.Session, mark: dict[str, str]) -> None:
    db.client.put_item(TableName="newer-rows", Item={**BILL, "_v": mark})


def error_of(work: Work, db: sk.Session, cls: type[sk.Item]) -> sk.DecodeError | None:
    try:
        work(db, cls)
    except sk.DecodeError as error:
        return error
    return None


def assert_rejected(work: Work, db: sk.Session, cls: type[sk.Item], row: dict[str, Any], name: str) -> None:
    error = error_of(work, db, cls)
    assert f"has version {row['_v']['N']}; this program knows versions up to" in str(error), name
    assert not getattr(error, "written", True), name
    assert row_of(db, row) == row, name


# A class of version 1 tests the version as one of a later version does.
@pytest.mark.parametrize(("cls", "row"), [(Bill, BILL), (Ticket, TICKET)], ids=["version 1", "version 2"])
def test_a_write_that_depends_on_a_newer_row_is_rejected(
    newer: sk.Session, cls: type[sk.Item], row: dict[str, Any]
) -> None:
    for name, write in WRITES.items():
        assert_rejected(write, newer, cls, row, name)


@pytest.mark.parametrize(("cls", "row"), [(Bill, BILL), (Ticket, TICKET)], ids=["version 1", "version 2"])
def test_a_read_that_meets_a_newer_row_says_so(newer: sk.Session, cls: type[sk.Item], row: dict[str, Any]) -> None:
    for name, read in READS.items():
        assert_rejected(read, newer, cls, row, name)


# The index does not project the version, and DynamoDB rejects a filter of what an index does not have.
def test_a_filter_of_a_partial_index_does_not_use_the_version(newer: sk.Session) -> None:
    newer.put(Bill(id="2", status="PAID", amount=9))
    path = Bill.by_state(id="2")
    assert newer.count(path, where={"status": "PAID"}) == 1
    assert newer.count(path, where={"status": "OPEN"}) == 0
    assert newer.delete_all(path, where={"status": "OPEN"}).items == 0
    assert newer.delete_all(path, where={"status": "PAID"}).items == 1


# The condition of the delete tests the version.
def test_what_a_partial_index_finds_of_a_newer_row_is_not_deleted(newer: sk.Session) -> None:
    row = {**BILL, "gsi3pk": {"S": "STATES"}, "gsi3sk": {"S": "1"}, "status": {"S": "OPEN"}}
    newer.client.put_item(TableName="newer-rows", Item=row)
    for where in (None, OPEN):
        with pytest.raises(sk.DecodeError, match="has version 2; this program knows versions up to 1"):
            newer.delete_all(Bill.by_state(id="1"), where=where)
    assert row_of(newer, BILL) == row


# The key alone decides, so what the row holds does not matter.
def test_writes_that_name_only_a_key_are_made(newer: sk.Session) -> None:
    assert not newer.put(Bill(id="1"), if_absent=True)
    assert row_of(newer, BILL) == BILL
    with pytest.raises(sk.DecodeError, match="was deleted") as found:
        newer.delete(Bill.key(id="1"))
    assert found.value.written
    newer.client.put_item(TableName="newer-rows", Item=BILL)
    assert newer.delete_all(Bill.key(id="1")).items == 1
    newer.client.put_item(TableName="newer-rows", Item=BILL)
    newer.put(Bill(id="1", status="PAID"))
    assert newer.get(Bill.key(id="1")) == Bill(id="1", status="PAID")


def test_an_entry_is_not_put_into_a_newer_row(newer: sk.Session) -> None:
    for where in (None, sk.F(Bag.id).exists()):
        with pytest.raises(sk.DecodeError, match="has version 2; this program knows versions up to 1"):
            newer.put_entry(Bag.key(id="1"), Bag.parts, "wheel", Part(1), newer_by="at", where=where)
    assert row_of(newer, BAG) == BAG


# Sortkey never writes such a mark, but the row is one of version 1.
def test_a_row_that_is_marked_with_version_1_is_read_and_written(newer: sk.Session) -> None:
    key = Bill.key(id="1")
    for write in (
        lambda: newer.update(key, {"amount": 5}, where=OPEN),
        lambda: newer.put(Bill(id="1", amount=5), where=OPEN),
        lambda: newer.put(Bill(id="1", amount=5), newer_by="amount"),
        lambda: transact(newer, lambda tx: tx.update(key, {"amount": 5}, where=OPEN)),
    ):
        with_mark(newer, {"N": "1"})
        assert newer.count(key, where=OPEN) == len(list(newer.iterate(key, where=OPEN))) == 1
        assert newer.count(key, where={"status": "PAID"}) == 0
        write()
        assert newer.get(key, only=["amount"]).amount == 5  # type: ignore[union-attr]
    with_mark(newer, {"N": "1"})
    assert newer.delete_all(key, where={"status": "PAID"}).items == 0
    assert newer.delete_all(Bill.by_status(status="OPEN")).items == 1
    with_mark(newer, {"N": "1"})
    assert newer.delete_all(Bill, where=OPEN, scan=True).items == 1


def test_an_entry_is_not_put_into_a_row_that_is_marked_with_version_1(newer: sk.Session) -> None:
    newer.client.put_item(TableName="newer-rows", Item={**BAG, "_v": {"N": "1"}})
    with pytest.raises(sk.Unsupported, match="anew with"):
        newer.put_entry(Bag.key(id="1"), Bag.parts, "wheel", Part(1), newer_by="at")


@pytest.mark.parametrize("mark", [{"S": "2"}, {"N": "0"}, {"N": "1.5"}], ids=["text", "zero", "fraction"])
def test_a_row_with_a_mark_that_is_no_version_is_left_alone(newer: sk.Session, mark: dict[str, str]) -> None:
    with_mark(newer, mark)
    for name, write in WRITES.items():
        if name == "delete_all by an index" and mark == {"N": "0"}:
            continue  # It is not newer.
        error = error_of(write, newer, Bill)
        # The store's filter drops a row that is not newer.
        assert name == "delete_all where, another" if error is None else not error.written, name
        assert row_of(newer, BILL) == {**BILL, "_v": mark}, name


# To repair the TTL lets the store delete the item.
def test_an_audit_changes_nothing_in_a_newer_row(newer: sk.Session) -> None:
    row = {**BILL, "expires": {"S": "2030-01-01T00:00:00Z"}, "gsi1pk": {"S": "STATUS#DONE"}}
    newer.client.put_item(TableName="newer-rows", Item=row)
    newer.audit(Bill, repair=True, upgrade=True)
    assert row_of(newer, BILL) == row
    assert newer.fill_index(Bill.by_status).write_units == 0
    assert row_of(newer, BILL) == row


def test_a_mark_of_version_1_is_no_finding(newer: sk.Session) -> None:
    with_mark(newer, {"N": "1"})
    kinds = {found.kind.value for found in newer.audit(NEWER).findings if found.entity == "Bill"}
    assert kinds == {"index-key-missing"}
