from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

import sortkey as sk
from sortkey_services.goals.batch.job import BatchResult, run_batch
from sortkey_services.goals.batch.reconciliation import EXAMPLES, Example
from sortkey_services.goals.model import (
    LIFETIME,
    OUTCOMES,
    PENDING,
    REJECTED,
    DepositStatus,
    KnownEvent,
    Pending,
    Reconciliation,
    pending_row,
)
from tests.sortkey_services.goals.batch.small_gold import SmallGold

pytestmark = pytest.mark.slow

# The store removes expired rows by its own clock, so the story is in a year to come.
FIRST = datetime(2126, 5, 15, tzinfo=UTC)
SECOND = FIRST + timedelta(days=1)
NOON = FIRST + timedelta(hours=12)
GOAL = "SAVINGS_ACCOUNT"


def event(cents: int, at: datetime = NOON, status: DepositStatus = PENDING, month: str = "2126-05") -> KnownEvent:
    until = None if status == REJECTED else at + LIFETIME
    return KnownEvent(event="e", status=status, updated=at, balance_cents=cents, month=month, until=until)


def pending(person: str, cents: int, at: datetime = NOON, status: DepositStatus = PENDING, goal: str = GOAL) -> Pending:
    return pending_row(person, goal, [event(cents, at, status)], 0)


def of_year(gold: SmallGold) -> None:
    """The same gold in May 2126: three persons with one goal each, and what they had saved before the first batch."""
    persons = ["ana", "carl", "bea"]
    gold.tables["goals"] = {
        "person_id": persons,
        "goal_id": [GOAL] * 3,
        "month": ["2126-05"] * 3,
        "target_cents": [50_000] * 3,
    }
    for name in gold.contributions:
        gold.contributions[name] = []
    for person in persons:
        gold.contribute(person_id=person, amount_cents=1_000, effective_at=naive(FIRST - timedelta(days=1)))


