"""Rows that are older than a field or an index: conditions and changes see what their items show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import sortkey as sk
from tests.model.sessions.old_rows import OLD, Account, Reading, account_row, put_row, row_of

ONE = Account.key(id="1")
SENSOR = Reading.key(sensor="s")
NULL = {"NULL": True}


@pytest.fixture
def old(db: sk.Session) -> sk.Session:
    """A session with one account that has nothing but its key and its owner."""
    db.create_tables(OLD, Reading)
    put_row(db, account_row())
    return db


# The index key was made of two fields, of which the update sets one; the row had neither half.
def test_an_update_never_writes_half_an_index_key(old: sk.Session) -> None:
    old.update(ONE, {"status": "closed"})
    row = row_of(old, ONE)
    assert (row["gsi1pk"], row["gsi1sk"]) == ({"S": "OWNER#ann"}, {"S": "closed#1"})
    assert [each.id for each in old.iterate(Account.by_owner(owner="ann", status="closed"))] == ["1"]


def test_half_an_index_key_is_completed(old: sk.Session) -> None:
    put_row(old, account_row(gsi1sk={"S": "active#1"}))
    old.update(ONE, {"status": "closed"})
    assert old.count(Account.by_owner(owner="ann", status="closed")) == 1
    put_row(old, account_row("2", gsi1pk={"S": "OWNER#bob"}))
    transaction = sk.Transaction()
    transaction.update(Account.key(id="2"), {"owner": "eve"})
    old.transact(transaction)
    assert old.count(Account.by_owner(owner="eve", status="active")) == 1


def test_a_sparse_index_is_entered_with_a_whole_key(old: sk.Session) -> None:
    old.update(ONE, {"limit": 5})
    assert [each.limit for each in old.iterate(Account.by_level(level=0))] == [5]
    old.update(ONE, {"limit": None})
    assert old.count(Account.by_level()) == 0


# A row with a whole key needs no read: the condition that it is whole costs nothing more.
def test_updates_of_whole_rows_need_one_request(old: sk.Session) -> None:
    old.put(Account(id="1", owner="ann"))
    before = old.meter.reading("update Account").calls
    old.update(ONE, {"status": "closed"})
    assert old.meter.reading("update Account").calls == before + 1


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({"status": "active"}, True),
        ({"status": "closed"}, False),
        (sk.F(Account.status) != "active", False),
        (sk.F(Account.status) != "closed", True),
        (sk.F(Account.status).is_in("active", "new"), True),
        (sk.F(Account.status).exists(), True),
        (sk.F(Account.status).not_exists(), False),
        (sk.F(Account.credit) > 99, True),
        (sk.F(Account.credit) < 100, False),
        ((sk.F(Account.credit) <= 100) & {"level": 0}, True),
        ({"limit": None}, True),
        (sk.F(Account.limit).exists(), False),
        (sk.F(Account.limit) != 5, True),
        ({"alias": "none yet"}, True),
        ({"alias": None}, False),
        (sk.F(Account.tags).not_exists(), True),
        (sk.F(Account.tags).size <= 0, True),
        ({"marks": {"new"}}, True),
        (sk.F(Account.marks).size <= 0, False),
        ({"notes": ["hello"]}, True),
    ],
)
def test_conditions_see_defaults(old: sk.Session, where: dict[str, Any], matches: bool) -> None:
    put_row(old, account_row(gsi1pk={"S": "OWNER#ann"}, gsi1sk={"S": "active#1"}))
    found = list(old.iterate(Account.by_owner(owner="ann"), where=where))
    assert [each.id for each in found] == (["1"] if matches else [])
    assert old.count(ONE, where=where) == len(found)
    assert len(old.page(ONE, where=where).items) == len(found)
    check = sk.Transaction()
    check.check(ONE, where=where)
    if matches:
        assert old.update(ONE, {"revision": 1}, where=where).revision == 1
        old.transact(check)
        assert old.delete(ONE, where=where) is not None
        return
    with pytest.raises(sk.ConditionFailed):
        old.update(ONE, {"revision": 1}, where=where)
    with pytest.raises(sk.ConditionFailed):
        old.delete(ONE, where=where)
    with pytest.raises(sk.TransactionFailed):
        old.transact(check)


# Other programs store None as NULL.
@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({"limit": None}, True),
        (sk.F(Account.limit).exists(), False),
        (sk.F(Account.limit) != 1, True),
        (sk.F(Account.limit) < 5, False),
        ({"alias": None}, True),
        ({"alias": "none yet"}, False),
        (sk.F(Account.tags).not_exists() & sk.F(Account.marks).not_exists(), True),
        (sk.F(Account.marks).size <= 0, True),
    ],
)
def test_conditions_see_none_in_null(old: sk.Session, where: dict[str, Any], matches: bool) -> None:
    put_row(old, account_row(limit=NULL, alias=NULL, tags=NULL, marks=NULL))
    assert old.count(ONE, where=where) == matches
    if matches:
        assert old.update(ONE, {"revision": 1}, where=where).revision == 1


# A missing item has no fields, not even defaults.
def test_conditions_on_a_missing_item(old: sk.Session) -> None:
    two = Account.key(id="2")
    for where in ({"status": None}, {"status": "active"}):
        with pytest.raises(sk.ItemMissing, match="does not exist"):
            old.delete(two, where=where)
    check = sk.Transaction()
    check.check(two, where={"status": "active"})
    with pytest.raises(sk.TransactionFailed):
        old.transact(check)


@pytest.mark.parametrize("stored", [{}, {"limit": NULL, "alias": NULL, "tags": NULL}])
def test_operators_start_from_what_the_item_shows(old: sk.Session, stored: dict[str, Any]) -> None:
    put_row(old, account_row(**stored))
    shown = old.get(ONE)
    assert shown is not None
    changed = old.update(
        ONE,
        [
            sk.F(Account.credit).add(-10),
            sk.F(Account.level).add(1),
            sk.F(Account.limit).add(5),
            sk.F(Account.alias).if_not_exists("first"),
            sk.F(Account.tags).add({"a"}),
            sk.F(Account.marks).add({"b"}),
            sk.F(Account.notes).append(["there"]),
        ],
    )
    assert (changed.credit, changed.level, changed.limit) == (90, 1, 5)
    assert changed.alias == (shown.alias or "first")
    assert (changed.tags, changed.marks, changed.notes) == ({"a"}, {"new", "b"}, ["hello", "there"])
    assert old.get(ONE, consistent=True) == changed
    assert old.update(ONE, [sk.F(Account.marks).delete({"new", "b"})]).marks == set()


def test_newer_by_compares_with_the_default(old: sk.Session) -> None:
    assert not old.put(Account(id="1", owner="bob", credit=100), newer_by="credit")
    assert old.put(Account(id="1", owner="bob", credit=101), newer_by="credit")
    put_row(old, account_row("2", limit=NULL))
    assert old.put(Account(id="2", owner="bob", limit=1), newer_by="limit")
    assert old.put(Account(id="3", owner="bob", credit=100), newer_by="credit")


# A version of 0, or none, is what a reader saw; it must not lock the item.
@pytest.mark.parametrize("stored", [{}, {"revision": {"N": "0"}}])
def test_an_item_without_a_version_can_be_put_by_version(old: sk.Session, stored: dict[str, Any]) -> None:
    put_row(old, account_row(**stored))
    mine, theirs = old.get(ONE), old.get(ONE)
    assert mine is not None
    assert theirs is not None
    assert old.put(mine, if_version="revision")
    assert mine.revision == 1
    with pytest.raises(sk.ConditionFailed, match="revision is 0, but the stored item has 1"):
        old.put(theirs, if_version="revision")


def test_an_item_put_by_a_transaction_can_be_put_by_version(old: sk.Session) -> None:
    made = Account(id="9", owner="ann")
    first = sk.Transaction()
    first.put(made, if_absent=True)
    old.transact(first)
    assert old.put(made, if_version="revision")
    second = sk.Transaction()
    second.put(made, if_version="revision")
    old.transact(second)
    assert made.revision == 2
    assert old.get(made.key, consistent=True) == made
    with pytest.raises(sk.TransactionFailed, match="put of Account: ConditionalCheckFailed"):
        old.transact(second)
    assert made.revision == 2


# The key says which account it is; a default must not say otherwise.
def test_a_field_of_the_key_is_read_from_the_key(old: sk.Session) -> None:
    class Stall(sk.Item, table=OLD):
        market: str = "main"
        number: int

        key = sk.Key("STALL#{market}#{number:03}")

    put_row(old, {"pk": {"S": "STALL#east#007"}})
    path = Stall.key(market="east", number=7)
    assert old.get(path) == Stall(market="east", number=7)
    assert old.count(path, where=(sk.F(Stall.number) > 6) & {"market": "east"}) == 1
    assert old.delete(path, where={"market": "east"}) == Stall(market="east", number=7)


# The field's one form is its attribute, so neither a read nor a condition finds it in the key.
def test_a_required_field_that_only_an_index_key_holds_is_not_there(old: sk.Session) -> None:
    row = account_row(gsi1pk={"S": "OWNER#ann"}, gsi1sk={"S": "active#1"})
    del row["owner"]
    put_row(old, row)
    with pytest.raises(sk.DecodeError, match=r"declare it as Annotated\[…, sk.in_key\]"):
        old.get(ONE)
    assert old.count(ONE, where={"owner": "ann"}) == 0
    with pytest.raises(sk.DecodeError, match=r"declare it as Annotated\[…, sk.in_key\]"):
        old.update(ONE, {"credit": 1}, where={"owner": "ann"})
    assert old.update(ONE, {"owner": "ann"}).owner == "ann"
    assert old.count(ONE, where={"owner": "ann"}) == 1
    assert old.update(ONE, {"credit": 1}, where={"owner": "ann"}).credit == 1


class Visit(sk.Item, table=OLD):
    id: str
    at: datetime
    left: datetime | None = None
    status: str = "new"

    key = sk.Key("VISIT#{id}")


TEN = datetime(2026, 1, 4, 10, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({"at": TEN}, True),
        (sk.F(Visit.at) != TEN, False),
        (sk.F(Visit.at) > TEN + HALF_HOUR, False),
        (sk.F(Visit.at).between(TEN - HALF_HOUR, TEN + HALF_HOUR), True),
        (~sk.F(Visit.at).is_in(TEN), False),
        (sk.F(Visit.left) < TEN, False),
        (sk.F(Visit.left).not_exists() & sk.F(Visit.at).exists(), True),
    ],
)
def test_conditions_compare_times(old: sk.Session, where: Any, matches: bool) -> None:
    put_row(old, {"pk": {"S": "VISIT#1"}, "id": {"S": "1"}, "at": {"S": "2026-01-04T10:00:00.000000Z"}})
    path = Visit.key(id="1")
    assert old.count(path, where=where) == matches
    assert len(list(old.iterate(path, where=where))) == matches
    if matches:
        assert old.update(path, {"status": "seen"}, where=where).status == "seen"
        assert old.delete(path, where=where) is not None
        return
    with pytest.raises(sk.ConditionFailed):
        old.update(path, {"status": "seen"}, where=where)
    with pytest.raises(sk.ConditionFailed):
        old.delete(path, where=where)


def test_newer_by_compares_times(old: sk.Session) -> None:
    put_row(old, {"pk": {"S": "VISIT#1"}, "id": {"S": "1"}, "at": {"S": "2026-01-04T10:00:00.000000Z"}})
    assert not old.put(Visit(id="1", at=TEN), newer_by="at")
    assert old.put(Visit(id="1", at=TEN + HALF_HOUR), newer_by="at")
    assert old.put(Visit(id="2", at=TEN), newer_by="at")


def undecodable(old: sk.Session) -> None:
    put_row(old, account_row(credit={"S": "much"}))


# The write has happened when the answer is decoded, and the error says so.
def test_a_write_of_a_row_that_cannot_be_decoded_says_that_it_was_made(old: sk.Session) -> None:
    undecodable(old)
    with pytest.raises(sk.DecodeError, match=r"was updated, but its row cannot be decoded: Account\.credit") as error:
        old.update(ONE, {"revision": 5})
    assert error.value.written
    assert row_of(old, ONE)["revision"] == {"N": "5"}
    with pytest.raises(sk.DecodeError, match="was deleted, but its row cannot be decoded") as error:
        old.delete(ONE)
    assert error.value.written
    assert old.get(ONE) is None


def test_a_row_that_is_read_first_is_decoded_before_it_is_written(old: sk.Session) -> None:
    undecodable(old)
    for changes in ({"limit": 5}, [sk.F(Account.marks).add({"x"})], {"status": "closed"}):
        with pytest.raises(sk.DecodeError) as error:
            old.update(ONE, changes)
        assert not error.value.written
    assert row_of(old, ONE) == account_row(credit={"S": "much"})


def test_a_frozen_item_keeps_its_version(old: sk.Session) -> None:
    class Seal(sk.Item, table=OLD, frozen=True):  # type: ignore[misc]
        seal: str
        revision: int = 0

        key = sk.Key("SEAL#{seal}")

    made = Seal(seal="a")
    assert old.put(made, if_version="revision")
    assert made == Seal(seal="a")
    stored = old.get(made.key, consistent=True)
    assert stored == Seal(seal="a", revision=1)
    assert old.put(stored, if_version="revision")
    with pytest.raises(sk.ConditionFailed):
        old.put(made, if_version="revision")
