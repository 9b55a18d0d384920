"""Any number of threads share one session: nothing is lost, nothing is mixed up, and the meter counts everything."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

import sortkey as sk

ACCOUNTS = sk.Table("threads-accounts", transactions=True)
THREADS = 8
ROUNDS = 12


class Account(sk.Item, table=ACCOUNTS):
    bank: str
    id: int
    balance: int = 0
    owner: str = "nobody"
    revision: int = 0

    key = sk.Key("BANK#{bank}", "ACCOUNT#{id:03}")
    by_balance = sk.Index("gsi1", "BANK#{bank}", "{balance}")


@pytest.fixture
def db(store: str) -> Iterator[sk.Session]:
    with sk.connect(store, tables=[ACCOUNTS]) as session:
        session.create_tables()
        yield session


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    """What each thread returns; all start at the same moment."""
    start = Barrier(THREADS)

    def run(number: int) -> Any:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def account(number: int) -> sk.AccessPath[Account]:
    return Account.key(bank="b", id=number)


def test_every_thread_reads_what_it_wrote(db: sk.Session) -> None:
    def work(number: int) -> list[bool]:
        mine = account(number)
        seen = []
        for turn in range(ROUNDS):
            db.put(Account(bank="b", id=number, balance=turn, owner=f"thread {number}"))
            found = db.get(mine, consistent=True)
            seen.append(found == Account(bank="b", id=number, balance=turn, owner=f"thread {number}"))
        return seen

    assert in_threads(work) == [[True] * ROUNDS] * THREADS
    assert [each.owner for each in db.iterate(Account.key(bank="b"))] == [
        f"thread {number}" for number in range(THREADS)
    ]
    assert db.meter.reading("put Account").calls == THREADS * ROUNDS


# The key of the index is computed from what was read, so writers that meet have to plan again.
@pytest.mark.slow
def test_updates_of_one_item_are_not_lost(db: sk.Session) -> None:
    db.put(Account(bank="b", id=0))
    in_threads(lambda _: [db.update(account(0), [sk.F(Account.balance).add(1)]) for _ in range(3)])
    found = db.get(account(0), consistent=True)
    assert found is not None
    assert found.balance == 3 * THREADS
    assert [each.balance for each in db.iterate(Account.by_balance(bank="b"))] == [3 * THREADS]


def test_one_of_many_creates_an_item(db: sk.Session) -> None:
    made = in_threads(lambda number: db.put(Account(bank="b", id=0, owner=str(number)), if_absent=True))
    found = db.get(account(0), consistent=True)
    assert found is not None
    assert [str(number) for number, created in enumerate(made) if created] == [found.owner]


def test_lookups_and_pages_of_many_threads(db: sk.Session) -> None:
    expected = [Account(bank="b", id=number) for number in range(150)]
    db.batch(put=expected)
    keys = [{"bank": "b", "id": number} for number in range(150)]

    def work(_: int) -> tuple[bool, bool]:
        return db.lookup(Account.key, keys) == expected, db.page(Account.key(bank="b"), first=150).items == expected

    assert in_threads(work) == [(True, True)] * THREADS


# The first item of a class compiles its coders and its reader.
@pytest.mark.parametrize("attempt", range(5))
def test_a_class_is_used_first_by_many_threads(attempt: int) -> None:
    table = sk.Table(f"threads-fresh-{attempt}")

    def body(names: dict[str, Any]) -> None:
        fields = {"id": int, "text": str, "tags": set[str], "home": Home | None}
        names.update(__annotations__=fields, home=None, key=sk.Key("FRESH#{id}"))

    fresh: Any = types.new_class("Fresh", (sk.Item,), {"table": table}, body)
    with sk.connect("memory:", tables=[table]) as session:
        session.create_tables()

        def work(number: int) -> bool:
            item = fresh(id=number, text="t", tags={"a"}, home=Home(city="Rome"))
            session.put(item)
            found: bool = session.get(fresh.key(id=number)) == item
            return found

        assert in_threads(work) == [True] * THREADS


class Home(sk.Item):
    city: str
