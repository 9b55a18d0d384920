"""sk.version: every write of an item raises its revision, and a put fails if another write came in between."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import sortkey as sk

BANK = sk.Table("bank", transactions=True)


class Mark(sk.Item):
    at: int


class Account(sk.Item, table=BANK):
    id: str
    name: str = ""
    balance: int = 0
    tags: set[str] = sk.field(default_factory=set)
    revision: Annotated[int, sk.version] = 0
    marks = sk.Entries(Mark, "mark:")
    key = sk.Key("A#{id}", "A")


class Vault(sk.Item, table=BANK, version=2):
    """The first version had cents."""

    id: str
    euros: int = 0
    owner: str = ""
    revision: Annotated[int, sk.version]
    key = sk.Key("V#{id}", "V")
    by_owner = sk.Index("gsi1", "O#{owner}", "{id}")


@Vault.upgrade(1)
def to_euros(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "euros": int(row.pop("cents", 0)) // 100}


class Fixed(sk.Item, table=BANK, frozen=True):  # type: ignore[misc]
    id: str
    name: str = ""
    revision: Annotated[int, sk.version] = 0
    key = sk.Key("F#{id}", "F")


ONE = Account.key(id="1")


@pytest.fixture
def bank(db: sk.Session) -> sk.Session:
    db.create_tables(BANK)
    return db


def stored(db: sk.Session, path: Any = ONE) -> Any:
    item = db.get(path)
    assert item is not None
    return item


def put_row(db: sk.Session, **attributes: Any) -> None:
    db.client.put_item(TableName="bank", Item={"pk": {"S": "A#1"}, "sk": {"S": "A"}, "id": {"S": "1"}, **attributes})


# A user opens a form, somebody makes a deposit, the form is saved.
def test_a_put_after_an_update_does_not_undo_it(bank: sk.Session) -> None:
    bank.put(Account(id="1"))
    form = stored(bank)
    bank.update(ONE, [sk.F(Account.balance).add(100)])
    with pytest.raises(
        sk.ConditionFailed, match=r"Account\.revision is 1, but the stored item has 2: pk='A#1'"
    ) as error:
        bank.put(sk.replace(form, name="Ada"))
    assert error.value.item == Account(id="1", balance=100, revision=2)
    assert stored(bank) == error.value.item


def test_a_put_shows_the_revision_that_it_wrote(bank: sk.Session) -> None:
    account = Account(id="1")
    assert bank.put(account)
    assert account.revision == 1
    assert bank.put(account)
    assert account == stored(bank)
    assert account.revision == 2
    fixed = Fixed(id="1")
    bank.put(fixed)
    assert fixed.revision == 0
    assert stored(bank, fixed.key).revision == 1


def test_a_new_item_does_not_replace_a_stored_one(bank: sk.Session) -> None:
    bank.put(Account(id="1", balance=5))
    with pytest.raises(sk.ConditionFailed, match="revision is 0, but the stored item has 1"):
        bank.put(Account(id="1"))
    assert not bank.put(Account(id="1"), if_absent=True)
    assert stored(bank).balance == 5


def test_a_deleted_item_does_not_come_back_by_itself(bank: sk.Session) -> None:
    account = Account(id="1", name="Ada")
    bank.put(account)
    bank.delete(ONE)
    with pytest.raises(sk.ConditionFailed, match="revision is 1, but the item does not exist"):
        bank.put(account)
    assert bank.put(account, if_absent=True)
    assert account.revision == 1
    assert stored(bank) == account


def test_conditions_are_tested_beside_the_revision(bank: sk.Session) -> None:
    bank.put(Account(id="1", balance=5))
    form = stored(bank)
    bank.put(form, where={"balance": 5})
    assert form.revision == 2
    with pytest.raises(sk.ConditionFailed, match="does not match"):
        bank.put(form, where={"balance": 6})
    with pytest.raises(sk.ConditionFailed, match="revision is 1"):
        bank.put(sk.replace(form, revision=1), where={"balance": 5})
    with pytest.raises(sk.ConditionFailed, match="revision is 7, but the item does not exist"):
        bank.put(Account(id="2", revision=7), where=sk.F(Account.name).not_exists())
    assert stored(bank) == form
    assert not bank.put(sk.replace(form, balance=4), newer_by="balance")
    assert not bank.put(Account(id="1", balance=4), newer_by="balance")
    with pytest.raises(sk.ConditionFailed, match="revision is 1, but the stored item has 2"):
        bank.put(sk.replace(form, balance=9, revision=1), newer_by="balance")
    assert bank.put(sk.replace(form, balance=9), newer_by="balance")
    assert stored(bank).revision == 3


def test_if_version_may_name_the_revision_and_nothing_else(bank: sk.Session) -> None:
    account = Account(id="1")
    bank.put(account, if_version="revision")
    assert account.revision == 1
    with pytest.raises(sk.EncodeError, match=r"counts its writes in revision \(sk.version\); leave out if_version"):
        bank.put(account, if_version="balance")
    with pytest.raises(sk.EncodeError, match=r"Account\.revision counts writes \(sk\.version\)"):
        bank.put(account, newer_by="revision")


# A key is not a copy: an update changes what is stored, unless it says which revision that must be.
def test_updates_and_deletes_test_a_revision_by_where(bank: sk.Session) -> None:
    bank.put(Account(id="1"))
    assert bank.update(ONE, {"name": "Ada"}).revision == 2
    assert bank.update(ONE, {"name": "Bob"}, where={"revision": 2}).revision == 3
    with pytest.raises(sk.ConditionFailed, match="does not match"):
        bank.update(ONE, {"name": "Cy"}, where={"revision": 2})
    with pytest.raises(sk.ConditionFailed, match="does not match"):
        bank.delete(ONE, where={"revision": 2})
    assert stored(bank) == Account(id="1", name="Bob", revision=3)
    assert bank.delete(ONE, where={"revision": 3}) is not None


@pytest.mark.parametrize("change", [{"revision": 7}, sk.F(Account.revision).add(1)])
def test_no_update_sets_the_revision(bank: sk.Session, change: Any) -> None:
    bank.put(Account(id="1"))
    with pytest.raises(sk.EncodeError, match=r"Account\.revision: every write raises it by itself"):
        bank.update(ONE, change)
    with pytest.raises(sk.EncodeError, match=r"Account\.revision: every write raises it by itself"):
        bank.put_entry(ONE, Account.marks, "m", Mark(at=1), newer_by="at", changes=change)


def test_an_upsert_and_an_entry_create_revision_1_and_raise_it(bank: sk.Session) -> None:
    assert bank.upsert(ONE, {"name": "Ada"}).revision == 1
    assert bank.upsert(ONE, {"name": "Bob"}).revision == 2
    assert stored(bank).revision == 2
    assert bank.put_entry(ONE, Account.marks, "m", Mark(at=1), newer_by="at").item.revision == 3
    assert bank.put_entry(ONE, Account.marks, "m", Mark(at=1), newer_by="at").item.revision == 3
    assert bank.put_entry(Account.key(id="2"), Account.marks, "m", Mark(at=1), newer_by="at").item.revision == 1


def test_a_transaction_raises_and_tests_every_revision(bank: sk.Session) -> None:
    bank.put(Account(id="1", balance=5))
    mine, theirs = stored(bank), stored(bank)
    made = sk.Transaction()
    new = Account(id="2")
    made.put(mine)
    made.put(new, if_absent=True)
    bank.transact(made)
    assert (mine.revision, new.revision) == (2, 1)
    stale = sk.Transaction()
    stale.put(theirs)
    stale.update(new.key, {"name": "Bob"})
    message = r"put of Account: ConditionalCheckFailed \(revision is 1, and the stored item has 2: pk='A#1', sk='A'\)"
    with pytest.raises(sk.TransactionFailed, match=message):
        bank.transact(stale)
    lost = sk.Transaction()
    lost.put(Account(id="3", revision=4))
    with pytest.raises(sk.TransactionFailed, match=r"revision is 4, and the stored item does not exist"):
        bank.transact(lost)
    both = sk.Transaction()
    both.update(ONE, [sk.F(Account.balance).add(1)])
    both.delete(new.key, where={"revision": 1})
    bank.transact(both)
    assert stored(bank) == Account(id="1", balance=6, revision=3)
    assert bank.get(new.key) is None


# A batch has no conditions, so it would undo what it did not see.
def test_a_batch_and_a_load_do_not_put_unchecked(bank: sk.Session) -> None:
    bank.put(Account(id="1", balance=5))
    with pytest.raises(
        sk.Unsupported, match=r"Account\.revision is sk\.version, which a batch cannot test; use db\.put"
    ):
        bank.batch(put=[Account(id="1")])
    with pytest.raises(sk.LoadError, match=r"sk\.version, which a load cannot test; use db\.put"):
        bank.load([Account(id="1")])
    assert stored(bank).balance == 5
    bank.batch(delete=[ONE])
    assert bank.get(ONE) is None


@pytest.mark.parametrize("first", ["put", "update"])
def test_a_row_that_is_older_than_the_field_has_revision_0(bank: sk.Session, first: str) -> None:
    put_row(bank, balance={"N": "5"})
    mine, theirs = stored(bank), stored(bank)
    assert mine.revision == 0
    if first == "put":
        bank.put(mine)
    else:
        bank.update(ONE, {"name": "Ada"}, where={"revision": 0})
    assert stored(bank).revision == 1
    with pytest.raises(sk.ConditionFailed, match="revision is 0, but the stored item has 1"):
        bank.put(theirs)


# The update of a row of an older class version rewrites it, and is one write.
def test_a_row_of_an_older_class_version_counts_on(bank: sk.Session) -> None:
    key = {"pk": {"S": "V#1"}, "sk": {"S": "V"}}
    bank.client.put_item(
        TableName="bank", Item={**key, "id": {"S": "1"}, "cents": {"N": "700"}, "revision": {"N": "3"}}
    )
    path = Vault.key(id="1")
    old = stored(bank, path)
    assert old == Vault(id="1", euros=7, revision=3)
    assert bank.update(path, {"owner": "ada"}) == Vault(id="1", euros=7, owner="ada", revision=4)
    with pytest.raises(sk.ConditionFailed, match="revision is 3, but the stored item has 4"):
        bank.put(old)
    bank.client.put_item(TableName="bank", Item={**key, "id": {"S": "1"}, "cents": {"N": "700"}})
    without = stored(bank, path)
    bank.put(without)
    assert without == stored(bank, path) == Vault(id="1", euros=7, revision=1)


def test_a_repair_of_the_audit_is_a_write_as_any_other(bank: sk.Session) -> None:
    bank.put(Vault(id="1", owner="ada", revision=0))
    old = stored(bank, Vault.key(id="1"))
    key = {"pk": {"S": "V#1"}, "sk": {"S": "V"}}
    bank.client.update_item(TableName="bank", Key=key, UpdateExpression="REMOVE gsi1pk")
    bank.audit(BANK, repair=True)
    assert stored(bank, old.key).revision == 2
    with pytest.raises(sk.ConditionFailed, match="revision is 1, but the stored item has 2"):
        bank.put(old)
    bank.client.put_item(
        TableName="bank", Item={**key, "id": {"S": "1"}, "cents": {"N": "700"}, "revision": {"N": "3"}}
    )
    bank.audit(BANK, repair=True, upgrade=True)
    assert stored(bank, old.key) == Vault(id="1", euros=7, revision=4)


class Beast(sk.Item, table=sk.Table("beasts"), tag=True):
    name: str
    legs: int = 4
    key = sk.Key("B#{name}")


class Bird(Beast):
    wings: int = 2
    revision: Annotated[int, sk.version] = 0


def test_an_update_by_the_base_class_raises_the_revision_of_a_subclass(db: sk.Session) -> None:
    db.create_tables(Beast)
    db.put(Beast(name="b"))
    for option in ({"where": {"legs": 4}}, {"newer_by": "legs"}):
        with pytest.raises(sk.ConditionFailed, match="the stored item is a Beast"):
            db.put(Bird(name="b", legs=9), **option)
    bird = Bird(name="a", legs=2)
    db.put(bird)
    assert db.update(Beast.key(name="a"), {"legs": 3}) == Bird(name="a", legs=3, revision=2)
    with pytest.raises(sk.ConditionFailed, match="revision is 1, but the stored item has 2"):
        db.put(bird)


def test_bounded_sets_raise_the_revision() -> None:
    with sk.connect("memory:", tables=[BANK]) as db:
        db.create_tables()
        db.put(Account(id="1"))
        tags = sk.patterns.bounded(Account, "tags", limit=1)
        tags.add(db, ONE, "a")
        assert tags.add(db, ONE, "b").outcome == "full"
        assert stored(db).revision == 2


@pytest.mark.parametrize(
    ("declared", "default", "message"),
    [
        (Annotated[str, sk.version], "", "must be a plain int"),
        (Annotated[int | None, sk.version], None, "must be a plain int"),
        (Annotated[int, sk.version], 1, "must have the default 0, not 1"),
    ],
)
def test_a_revision_is_an_int_that_begins_at_0(declared: Any, default: Any, message: str) -> None:
    make: Any = type(sk.Item)
    with pytest.raises(sk.DeclarationError, match=message):
        make(
            "Wrong",
            (sk.Item,),
            {"__annotations__": {"id": str, "revision": declared}, "revision": default, "key": sk.Key("W#{id}")},
            table=sk.Table("wrong"),
        )


class Part(sk.Item):
    revision: Annotated[int, sk.version] = 0


def test_a_class_has_one_revision_outside_of_keys() -> None:
    with pytest.raises(sk.DeclarationError, match=r"one and two have sk\.version"):

        class Two(sk.Item, table=sk.Table("two")):
            id: str
            one: Annotated[int, sk.version] = 0
            two: Annotated[int, sk.version] = 0
            key = sk.Key("T#{id}")

    with pytest.raises(sk.DeclarationError, match=r"Sorted\.by_revision: a key cannot have revision"):

        class Sorted(sk.Item, table=sk.Table("sorted")):
            id: str
            revision: Annotated[int, sk.version] = 0
            key = sk.Key("S#{id}")
            by_revision = sk.Index("gsi1", "ALL", "{revision}")

    with pytest.raises(sk.DeclarationError, match=r"Part\.revision: sk\.version is for fields of an item"):

        class Whole(sk.Item, table=sk.Table("whole")):
            id: str
            part: Part
            key = sk.Key("W#{id}")
