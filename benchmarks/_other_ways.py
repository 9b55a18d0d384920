"""Older ways to count favourites: in the request that marks one, and by a scan of all of them once a day."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, Final, NamedTuple, Protocol

from botocore.exceptions import ClientError

import sortkey as sk
from benchmarks._add_in_transactions import add
from benchmarks._favourites import (
    COUNTS,
    FAVOURITES,
    Favourite,
    LostAnswers,
    history,
    right_counts,
    stored_counts,
    windows,
)

SEED: Final = 14
OWN_UNITS: Final = 2
"""Of the favourite's own row in a transaction."""


class Request(Protocol):
    async def apply(self, change: sk.Change[Favourite]) -> None:
        """Mark or unmark; raises ClientError if an answer was lost."""


class Counted(NamedTuple):
    units: float
    """Write units per change, without those of the favourite's own row."""
    wrong: float
    """The share of the counts that are wrong, in percent."""


class Scanned(NamedTuple):
    read_units: float
    """Per favourite."""
    wrong: float
    """The share of the counts that are wrong after a day's changes, before the next scan; in percent."""


class OneByOne:
    """Writes the favourite, then adds to its four counts."""

    own_units = 0

    def __init__(self, db: sk.AsyncSession) -> None:
        self._db = db

    async def apply(self, change: sk.Change[Favourite]) -> None:
        try:
            if change.new is not None:
                await self._db.put(change.new, if_absent=True)
            else:
                await self._db.delete(_changed(change).key, where=sk.F(Favourite.user).exists())
        except sk.ConditionFailed:
            # The client repeats its request. The favourite is as it wants it, so there seems to be nothing to count.
            return
        for update in _counts(change):
            await self._db.client._call("UpdateItem", update | {"ReturnConsumedCapacity": "TOTAL"})


class InOneTransaction:
    """Writes the favourite and its four counts together."""

    own_units = OWN_UNITS

    def __init__(self, db: sk.AsyncSession) -> None:
        self._db = db

    async def apply(self, change: sk.Change[Favourite]) -> None:
        try:
            await self._db.client._call(
                "TransactWriteItems",
                {
                    "TransactItems": [_own(change), *({"Update": each} for each in _counts(change))],
                    "ReturnConsumedCapacity": "TOTAL",
                },
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "TransactionCanceledException":
                raise


def count_in_requests(way: Callable[[sk.AsyncSession], Any], lost: float, changes: int) -> Counted:
    return asyncio.run(_count_in_requests(way, lost, changes))


async def _count_in_requests(way: Callable[[sk.AsyncSession], Any], lost: float, count: int) -> Counted:
    made, left = history(count, Random(SEED))
    async with sk.async_connect("memory:", tables=[FAVOURITES, COUNTS]) as db:
        await db.create_tables()
        session: Any = db
        client = session.client = LostAnswers(session.client, Random(SEED), lost)
        requests = way(db)
        for change in made:
            await _repeated(requests, change)
        units = client.units / count - requests.own_units
        return Counted(units, _wrong(await stored_counts(db), left))


def count_by_scan(changes: int) -> Scanned:
    """Half of the changes are counted by a scan; the others are the day after."""
    return asyncio.run(_count_by_scan(changes))


async def _count_by_scan(count: int) -> Scanned:
    _, yesterday = history(count // 2, Random(SEED))
    _, left = history(count, Random(SEED))
    async with sk.async_connect("memory:", tables=[FAVOURITES, COUNTS]) as db:
        await db.create_tables()
        await db.batch(put=yesterday)
        before = sum(reading.units for reading in db.meter.readings())
        found = [favourite async for favourite in db.scan(Favourite)]
        read = sum(reading.units for reading in db.meter.readings()) - before
    return Scanned(read / len(found), _wrong(right_counts(found), left))


async def _repeated(requests: Request, change: sk.Change[Favourite]) -> None:
    """Sends a request until it is answered, as a client does."""
    while True:
        try:
            return await requests.apply(change)
        except ClientError as error:
            if error.response["Error"]["Code"] != "InternalServerError":
                raise


def _wrong(found: Mapping[tuple[str, str], int], left: Iterable[Favourite]) -> float:
    expected = right_counts(left)
    groups = {*found, *expected}
    return 100 * sum(found.get(group, 0) != expected[group] for group in groups) / len(groups)


def _changed(change: sk.Change[Favourite]) -> Favourite:
    item = change.new or change.old
    assert item is not None
    return item


def _counts(change: sk.Change[Favourite]) -> list[dict[str, Any]]:
    item = _changed(change)
    return [add(item.restaurant, window, 1 if change.new is not None else -1) for window in windows(item)]


def _own(change: sk.Change[Favourite]) -> dict[str, Any]:
    """The favourite's own write, which fails if the request is repeated."""
    item = _changed(change)
    key = Favourite.key(user=item.user, restaurant=item.restaurant).key()
    if change.new is None:
        return {"Delete": {"TableName": FAVOURITES.name, "Key": key, "ConditionExpression": "attribute_exists(pk)"}}
    row = key | {
        "user": {"S": item.user},
        "restaurant": {"S": item.restaurant},
        "since": {"S": item.since.isoformat()},
    }
    return {"Put": {"TableName": FAVOURITES.name, "Item": row, "ConditionExpression": "attribute_not_exists(pk)"}}