def naive(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(tzinfo=None)


def reconciled(
    gold: SmallGold, *rows: Pending, then: Callable[[sk.AsyncSession], Awaitable[None]] | None = None
) -> BatchResult:
    """Of the second batch, with what was pending before it. `gold` is what the second batch reads."""

    async def story() -> BatchResult:
        inputs = gold.write()
        async with sk.async_connect("memory:") as db:
            await run_batch(db, inputs._replace(as_of=FIRST), now=FIRST + timedelta(hours=3))
            for row in rows:
                await db.put(row)
            result = await run_batch(db, inputs._replace(as_of=SECOND), now=SECOND + timedelta(hours=3))
            assert await db.get(Reconciliation.key(of="goals")) == result.reconciled.counts
            if then is not None:
                await then(db)
            return result

    return asyncio.run(story())


def counts(result: BatchResult) -> dict[str, int]:
    return {
        name: getattr(result.reconciled.counts, name) for name in OUTCOMES if getattr(result.reconciled.counts, name)
    }


def came(gold: SmallGold, person: str, cents: int, at: datetime = NOON, **given: str) -> None:
    gold.contribute(person_id=person, amount_cents=cents, effective_at=naive(at), **given)


def test_what_was_pending_came_with_the_same_amount_or_another(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)
    came(gold, "carl", 400)
    result = reconciled(gold, pending("ana", 1_500), pending("carl", 1_500))
    assert counts(result) == {"confirmed": 1, "other_amount": 1}
    assert result.reconciled.examples == [Example("other_amount", "carl", GOAL, 1_500, 1_400)]
    assert (result.reconciled.counts.since, result.reconciled.counts.as_of) == (FIRST, SECOND)


def test_what_was_pending_never_came(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "carl", 500, status="REJECTED")
    result = reconciled(
        gold, pending("ana", 1_500), pending("carl", 1_500), pending("gone", 10), pending("bea", 1, goal="X")
    )
    assert counts(result) == {"never_came": 4}
    assert {(each.person, each.saved_cents) for each in result.reconciled.examples} == {
        ("ana", 1_000),
        ("carl", 1_000),
        ("gone", None),
        ("bea", None),
    }


def test_what_came_without_an_event(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)
    came(gold, "carl", 500, at=FIRST)
    came(gold, "bea", 500)
    # Bea's event is of another deposit, which the first batch has passed.
    result = reconciled(gold, pending("bea", 1_000, at=FIRST))
    assert counts(result) == {"without_event": 2}
    assert [each.person for each in result.reconciled.examples] == ["ana", "bea"]


def test_a_newer_event_is_still_pending_and_hides_the_one_before(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)
    assert counts(reconciled(gold, pending("ana", 1_700, at=SECOND + timedelta(hours=1)))) == {"still_pending": 1}


# Two deposits, of which one was rejected: the other is what must come.
def test_a_deposit_beside_a_rejected_one_is_awaited(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)
    evening = NOON + timedelta(hours=6)
    events = [event(1_500), event(1_900, NOON + timedelta(hours=1)), event(1_500, evening, REJECTED)]
    stated = pending_row("ana", GOAL, events, 0)
    # Nothing tells what Carl's first deposit had added, which was rejected.
    unstated = [
        msgspec.structs.replace(each, contribution=name) for each, name in zip(events, ("c1", "c2", "c1"), strict=True)
    ]
    unstated[2] = msgspec.structs.replace(unstated[2], balance_cents=None)
    came(gold, "carl", 400)
    result = reconciled(gold, stated, pending_row("carl", GOAL, unstated, 0))
    assert counts(result) == {"confirmed": 2}


# For May it has come; for June it is newer than the batch.
def test_each_month_of_a_goal_is_looked_at(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)
    june = event(70, SECOND + timedelta(hours=1), month="2126-06")
    assert counts(reconciled(gold, pending_row("ana", GOAL, [event(1_500), june], 0))) == {
        "confirmed": 1,
        "still_pending": 1,
    }


# A rejection must hide older events until a batch has passed it, and no longer.
def test_a_rejection_that_the_batch_has_passed_may_expire(gold: SmallGold) -> None:
    of_year(gold)

    async def look(db: sk.AsyncSession) -> None:
        passed = await db.get(Pending.key(person="ana", goal=GOAL))
        assert passed is not None
        assert passed.expires == passed.events[0].until == SECOND + timedelta(hours=3) + LIFETIME
        newer = await db.get(Pending.key(person="carl", goal=GOAL))
        assert newer is not None
        assert newer.expires is None

    after = SECOND + timedelta(hours=1)
    rows = (pending("ana", 1_500, status=REJECTED), pending("carl", 1_500, at=after, status=REJECTED))
    assert counts(reconciled(gold, *rows, then=look)) == {"rejected": 1}


def test_an_expired_row_is_as_good_as_deleted(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)
    expired = [msgspec.structs.replace(event(1_500), until=SECOND)]
    rows = [pending_row(person, GOAL, expired, 0) for person in ("ana", "carl")]
    assert counts(reconciled(gold, *rows)) == {"without_event": 1}


# Nothing was shown before the first batch, so nothing had to be announced.
def test_the_first_batch_has_only_what_was_pending(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)

    async def story() -> BatchResult:
        async with sk.async_connect("memory:") as db:
            await db.create_tables(Pending)
            await db.put(pending("ana", 1_500))
            return await run_batch(db, gold.write()._replace(as_of=SECOND), now=SECOND)

    assert counts(asyncio.run(story())) == {"confirmed": 1}


@pytest.mark.slow
def test_the_same_batch_again_finds_the_same(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)
    came(gold, "bea", 500)

    async def again(db: sk.AsyncSession) -> None:
        result = await run_batch(db, gold.write()._replace(as_of=SECOND), now=SECOND + timedelta(hours=4))
        assert counts(result) == {"confirmed": 1, "without_event": 1}
        assert result.reconciled.counts.since == FIRST

    assert counts(reconciled(gold, pending("ana", 1_500), then=again)) == {"confirmed": 1, "without_event": 1}


def test_a_report_names_a_few_and_counts_all(gold: SmallGold) -> None:
    of_year(gold)
    rows = [pending(f"gone-{number}", number) for number in range(2 * EXAMPLES)]
    result = reconciled(gold, *rows)
    assert counts(result) == {"never_came": 2 * EXAMPLES}
    assert len(result.reconciled.examples) == EXAMPLES


# Other programs write to tables, too; what they wrote must not keep the others from being counted.
@pytest.mark.slow
def test_rows_that_cannot_be_read_are_counted(gold: SmallGold) -> None:
    of_year(gold)
    came(gold, "ana", 500)
    came(gold, "carl", 500)
    came(gold, "bea", 500)

    async def story() -> BatchResult:
        inputs = gold.write()
        async with sk.async_connect("memory:") as db:
            await run_batch(db, inputs._replace(as_of=FIRST), now=FIRST)
            await db.put(pending("ana", 1_500))
            await db.put(pending("carl", 1_500))
            key = {"pk": {"S": "PERSON#carl"}, "sk": {"S": f"PENDING#{GOAL}"}}
            broken = {"UpdateExpression": "SET updated = :t", "ExpressionAttributeValues": {":t": {"S": "much"}}}
            await db.client.update_item(TableName="goal-changes", Key=key, **broken)
            last = {"pk": {"S": "RECONCILIATION#goals"}, "sk": {"S": "LAST"}}
            broken = {"UpdateExpression": "SET confirmed = :t", "ExpressionAttributeValues": {":t": {"S": "all"}}}
            await db.client.update_item(TableName="goal-changes", Key=last, **broken)
            await run_batch(db, inputs._replace(as_of=FIRST + timedelta(hours=1)), now=FIRST)
            return await run_batch(db, inputs._replace(as_of=SECOND), now=SECOND)

    assert counts(asyncio.run(story())) == {"confirmed": 1, "without_event": 1, "unreadable": 1}


# The views of the new month do not have what was deposited on the last day of the old one.
def test_the_last_day_of_a_month_is_compared_with_its_own_month(gold: SmallGold) -> None:
    of_year(gold)
    last_day, turn = datetime(2126, 5, 31, tzinfo=UTC), datetime(2126, 6, 1, tzinfo=UTC)
    for name, values in gold.tables["goals"].items():
        gold.tables["goals"][name] = values + (["2126-06"] * 3 if name == "month" else values)
    evening = last_day + timedelta(hours=22)
    came(gold, "ana", 500, at=evening)
    came(gold, "bea", 500, at=evening)

    async def story() -> BatchResult:
        inputs = gold.write()
        async with sk.async_connect("memory:") as db:
            await run_batch(db, inputs._replace(as_of=last_day), now=last_day)
            await db.put(pending("ana", 1_500, at=evening))
            await db.put(pending("carl", 1_500, at=evening))
            return await run_batch(db, inputs._replace(as_of=turn), now=turn + timedelta(hours=3))

    result = asyncio.run(story())
    assert result.run.month == "2126-06"
    assert counts(result) == {"confirmed": 1, "never_came": 1, "without_event": 1}
    assert [(each.outcome, each.person, each.saved_cents) for each in result.reconciled.examples] == [
        ("never_came", "carl", 1_000),
        ("without_event", "bea", 1_500),
    ]
