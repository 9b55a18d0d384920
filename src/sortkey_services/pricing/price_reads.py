"""What the rows of prices show at an instant.

A read asks further only if rows need it: whether a batch is committed, and what was in force before the oldest entry
that a row still has, which the changes of the price tell.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import sortkey as sk
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.pricing.batches import SeenBatches
from sortkey_services.pricing.model import ChangeRow, PriceRow, history_path, key_of
from sortkey_services.pricing.prices import Price, PriceKey, amount_of, instant_of, micros_of
from sortkey_services.pricing.timeline import NEVER, Commits, Moment, batches_of, in_force, moments, needs_history

PARALLEL: Final = 32
ROWS: Final = 16
"""Of one request; the first is nearly always the one."""

_logger = logging.getLogger(__name__)


class PriceRead:
    """What rows show at an instant, for a read that began at another."""

    def __init__(self, session: sk.AsyncSession, seen: SeenBatches, currency: str, at: int) -> None:
        self._session = session
        self._seen = seen
        self._currency = currency
        self._at = at

    async def __call__(self, rows: Sequence[PriceRow]) -> Sequence[Price[Decimal] | None]:
        batches = {batch for row in rows if row.entries is not None for batch in batches_of(row)}
        commits = await self._seen.commits(batches) if batches else {}
        shown: list[Price[Decimal] | None] = []
        past: list[int] = []
        at, currency = self._at, self._currency
        for index, row in enumerate(rows):
            since, cents = row.since, row.cents
            if row.entries is None and since is not None and since <= at:
                price = None if cents is None else _price(row, since, cents, currency)
            else:
                price = self._resolved(row, commits)
                if needs_history(row, at, commits, self._seen.began):
                    past.append(index)
            shown.append(price)
        if past:
            await self._look_back(rows, shown, past, commits)
        return shown

    def _resolved(self, row: PriceRow, commits: Commits) -> Price[Decimal] | None:
        return self._shown(row, in_force(moments(row, commits, self._seen.began), self._at))

    def _shown(self, row: PriceRow, moment: Moment | None) -> Price[Decimal] | None:
        if moment is None or moment.cents is None:
            return None
        return _price(row, moment.at, moment.cents, self._currency)

    async def _look_back(
        self, rows: Sequence[PriceRow], shown: list[Price[Decimal] | None], past: Sequence[int], commits: Commits
    ) -> None:
        """Of the rows that may have left out what was in force at the instant."""

        async def one(index: int) -> Price[Decimal] | None:
            row = rows[index]
            listed = await listed_in_force(self._session, key_of(row), self._at, self._seen)
            own = in_force(moments(row, commits, self._seen.began), self._at)
            newest = max((each for each in (listed, own) if each is not None), key=lambda each: each[:2], default=None)
            return self._shown(row, newest)

        for index, price in zip(past, await concurrent_map(one, past, PARALLEL), strict=True):
            shown[index] = price


def _price(row: PriceRow, since: int, cents: int, currency: str) -> Price[Decimal] | None:
    try:
        effective = instant_of(since)
    except OverflowError:
        _logger.warning("a price is left out, because its instant is beyond all time: %s", row.key)
        return None
    return Price(row.store, row.product, row.channel, row.kind, amount_of(cents), currency, effective)


async def listed_in_force(
    session: sk.AsyncSession, key: PriceKey, at: int, seen: SeenBatches, *, earlier: Moment | None = None
) -> Moment | None:
    """The newest listed change not after the instant; None if there is none. With `earlier`, only those before that
    one."""
    path = history_path(key).before(instant_of(at + 1))
    cursor: str | None = None
    while True:
        page = await session.page(path, first=ROWS, after=cursor, descending=True, undecodable="skip")
        commits = await seen.commits({row.batch for row in page if row.batch is not None})
        for row in page:
            moment = change_moment(row, commits, seen.began)
            if moment is not None and (earlier is None or moment[:2] < earlier[:2]):
                return moment
        cursor = page.end_cursor
        if not page.has_next:
            return None


def change_moment(row: ChangeRow, commits: Commits, began: int) -> Moment | None:
    """When a change takes effect; None if it does not count: cancelled, or of a batch that is not committed."""
    if row.status == "CANCELLED":
        return None
    if row.batch is not None and row.status == "SCHEDULED" and commits.get(row.batch, NEVER) > began:
        return None
    return Moment(micros_of(row.effective_at), row.number, row.cents)
