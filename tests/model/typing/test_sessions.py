"""Item types come through sessions without a cast; `mypy --strict` is the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import assert_type

import sortkey as sk
from tests.model.sessions.shop import SHOP, Customer, Order, order

ADA = Order.key(customer="ada")
KEYS = [{"customer": "ada", "number": 1}]


def test_the_sync_session() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        assert_type(db, sk.Session)
        db.create_tables()
        db.put(order(1))
        assert_type(db.get(order(1).key), Order | None)
        assert_type(db.lookup(Order.key, KEYS), list[Order | None])
        page = assert_type(db.page(ADA, first=1), sk.Page[Order])
        assert_type(page.items, list[Order])
        assert_type(page.edges[0].item, Order)
        assert_type(db.iterate(ADA), Iterator[Order])
        assert_type(db.first(ADA), Order | None)
        assert_type(list(page), list[Order])
        assert_type(db.update(order(1).key, {"status": "DONE"}), Order)
        assert_type(db.delete(order(1).key), Order | None)
        assert_type(db.iterate(sk.collection(Customer.key, customer="ada")), Iterator[sk.Item])
        assert_type(db.scan(Order), sk.Scan[Order])
        assert_type(db.scan(Order.by_city), sk.Scan[Order])
        assert_type(db.scan(SHOP), sk.Scan[sk.Item])
        assert_type(list(db.scan(Order)), list[Order])
        assert_type(db.get_many([order(1).key]), list[Order | None])
        assert_type(db.get_many((order(1).key, Customer.key(customer="ada"))), tuple[Order | None, Customer | None])


def test_the_async_session() -> None:
    async def session() -> None:
        async with sk.async_connect("memory:", tables=[SHOP]) as db:
            assert_type(db, sk.AsyncSession)
            await db.create_tables()
            await db.put(order(1))
            assert_type(await db.get(order(1).key), Order | None)
            assert_type(await db.lookup(Order.key, KEYS), list[Order | None])
            assert_type((await db.page(ADA, first=1)).items, list[Order])
            assert_type(db.iterate(ADA), AsyncIterator[Order])
            assert_type(await db.first(ADA), Order | None)
            assert_type(await db.update(order(1).key, {"status": "DONE"}), Order)
            assert_type(await db.delete(order(1).key), Order | None)
            assert_type(db.scan(Order), sk.AsyncScan[Order])
            assert_type([each async for each in db.scan(SHOP)], list[sk.Item])
            both = await db.get_many((order(1).key, Customer.key(customer="ada")))
            assert_type(both, tuple[Order | None, Customer | None])

    asyncio.run(session())


# Two sessions, one set of calls.
def test_the_twins_have_the_same_public_names() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(sk.Session) == public(sk.AsyncSession)
