"""The rows of goals: what is stored, also by earlier versions."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec

import sortkey as sk
from sortkey_services.goals.model import (
    PENDING,
    TABLES,
    Choice,
    KnownEvent,
    Pending,
    pending_row,
)

AS_OF = datetime(2026, 5, 15, tzinfo=UTC)
DEPOSIT = KnownEvent(
    event="e1",
    status=PENDING,
    updated=AS_OF + timedelta(hours=1),
    balance_cents=37000,
    contribution="c1",
    month="2026-05",
    rate=Decimal("0.08"),
    came=AS_OF + timedelta(hours=1),
    until=datetime(2100, 1, 1, tzinfo=UTC),
)
ROW = pending_row("ana", "SAVINGS_ACCOUNT", [DEPOSIT], 0)
OLD: dict[str, Any] = {
    "pk": {"S": "PERSON#ana"},
    "sk": {"S": "PENDING#SAVINGS_ACCOUNT"},
    "balance_cents": {"N": "37000"},
    "status": {"S": "PENDING_CONFIRMATION"},
    "rate": {"N": "0.08"},
    "updated": {"S": "2026-05-15T01:00:00.000000Z"},
    "came": {"S": "2026-05-15T01:00:00.000000Z"},
    "event": {"S": "e1"},
    "version": {"S": "2026-05-15T01:00:00.000000Z#0#e1"},
    "expires": {"N": "4102444800"},
}
"""The row of the same deposit, as earlier versions wrote it."""


# TTL works on the attribute that the table names: a choice must not have it.
def test_a_choice_is_in_the_deposits_partition_and_never_expires(store: str) -> None:
    async def test() -> None:
        async with sk.async_connect(store, tables=TABLES) as db:
            await db.create_tables()
            choice = Choice(person="ana", goal="SAVINGS_ACCOUNT", since=AS_OF)
            await db.batch(put=[ROW, choice])
            read = [each async for each in db.iterate(sk.collection(Pending.key, person="ana"))]
            rows = [row async for row in db.scan_rows(Choice)]
            assert read == [choice, ROW]
            assert [row["expires"] for row in rows if "expires" in row] == [{"N": "4102444800"}]

    asyncio.run(test())


def read(row: dict[str, Any]) -> Pending:
    async def test() -> Pending:
        async with sk.async_connect("memory:", tables=TABLES) as db:
            await db.create_tables()
            await db.client.put_item(TableName="goal-changes", Item=row)
            found = await db.get(Pending.key(person="ana", goal="SAVINGS_ACCOUNT"))
            assert found is not None
            return found

    return asyncio.run(test())


# Data folders of earlier versions have rows with the newest event alone.
def test_a_row_of_an_earlier_version_is_one_event() -> None:
    assert read(OLD) == pending_row(
        "ana", "SAVINGS_ACCOUNT", [msgspec.structs.replace(DEPOSIT, contribution=None, month=None)], 0
    )


# An earlier version stored a missing balance as 0.
def test_a_rejection_of_an_earlier_version_states_no_balance() -> None:
    rejection = OLD | {"status": {"S": "REJECTED"}, "balance_cents": {"N": "0"}}
    del rejection["expires"], rejection["came"], rejection["rate"]
    row = read(rejection)
    assert (row.expires, row.events[0].until, row.events[0].balance_cents) == (None, None, None)


def test_a_row_expires_with_the_last_of_its_events() -> None:
    later = msgspec.structs.replace(DEPOSIT, until=datetime(2100, 1, 2, tzinfo=UTC))
    stays = msgspec.structs.replace(DEPOSIT, until=None)
    assert pending_row("ana", "S", [later, DEPOSIT], 0).expires == later.until
    assert pending_row("ana", "S", [stays, DEPOSIT], 0).expires is None
