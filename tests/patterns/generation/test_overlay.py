"""A base with generations under an overlay: still one GetItem and one Query."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime

import sortkey as sk
from tests.patterns.generation.persons import HOUR, as_of


class Saver(sk.Item, table=sk.Table("generation-savers")):
    generation: str = ""
    person: str
    as_of: datetime
    saved: int
    key = sk.Key("GENERATION#{generation}#PERSON#{person}")


class Deposit(sk.Item, table=sk.Table("generation-deposits", ttl="expires")):
    person: str
    goal: str
    balance: int
    at: datetime
    expires: datetime | None = None
    key = sk.Key("PERSON#{person}", "GOAL#{goal}")


SAVERS = sk.patterns.generations(Saver)
VIEW = sk.patterns.overlay(Deposit, over=Saver, newer="at", than="as_of", replace={"saved": "balance"})


def savers(day: int, saved: int) -> Iterator[Saver]:
    return iter([Saver(person="ada", as_of=as_of(day), saved=saved)])


# The batch of day 2 runs hours after its cut-off: a deposit between the two must not disappear when it is published.
def test_a_deposit_after_the_cut_off_stays_visible(store: str) -> None:
    async def test() -> None:
        async with sk.async_connect(store, tables=[*SAVERS.tables, Deposit]) as db:
            await db.create_tables()
            reader = VIEW.reader(db, base=SAVERS.reader(db, renew=1e-9).get)

            async def saved() -> int | None:
                found = await reader.get(person="ada")
                return None if found is None else found.saved

            assert await saved() is None
            await SAVERS.load(db, savers(1, 100), as_of=as_of(1))
            assert await saved() == 100
            await db.put(Deposit(person="ada", goal="CAR", balance=170, at=as_of(2) + HOUR))
            assert await saved() == 170
            await SAVERS.load(db, savers(2, 100), as_of=as_of(2))
            assert await saved() == 170
            await SAVERS.load(db, savers(3, 180), as_of=as_of(3))
            assert await saved() == 180

    asyncio.run(test())


def test_a_read_is_one_unit() -> None:
    async def test() -> None:
        async with sk.async_connect("memory:", tables=[*SAVERS.tables, Deposit]) as db:
            await db.create_tables()
            await SAVERS.load(db, savers(1, 100), as_of=as_of(1))
            base = SAVERS.reader(db, renew=3600)
            await base.current()
            await VIEW.reader(db, base=base.get).get(person="ada")
            readings = [db.meter.reading(key) for key in (Saver.key, Deposit.key)]
            assert [(each.calls, each.units) for each in readings] == [(1, 0.5), (1, 0.5)]

    asyncio.run(test())
