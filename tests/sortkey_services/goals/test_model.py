"""The rows of goals: what is stored, and what a read of a person costs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import sortkey as sk
from sortkey_services.goals.model import (
    PENDING,
    TABLES,
    Choice,
    GoalView,
    Pending,
    PersonView,
    pending_over_views,
    views,
)

AS_OF = datetime(2026, 5, 15, tzinfo=UTC)
ANA = PersonView(
    person="ana",
    name="Ana Silva",
    tier="GOLD",
    language="pt-BR",
    notifications=True,
    goals=[
        GoalView(
            goal="SAVINGS_ACCOUNT", target_cents=50000, saved_cents=32000, status="IN_PROGRESS", rate=Decimal("0.08")
        )
    ],
    updated=AS_OF + timedelta(hours=3),
    as_of=AS_OF,
)
DEPOSIT = Pending(
    person="ana",
    goal="SAVINGS_ACCOUNT",
    balance_cents=37000,
    status="PENDING_CONFIRMATION",
    rate=Decimal("0.08"),
    updated=AS_OF + timedelta(hours=1),
    event="e1",
    version="2026-05-15T01:00:00.000000Z#0#e1",
    expires=datetime(2100, 1, 1, tzinfo=UTC),
)


# TTL works on the attribute that the table names: a choice must not have it.
def test_a_choice_is_in_the_deposits_partition_and_never_expires(store: str) -> None:
    async def test() -> None:
        async with sk.async_connect(store, tables=TABLES) as db:
            await db.create_tables()
            choice = Choice(person="ana", goal="SAVINGS_ACCOUNT", since=AS_OF)
            await db.batch(put=[DEPOSIT, choice])
            read = [each async for each in db.iterate(sk.collection(Pending.key, person="ana"))]
            rows = [row async for row in db.scan_rows(Choice)]
            assert read == [choice, DEPOSIT]
            assert [row["expires"] for row in rows if "expires" in row] == [{"N": "4102444800"}]

    asyncio.run(test())


# The deposit came before the batch ran, and after its data ended: comparing with `updated` would hide it.
def test_a_deposit_between_cut_off_and_run_is_shown(store: str) -> None:
    async def test() -> None:
        async with sk.async_connect(store, tables=TABLES) as db:
            await db.create_tables()
            await views.load(db, [ANA], as_of=AS_OF)
            await db.put(DEPOSIT)
            shown = await pending_over_views.reader(db, base=views.reader(db).get).get(person="ana")
            assert shown is not None
            assert [(each.saved_cents, each.status) for each in shown.goals] == [(37000, PENDING)]

    asyncio.run(test())
