"""Reads in the process take the fast path, whatever the prefix of the tables, and answer as the general path does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

import sortkey as sk
from tests.model.sessions.shop import SHOP, Order, order

STORES = ["memory:", "memory:?prefix=x-", "{folder}", "{folder}?prefix=x-"]
KEYS = [{"customer": "ada", "number": number} for number in (3, 99, 1, 3)]
READS: dict[str, Callable[[sk.Session], object]] = {
    "get": lambda db: db.get(order(1).key),
    "get consistent": lambda db: db.get(order(1).key, consistent=True),
    "get nothing": lambda db: db.get(order(99).key),
    "lookup": lambda db: db.lookup(Order.key, KEYS),
    "lookup_as": lambda db: db.lookup_as(Order.key, KEYS, lambda rows: [row is not None for row in orjson.loads(rows)]),
    "page": lambda db: db.page(Order.key(customer="ada"), first=2).items,
}


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.param).format(folder=tmp_path / "data")


def reject_requests(monkeypatch: pytest.MonkeyPatch, db: sk.Session | sk.AsyncSession) -> None:
    """From here on, only the fast path can answer."""

    def reject(*_: object) -> None:
        raise AssertionError("this is a request")

    monkeypatch.setattr(db.client, "_call", reject)
    monkeypatch.setattr(db.client, "_call_unparsed", reject)


# A prefix once made sessions take the general path, and nothing but a stopwatch could tell.
def test_reads_in_the_process_make_no_requests(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with sk.connect(url, tables=[SHOP]) as db:
        db.create_tables()
        db.batch(put=[order(number) for number in range(5)])
        reject_requests(monkeypatch, db)
        assert db.get(order(1).key) == order(1)
        assert db.lookup(Order.key, KEYS) == [order(3), None, order(1), order(3)]
        assert READS["lookup_as"](db) == [True, False, True, True]


def test_async_reads_in_the_process_make_no_requests(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read() -> None:
        async with sk.async_connect(url, tables=[SHOP]) as db:
            await db.create_tables()
            await db.batch(put=[order(number) for number in range(5)])
            reject_requests(monkeypatch, db)
            assert await db.get(order(1).key) == order(1)
            assert await db.lookup(Order.key, KEYS) == [order(3), None, order(1), order(3)]

    asyncio.run(read())


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_the_fast_and_the_general_path_agree(url: str, read: Callable[[sk.Session], object]) -> None:
    with sk.connect(url, tables=[SHOP]) as db:
        db.create_tables()
        db.batch(put=[order(number) for number in range(5)])
        fast = read(db)
        cost = db.meter.reading("Order.key")
        db._fast = None
        assert read(db) == fast
        again = db.meter.reading("Order.key")
        assert (again.calls, again.rows_read, again.units) == (2 * cost.calls, 2 * cost.rows_read, 2 * cost.units)


# Tables of other prefixes in the same folder are other tables.
def test_a_prefix_reads_its_own_tables(tmp_path: Path) -> None:
    with sk.connect(f"{tmp_path}?prefix=a-") as one, sk.connect(f"{tmp_path}?prefix=b-") as other:
        for db in (one, other):
            db.create_tables(SHOP)
        one.put(order(1))
        assert one.get(order(1).key) == order(1)
        assert other.get(order(1).key) is None
        assert other.lookup(Order.key, [{"customer": "ada", "number": 1}]) == [None]


def test_a_remote_store_has_no_fast_path() -> None:
    with sk.client("http://localhost:1?store=aws") as client:
        assert client.in_process_reads is None
