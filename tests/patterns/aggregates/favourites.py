"""Favourites of restaurants, counted; and changes of them as a stream would deliver them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import sortkey as sk

FAVOURITES = sk.Table("aggregated-favourites", stream="NEW_AND_OLD_IMAGES", ttl="expires")
COUNTS = sk.Table("favourite-counts", ttl="expires")
RANGES = sk.Table("spending-ranges")
LISTS = sk.Table("listed-counts")
START = datetime(2026, 8, 24, 13, 30, tzinfo=UTC)
SHARD = "shardId-00000001787578200000-00000001"


class Favourite(sk.Item, table=FAVOURITES):
    user: str
    restaurant: str
    since: datetime
    spent: Decimal = Decimal(0)
    expires: datetime | None = None

    key = sk.Key("USER#{user}", "FAV#{restaurant}")


class FavouriteCount(sk.Item, table=COUNTS):
    restaurant: str
    window: str
    count: int = 0
    spent: Decimal = Decimal(0)
    expires: datetime | None = None
    updated: Annotated[datetime | None, sk.updated] = None
    created: Annotated[datetime | None, sk.created] = None

    key = sk.Key("RESTAURANT#{restaurant}", "{window}")
    top = sk.Index("top", "TOP#{window}", "{count}", projection=("count",))


COUNTED = sk.patterns.aggregate(
    Favourite,
    into=FavouriteCount,
    by=("restaurant",),
    window=sk.patterns.window(
        "since", "ALL_TIME", "YEAR", "MONTH", "DAY", "HOUR", keep={"HOUR": timedelta(days=20_000)}
    ),
    values={"count": sk.patterns.count(), "spent": sk.patterns.total("spent")},
)


class SpendingRange(sk.Item, table=RANGES):
    restaurant: str
    count: int = 0
    smallest: Decimal | None = None
    smallest_exact: bool = True
    largest: Decimal | None = None
    is_largest: bool = True

    key = sk.Key("RESTAURANT#{restaurant}")
    by_largest = sk.Index("largest", "{count}", "{largest}", names=("count", "most"))


RANGED = sk.patterns.aggregate(
    Favourite,
    into=SpendingRange,
    by=("restaurant",),
    values={
        "largest": sk.patterns.maximum("spent", exact="is_largest"),
        "count": sk.patterns.count(),
        "smallest": sk.patterns.minimum("spent"),
    },
)


class ListedCount(sk.Item, table=LISTS):
    """A count whose places in two lists are texts with it."""

    restaurant: str
    count: int = 0
    spent: Decimal = Decimal(0)
    created: Annotated[datetime | None, sk.created] = None

    key = sk.Key("RESTAURANT#{restaurant}")
    top = sk.Index("top", "TOP", "{count:desc}#{restaurant}")
    by_spent = sk.Index("by_spent", "SPENT", "{spent}#{restaurant}", shards=sk.Shards(2, by="restaurant"))


LISTED = sk.patterns.aggregate(
    Favourite,
    into=ListedCount,
    by=("restaurant",),
    values={"count": sk.patterns.count(), "spent": sk.patterns.total("spent")},
)
KEPT_LISTED = sk.patterns.aggregate(
    Favourite,
    into=ListedCount,
    by=("restaurant",),
    values={"count": sk.patterns.count(), "spent": sk.patterns.total("spent")},
    keep_expired=True,
)


KEPT = sk.patterns.aggregate(
    Favourite,
    into=FavouriteCount,
    by=("restaurant",),
    window=sk.patterns.window("since", "ALL_TIME", "WEEK", "MINUTE", timedelta(minutes=15), timedelta(hours=6)),
    values={"count": sk.patterns.count(), "spent": sk.patterns.total("spent")},
    keep_expired=True,
)
KEPT_RANGED = sk.patterns.aggregate(
    Favourite,
    into=SpendingRange,
    by=("restaurant",),
    values={
        "largest": sk.patterns.maximum("spent", exact="is_largest"),
        "count": sk.patterns.count(),
        "smallest": sk.patterns.minimum("spent"),
    },
    keep_expired=True,
)
"""Both count what has expired, too."""


def change(
    number: int,
    old: Favourite | None,
    new: Favourite | None,
    shard: str = SHARD,
    at: datetime | None = None,
    expired: bool = False,
) -> sk.Change[Favourite]:
    """The change with this sequence number; it has happened now."""
    kind: Literal["INSERT", "MODIFY", "REMOVE"] = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
    item = new or old
    assert item is not None
    key = {"pk": {"S": f"USER#{item.user}"}, "sk": {"S": f"FAV#{item.restaurant}"}}
    return sk.Change(kind, old, new, key, f"{number:040}", at or datetime.now(UTC), shard, expired)


def history(
    states: Sequence[tuple[int, Favourite | None]], shard: str = SHARD, expired: Container[int] = ()
) -> list[sk.Change[Favourite]]:
    """The changes that bring items, by number, to these states one after the other. An item without a state was
    deleted, or has expired, if its sequence number is one of `expired`."""
    present: dict[int, Favourite | None] = {}
    changes = []
    for sequence, (item, state) in enumerate(states, start=1):
        old = present.get(item)
        if old is not None or state is not None:
            changes.append(change(sequence, old, state, shard, expired=state is None and sequence in expired))
        present[item] = state
    return changes


def truth(favourites: Iterable[Favourite]) -> dict[tuple[str, str], tuple[int, Decimal]]:
    """The counts and totals of all windows, computed by hand."""
    counts: Counter[tuple[str, str]] = Counter()
    spent: dict[tuple[str, str], Decimal] = {}
    for each in favourites:
        moment = f"{each.since:%Y-%m-%dT%H}"
        for window in ("ALL_TIME", moment[:4], moment[:7], moment[:10], moment):
            group = each.restaurant, window
            counts[group] += 1
            spent[group] = spent.get(group, Decimal(0)) + each.spent
    return {group: (count, spent[group]) for group, count in counts.items()}


async def counted(db: sk.AsyncSession, restaurants: Iterable[str]) -> dict[tuple[str, str], tuple[int, Decimal]]:
    """What the aggregate shows, without the groups that have nothing."""
    found: dict[tuple[str, str], tuple[int, Decimal]] = {}
    for restaurant in restaurants:
        async for item in db.iterate(FavouriteCount.key(restaurant=restaurant), consistent=True):
            if item.count or item.spent:
                found[item.restaurant, item.window] = item.count, item.spent
    return found


async def row_of(db: sk.AsyncSession, restaurant: str, window: str) -> dict[str, Any]:
    """The stored row, with its checkpoints."""
    answer = await db.client.get_item(
        TableName=COUNTS.name,
        Key={"pk": {"S": f"RESTAURANT#{restaurant}"}, "sk": {"S": window}},
        ConsistentRead=True,
    )
    row: dict[str, Any] = answer.get("Item", {})
    return row
