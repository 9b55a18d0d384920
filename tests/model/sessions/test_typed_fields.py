"""`sk.F` on every store: the conditions and changes that it makes are those that names would make."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from inspect import signature
from typing import Any

import msgspec
import pytest

import sortkey as sk

ACCOUNTS = sk.Table("typed-accounts")


class Address(msgspec.Struct):
    city: str = "Berlin"
    visits: int = 0


class Account(sk.Item, table=ACCOUNTS):
    number: str
    balance: Decimal = Decimal(0)
    limit: Decimal | None = None
    owner: str | None = None
    address: Address | None = None
    past: list[Address] = sk.field(default_factory=list)
    counts: dict[str, int] = sk.field(default_factory=dict)
    tags: set[str] = sk.field(default_factory=set)
    notes: list[str] = sk.field(default_factory=list)
    revision: int = 0

    @sk.Key("ACCOUNT#{number}")
    def key(self, *, number: str) -> None: ...


class Member(sk.Item, table=ACCOUNTS):
    member: str
    balance: Decimal = Decimal(0)

    key = sk.Key("MEMBER#{member}")


class Gem(sk.Item):
    value: int


class Safe(sk.Item, table=ACCOUNTS):
    number: str
    name: str | None = None
    gems = sk.Entries(Gem, "gem:")

    key = sk.Key("SAFE#{number}")


ACCOUNT = Account(
    number="1",
    balance=Decimal(5),
    limit=Decimal(10),
    owner="Ada",
    address=Address(city="Rome", visits=2),
    past=[Address(), Address(city="Paris")],
    counts={"a.b": 1},
    tags={"new", "vip"},
    notes=["x"],
)
BALANCE = sk.F(Account.balance)


@pytest.fixture
def accounts(db: sk.Session) -> sk.Session:
    db.create_tables(ACCOUNTS)
    db.put(ACCOUNT)
    return db


TRUE: list[Any] = [
    Decimal(5) == BALANCE,
    Decimal(4) != BALANCE,
    Decimal(6) > BALANCE,
    Decimal(5) >= BALANCE,
    Decimal(4) < BALANCE,
    Decimal(5) <= BALANCE,
    BALANCE.between(Decimal(5), Decimal(6)),
    BALANCE.is_in(Decimal(1), Decimal(5)),
    sk.F(Account.limit) > BALANCE,
    sk.F(Account.limit) != BALANCE,
    sk.F(Account.owner).exists(),
    sk.F(Account.owner) != None,  # noqa: E711
    sk.F(Account.owner).begins_with("A"),
    sk.F(Account.owner).contains("d"),
    sk.F(Account.tags).contains("vip"),
    sk.F(Account.notes).size <= 1,
    sk.F(Account.address).at(Address.city) == "Rome",
    sk.F(Account.past)[1].at(Address.city) == "Paris",
    sk.F(Account.counts)["a.b"] == 1,
    sk.F(Account.counts)["c"].not_exists(),
    (Decimal(9) < BALANCE) | (sk.F(Account.owner) == "Ada"),
    {"owner": "Ada"} & (Decimal(9) > BALANCE),
    {"owner": "Bob"} | (Decimal(9) > BALANCE),
    (Decimal(9) < BALANCE) | (sk.F(Account.owner) == "Ada"),
]


@pytest.mark.parametrize("where", TRUE, ids=repr)
def test_a_condition_is_tested_as_it_reads(accounts: sk.Session, where: Any) -> None:
    assert accounts.count(ACCOUNT.key, where=where) == 1
    assert accounts.count(ACCOUNT.key, where=~where) == 0
    assert accounts.put(ACCOUNT, where=where)
    with pytest.raises(sk.ConditionFailed):
        accounts.delete(ACCOUNT.key, where=~where)


def test_changes_are_made_together(accounts: sk.Session) -> None:
    changed = accounts.update(
        ACCOUNT.key,
        [
            BALANCE.add(-3),
            sk.F(Account.owner).set(None),
            sk.F(Account.limit).if_not_exists(Decimal(99)),
            sk.F(Account.address).at(Address.visits).add(1),
            sk.F(Account.past)[0].at(Address.city).set("Oslo"),
            sk.F(Account.counts)["c"].set(3),
            sk.F(Account.tags).delete({"new"}),
            sk.F(Account.notes).append(["y"]),
            {"revision": 7},
        ],
        where=Decimal(3) <= BALANCE,
    )
    assert changed == sk.replace(
        ACCOUNT,
        balance=Decimal(2),
        owner=None,
        address=Address(city="Rome", visits=3),
        past=[Address(city="Oslo"), Address(city="Paris")],
        counts={"a.b": 1, "c": 3},
        tags={"vip"},
        notes=["x", "y"],
        revision=7,
    )
    assert accounts.update(ACCOUNT.key, sk.F(Account.tags).add({"b"})).tags == {"vip", "b"}


def test_fields_in_transactions_upserts_and_puts(accounts: sk.Session) -> None:
    accounts.put(Account(number="3"))
    transfer = sk.Transaction()
    transfer.update(ACCOUNT.key, [BALANCE.add(-5)], where=Decimal(5) <= BALANCE)
    transfer.check(Account.key(number="3"), where=sk.F(Account.owner).not_exists())
    accounts.transact(transfer)
    assert accounts.upsert(Account.key(number="2"), BALANCE.add(5)).balance == 5
    second = accounts.get(Account.key(number="2"))
    assert second is not None
    assert accounts.put(second, if_version=sk.F(Account.revision))
    assert not accounts.put(sk.replace(second, revision=0), newer_by=sk.F(Account.revision))


# Both classes have a balance; a name alone would not tell.
def test_a_field_of_another_class_is_rejected(accounts: sk.Session) -> None:
    message = r"Member\.balance is not a field of Account"
    other = sk.F(Member.balance)
    with pytest.raises(sk.UnknownField, match=message):
        accounts.count(ACCOUNT.key, where=other > Decimal(1))
    with pytest.raises(sk.UnknownField, match=message):
        accounts.count(ACCOUNT.key, where=sk.F(Account.limit) > other)
    with pytest.raises(sk.UnknownField, match=message):
        accounts.update(ACCOUNT.key, other.set(Decimal(1)))
    with pytest.raises(sk.UnknownField, match=message):
        accounts.put(ACCOUNT, newer_by=other)


WEALTHY = Decimal(5) <= BALANCE
CALLS: dict[str, Callable[[sk.Session], Any]] = {
    "count": lambda db: db.count(ACCOUNT.key, where=WEALTHY),
    "first": lambda db: db.first(ACCOUNT.key, where=WEALTHY),
    "iterate": lambda db: len(list(db.iterate(ACCOUNT.key, where=WEALTHY))),
    "page": lambda db: len(db.page(ACCOUNT.key, where=WEALTHY)),
    "scan": lambda db: len(list(db.scan(Account, where=WEALTHY))),
    "explain_scan": lambda db: db.explain_scan(Account, where=WEALTHY),
    "put": lambda db: db.put(ACCOUNT, where=WEALTHY),
    "put_many": lambda db: not db.put_many([ACCOUNT], where=WEALTHY),
    "update": lambda db: db.update(ACCOUNT.key, BALANCE.add(1), where=WEALTHY),
    "put_entry": lambda db: db.put_entry(
        Safe.key(number="1"), Safe.gems, "a", Gem(value=1), newer_by=sk.F(Gem.value), where=sk.F(Safe.name).not_exists()
    ),
    "delete": lambda db: db.delete(ACCOUNT.key, where=WEALTHY),
    "delete_all": lambda db: db.delete_all(ACCOUNT.key, where=Decimal(9) > BALANCE),
}


# A call that took a condition for a bool would raise.
@pytest.mark.parametrize("call", CALLS)
def test_every_call_that_takes_conditions_takes_those_of_fields(accounts: sk.Session, call: str) -> None:
    assert CALLS[call](accounts)


def test_these_are_all_of_them() -> None:
    public = [name for name in dir(sk.Session) if not name.startswith("_") and callable(getattr(sk.Session, name))]
    assert {name for name in public if "where" in signature(getattr(sk.Session, name)).parameters} == set(CALLS)


def test_an_entry_is_newer_by_a_field_of_its_own(accounts: sk.Session) -> None:
    with pytest.raises(sk.UnknownField, match=r"Account\.revision is not a field of Gem"):
        accounts.put_entry(Safe.key(number="1"), Safe.gems, "a", Gem(value=1), newer_by=sk.F(Account.revision))


def test_a_read_can_be_of_fields_of_its_class_only(accounts: sk.Session) -> None:
    part = accounts.get(ACCOUNT.key, only=[BALANCE])
    assert part is not None
    assert part.balance == 5
    with pytest.raises(sk.UnknownField, match=r"Member\.balance is not a field of Account"):
        accounts.get(ACCOUNT.key, only=[sk.F(Member.balance)])


# The forms that are easily forgotten: what the field is compared with, which field a condition is of, and what is set.
def test_what_is_no_condition_and_no_change_is_rejected(accounts: sk.Session) -> None:
    conditions: list[Any] = [sk.F(Account.owner), sk.F(Account.notes).size, True, "owner"]
    for condition in conditions:
        with pytest.raises(
            TypeError, match=r"where= takes \{'stock': 3\}, sk\.F\(Product\.stock\) == 3, or the like; not "
        ):
            accounts.count(ACCOUNT.key, where=condition)
        with pytest.raises(TypeError, match="where= takes"):
            accounts.put(ACCOUNT, where=(condition) | (Decimal(1) < BALANCE))
    changes: list[Any] = [sk.F(Account.owner), [sk.F(Account.owner)], "owner", 1, None]
    for change in changes:
        with pytest.raises(
            TypeError, match=r"changes are \{'stock': 3\}, sk\.F\(Product\.stock\)\.set\(3\), or a list"
        ):
            accounts.update(ACCOUNT.key, change)


def test_a_field_changes_once(accounts: sk.Session) -> None:
    with pytest.raises(ValueError, match="Account: balance changes twice"):
        accounts.update(ACCOUNT.key, [BALANCE.add(1), BALANCE.add(2)])
    with pytest.raises(ValueError, match="changes nothing"):
        accounts.update(ACCOUNT.key, [])
