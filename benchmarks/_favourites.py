"""Marks and unmarks of restaurants, of which few have many fans, and the deliveries of a feed with faults."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from botocore.exceptions import ClientError

import sortkey as sk

FAVOURITES: Final = sk.Table("bench-favourites", stream="NEW_AND_OLD_IMAGES")
COUNTS: Final = sk.Table("bench-favourite-counts")
LISTS: Final = sk.Table("bench-favourite-lists")
SHARD: Final = "shardId-00000001787578200000-00000001"
RESTAURANTS: Final = 2000


class Favourite(sk.Item, table=FAVOURITES):
    user: str
    restaurant: str
    since: datetime
    key = sk.Key("USER#{user}", "FAV#{restaurant}")


class FavouriteCount(sk.Item, table=COUNTS):
    restaurant: str
    window: str
    count: int = 0
    key = sk.Key("RESTAURANT#{restaurant}", "{window}")
    top = sk.Index("top", "TOP#{window}", "{count}", names=("toppk", "count"), projection=("count",))


COUNTED: Final = sk.patterns.aggregate(
    Favourite,
    into=FavouriteCount,
    by=("restaurant",),
    window=sk.patterns.window("since", "ALL_TIME", "YEAR", "MONTH", "DAY"),
    values={"count": sk.patterns.count()},
)


class ListedCount(sk.Item, table=LISTS):
    """As the service has it: its list is in the order in which it is shown."""

    restaurant: str
    window: str
    count: int = 0
    key = sk.Key("RESTAURANT#{restaurant}", "{window}")
    top = sk.Index("top", "TOP#{window}", "{count:desc}#{restaurant}", names=("toppk", "topsk"), projection=("count",))


LISTED: Final = sk.patterns.aggregate(
    Favourite,
    into=ListedCount,
    by=("restaurant",),
    window=sk.patterns.window("since", "ALL_TIME", "YEAR", "MONTH", "DAY"),
    values={"count": sk.patterns.count()},
)


def windows(item: Favourite) -> list[str]:
    day = f"{item.since.astimezone(UTC):%Y-%m-%d}"
    return ["ALL_TIME", day[:4], day[:7], day]


def right_counts(favourites: Iterable[Favourite]) -> Counter[tuple[str, str]]:
    """By restaurant and window."""
    return Counter((each.restaurant, window) for each in favourites for window in windows(each))


async def stored_counts(db: sk.AsyncSession) -> dict[tuple[str, str], int]:
    return {(each.restaurant, each.window): each.count async for each in db.scan(FavouriteCount, consistent=True)}


def history(count: int, random: Random) -> tuple[list[sk.Change[Favourite]], list[Favourite]]:
    """Marks, and unmarks of a quarter of them; and the favourites that are left."""
    present: list[Favourite] = []
    changes = []
    now = datetime.now(UTC)
    for number in range(1, count + 1):
        old, new = None, None
        if present and random.random() < 0.25:
            old = present.pop(random.randrange(len(present)))
        else:
            restaurant = f"r{int(random.paretovariate(0.5)) % RESTAURANTS:04}"
            since = now - timedelta(hours=random.randrange(72))
            new = Favourite(user=f"u{number}", restaurant=restaurant, since=since)
            present.append(new)
        changes.append(sk.Change("INSERT" if old is None else "REMOVE", old, new, {}, f"{number:040}", now, SHARD))
    return changes, present


class LostAnswers:
    """A client that now and then carries a write out and loses its answer."""

    def __init__(self, client: Any, random: Random, share: float) -> None:
        self._client = client
        self._random = random
        self._share = share
        self.requests = 0
        self.units = 0.0
        self.read_units = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def write_together(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        return await asyncio.gather(*(self._call(*request) for request in requests), return_exceptions=True)

    async def _call(self, operation: str, members: dict[str, Any]) -> Any:
        answer = await self._client._call(operation, members)
        if operation == "BatchGetItem":
            self.read_units += sum(each["CapacityUnits"] for each in answer["ConsumedCapacity"])
        if operation in ("UpdateItem", "TransactWriteItems"):
            self.requests += 1
            consumed = answer["ConsumedCapacity"]
            self.units += sum(
                each["CapacityUnits"] for each in (consumed if isinstance(consumed, list) else [consumed])
            )
            if self._random.random() < self._share:
                raise ClientError({"Error": {"Code": "InternalServerError", "Message": "lost"}}, operation)
        return answer


def deliveries(
    changes: Sequence[sk.Change[Favourite]], batch: int, random: Random, twice: float
) -> Iterator[Sequence[sk.Change[Favourite]]]:
    """The batches of a feed that now and then loses its checkpoint: the last batch comes again, cut differently."""
    for start in range(0, len(changes), batch):
        yield changes[start : start + batch]
        if random.random() < twice:
            middle = start + random.randrange(batch)
            yield changes[start:middle]
            yield changes[middle : start + batch]
