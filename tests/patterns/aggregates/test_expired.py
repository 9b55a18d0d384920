"""Aggregates that outlive what they counted: items that have expired stay counted, and items of groups are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from tests.patterns.aggregates.favourites import (
    COUNTED,
    COUNTS,
    FAVOURITES,
    KEPT,
    KEPT_RANGED,
    RANGES,
    START,
    Favourite,
    FavouriteCount,
    SpendingRange,
    change,
    counted,
)
from tests.patterns.aggregates.table_stream import TableStream

NOPI = Favourite(user="ada", restaurant="nopi", since=START, spent=Decimal(3))
WINDOWS = ("ALL_TIME", "2026-W35", "2026-08-24T13:30", "2026-08-24T13:30/PT15M", "2026-08-24T12:00/PT6H")


@asynccontextmanager
async def opened() -> AsyncIterator[sk.AsyncSession]:
    async with sk.async_connect("memory:", tables=[FAVOURITES, COUNTS, RANGES]) as db:
        await db.create_tables()
        yield db


async def expire(db: sk.AsyncSession, *users: str) -> None:
    """Lets the TTL of the table delete favourites."""
    past = datetime.now(UTC) - timedelta(minutes=1)
    for user in users:
        await db.update(Favourite.key(user=user, restaurant="nopi"), {"expires": past})
    client: Any = db.client
    client.database.janitor.sweep()


async def put(db: sk.AsyncSession, **spent: int) -> None:
    for user, amount in spent.items():
        await db.put(sk.replace(NOPI, user=user, spent=Decimal(amount)))


def test_what_has_expired_stays_counted_and_what_was_deleted_does_not() -> None:
    async def play() -> None:
        async with opened() as db:
            stream, kept, usual = TableStream(db), KEPT.aggregator(db), COUNTED.aggregator(db)
            await put(db, ada=3, bob=4, eve=5)
            await expire(db, "ada")
            await db.delete(Favourite.key(user="eve", restaurant="nopi"))
            changes = await stream.changes()
            assert [each.expired for each in changes if each.kind == "REMOVE"].count(True) == 1
            await kept.on_changes(changes)
            assert await counted(db, ["nopi"]) == dict.fromkeys([("nopi", each) for each in WINDOWS], (2, Decimal(7)))
            await db.delete_all(FavouriteCount, scan=True)
            await usual.on_changes(changes)
            assert (await counted(db, ["nopi"]))["nopi", "ALL_TIME"] == (1, Decimal(4))

    asyncio.run(play())


# The table no longer has what expired; the item of the aggregate has.
def test_a_recount_agrees_whether_the_feed_is_behind_or_not() -> None:
    async def play() -> None:
        async with opened() as db:
            stream, kept, ranged = TableStream(db), KEPT.aggregator(db), KEPT_RANGED.aggregator(db)
            await put(db, ada=3, bob=4, eve=9)
            await kept.on_changes(await stream.changes())
            await expire(db, "ada", "eve")
            assert (await kept.recount(repair=True)).wrong == 0
            await kept.on_changes(await stream.changes())
            await TableStream(db).deliver_to(ranged)
            for aggregator in (kept, ranged):
                report = await aggregator.recount(repair=True)
                assert (report.items, report.wrong, report.is_clean) == (1, 0, True)
            assert (await counted(db, ["nopi"]))["nopi", "2026-W35"] == (3, Decimal(16))
            found = await db.get(SpendingRange.key(restaurant="nopi"))
            assert found is not None
            assert (found.count, found.smallest, found.largest) == (3, Decimal(3), Decimal(9))
            assert found.is_largest
            assert found.smallest_exact

    asyncio.run(play())


# What is missing is known. What is too much may have expired while no feed saw it, and history is not to be lost.
def test_a_repair_raises_and_never_lowers() -> None:
    async def play() -> None:
        async with opened() as db:
            stream, kept = TableStream(db), KEPT.aggregator(db)
            await put(db, ada=3, bob=4)
            await expire(db, "ada")
            await stream.deliver_to(kept)
            low, high = (FavouriteCount.key(restaurant="nopi", window=each) for each in WINDOWS[:2])
            await db.update(low, [sk.F(FavouriteCount.count).add(-2)])
            await db.update(high, [sk.F(FavouriteCount.count).add(5)])
            report = await kept.recount(repair=True)
            assert (report.wrong, report.repaired, report.unsettled, report.is_clean) == (2, 1, 1, False)
            found = await counted(db, ["nopi"])
            assert (found["nopi", WINDOWS[0]], found["nopi", WINDOWS[1]]) == ((2, Decimal(7)), (7, Decimal(7)))

    asyncio.run(play())


def test_a_repair_does_not_lose_an_extreme_that_no_feed_saw_expire() -> None:
    async def play() -> None:
        async with opened() as db:
            aggregator = KEPT_RANGED.aggregator(db)
            await put(db, ada=3, bob=4)
            await TableStream(db).deliver_to(aggregator)
            await db.update(SpendingRange.key(restaurant="nopi"), {"largest": Decimal(50)})
            report = await aggregator.recount(repair=True)
            assert (report.wrong, report.repaired, report.unsettled) == (1, 0, 1)
            found = await db.get(SpendingRange.key(restaurant="nopi"))
            assert found is not None
            assert found.largest == 50

    asyncio.run(play())


actions = st.lists(
    st.tuples(
        st.sampled_from(["put", "delete", "expire", "deliver", "recount"]), st.integers(0, 3), st.integers(-9, 9)
    ),
    max_size=14,
)


# The model counts each favourite that was ever put, less those that the program replaced or deleted.
@given(actions)
def test_counts_and_recounts_equal_a_plain_model(plan: list[tuple[str, int, int]]) -> None:
    async def play() -> None:
        async with opened() as db:
            stream, kept, ranged = TableStream(db), KEPT.aggregator(db), KEPT_RANGED.aggregator(db)
            present: dict[str, Decimal] = {}
            expired: list[Decimal] = []
            for action, number, amount in plan:
                user = f"u{number}"
                if action == "put":
                    await put(db, **{user: amount})
                    present[user] = Decimal(amount)
                elif action == "delete":
                    await db.delete(Favourite.key(user=user, restaurant="nopi"))
                    present.pop(user, None)
                elif action == "expire" and user in present:
                    await expire(db, user)
                    expired.append(present.pop(user))
                elif action == "deliver":
                    changes = await stream.changes()
                    for aggregator in (kept, ranged, kept):
                        await aggregator.on_changes(changes)
                elif action == "recount":
                    assert (await kept.recount(repair=True)).wrong == 0
                    assert (await ranged.recount()).wrong == 0
            changes = await stream.changes()
            await kept.on_changes(changes)
            await ranged.on_changes(changes)
            ever = [*present.values(), *expired]
            found = (await counted(db, ["nopi"])).get(("nopi", "ALL_TIME"), (0, 0))
            assert found == (len(ever), sum(ever))
            await ranged.recount(repair=True)
            extremes = await db.get(SpendingRange.key(restaurant="nopi")) or SpendingRange(restaurant="nopi")
            assert (extremes.smallest, extremes.largest) == (min(ever, default=None), max(ever, default=None))

    asyncio.run(play())


class Unexpiring(sk.Item, table=sk.Table("unexpiring-visits", stream="NEW_AND_OLD_IMAGES")):
    restaurant: str
    id: str
    key = sk.Key("{restaurant}", "{id}")


class QuarterCount(sk.Item, table=sk.Table("quarter-counts", ttl="expires")):
    restaurant: str
    quarter: str
    count: int = 0
    expires: datetime | None = None
    key = sk.Key("{restaurant}", "{quarter}")


def quarter_of(favourite: Favourite) -> str:
    return f"{favourite.since.year}Q{(favourite.since.month + 2) // 3}"


def kept_until(group: dict[str, Any]) -> datetime | None:
    if group["restaurant"] == "forever":
        return None
    year, quarter = map(int, group["quarter"].split("Q"))
    years, month = divmod(quarter * 3, 12)
    return datetime(year + years, month + 1, 1, tzinfo=UTC) + timedelta(days=30)


def quarters(**options: Any) -> sk.patterns.Aggregate:
    return sk.patterns.aggregate(
        Favourite,
        into=QuarterCount,
        by={"restaurant": "restaurant", "quarter": quarter_of},
        values={"count": sk.patterns.count()},
        **{"keep": kept_until, **options},
    )


# A quarter that is no longer kept must not come back, with -1, when a favourite of it is deleted.
def test_groups_by_a_function_are_kept_until_a_time() -> None:
    async def play() -> None:
        clock = sk.testing.ManualClock(datetime(2050, 9, 30, tzinfo=UTC).timestamp())
        async with sk.testing.async_local(FAVOURITES, QuarterCount, clock=clock) as db:
            aggregator = quarters().aggregator(db)
            since = datetime(2050, 9, 1, tzinfo=UTC)
            nopi, ever = (sk.replace(NOPI, restaurant=name, since=since) for name in ("nopi", "forever"))
            at = datetime(2050, 9, 30, tzinfo=UTC)
            await aggregator.on_changes([change(1, None, nopi, at=at), change(2, None, ever, at=at)])
            key = QuarterCount.key(restaurant="nopi", quarter="2050Q3")
            found = await db.get(key)
            assert found is not None
            assert (found.count, found.expires) == (1, datetime(2050, 10, 31, tzinfo=UTC))
            other = await db.get(QuarterCount.key(restaurant="forever", quarter="2050Q3"))
            assert other is not None
            assert other.expires is None
            await db.delete(key)
            clock.advance(40 * 86_400)
            late = datetime(2050, 11, 9, tzinfo=UTC)
            await aggregator.on_changes([change(3, nopi, None, at=late), change(4, ever, None, at=late)])
            assert await db.get(key) is None
            assert (await aggregator.recount(repair=True)).groups == 1

    asyncio.run(play())


@pytest.mark.parametrize("until", [datetime(2050, 1, 1), "2050", 3])  # noqa: DTZ001
def test_a_group_is_kept_until_a_time_with_a_zone(until: Any) -> None:
    with pytest.raises(ValueError, match="must be a datetime with a time zone, or None"):
        quarters(keep=lambda _group: until).source.shares(NOPI, START)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: quarters(keep=timedelta(days=3)), "keep= takes a function"),
        (
            lambda: sk.patterns.aggregate(
                Favourite,
                into=FavouriteCount,
                by=("restaurant",),
                window=sk.patterns.window("since", "DAY", keep={"DAY": timedelta(days=1)}),
                values={"count": sk.patterns.count()},
                keep=kept_until,
            ),
            "keep= is given twice",
        ),
        (
            lambda: sk.patterns.aggregate(
                Favourite,
                into=SpendingRange,
                by=("restaurant",),
                values={"count": sk.patterns.count()},
                keep=kept_until,
            ),
            r'SpendingRange expire, so its table needs a ttl field: sk.Table\("spending-ranges", ttl="expires"\)',
        ),
        (
            lambda: sk.patterns.aggregate(
                Unexpiring,
                into=SpendingRange,
                by=("restaurant",),
                values={"count": sk.patterns.count()},
                keep_expired=True,
            ),
            r'Unexpiring that have expired, and its table has no ttl field: sk.Table\("unexpiring-visits", ttl=',
        ),
    ],
)
def test_mistakes_are_rejected(declare: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        declare()
