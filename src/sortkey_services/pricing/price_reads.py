"""What is in force: one price, the prices of a store, of a product in all stores, and of a combo's options.

A read resolves each row at its instant. A page is one query. It asks further only if rows need it: whether a batch is
committed, and what was in force before the oldest entry of a row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.pricing.batches import Batches, SeenBatches
from sortkey_services.pricing.filled_page import filled_page
from sortkey_services.pricing.instants import instant_of, micros_at, micros_of
from sortkey_services.pricing.model import PriceRow, key_of, price_path
from sortkey_services.pricing.past_prices import PastPrices
from sortkey_services.pricing.timeline import Commits, Moment, batches_of, in_force, moments, needs_history
from sortkey_services.pricing.types import Connection, Price, PriceKey, PriceKind

PARALLEL: Final = 32

_logger = logging.getLogger(__name__)


@lru_cache(maxsize=65_536)
def amount_of(cents: int) -> Decimal:
    """With two decimals."""
    # Not scaleb, which rounds.
    return Decimal(f"{cents}E-2")


class PriceReads:
    def __init__(
        self, session: sk.AsyncSession, batches: Batches, past: PastPrices, currency: str, now: Callable[[], float]
    ) -> None:
        self._session = session
        self._batches = batches
        self._past = past
        self._currency = currency
        self._now = now

    async def price(self, key: PriceKey, at: datetime | None) -> Price | None:
        """Raises Conflict for a row that another program has made unreadable."""
        read = self._read(at)
        try:
            row = await self._session.get(price_path(key), consistent=True)
        except sk.DecodeError as error:
            _logger.warning("a price cannot be read: %s", error)
            raise sk.services.Conflict(
                f"the price of {key.product!r} in {key.store!r} cannot be read, because another program has changed it",
                "unreadable",
            ) from error
        return None if row is None else (await read([row]))[0]

    async def of_store(self, store: str, channel: str, page: PageArguments, at: datetime | None) -> Connection[Price]:
        path = PriceRow.key(store=store, channel=channel, kind=PriceKind.BASE)
        return await filled_page(self._session, path, page, self._read(at), consistent=True)

    async def of_combo(
        self, store: str, combo: str, channel: str, page: PageArguments, at: datetime | None
    ) -> Connection[Price]:
        path = PriceRow.key(store=store, channel=channel, kind=PriceKind.SWAP).starting(f"{combo}#")
        return await filled_page(self._session, path, page, self._read(at), consistent=True)

    async def of_product(
        self, product: str, channel: str, page: PageArguments, at: datetime | None
    ) -> Connection[Price]:
        path = PriceRow.by_product(kind=PriceKind.BASE, product=product, channel=channel)
        return await filled_page(self._session, path, page, self._read(at), consistent=False)

    def _read(self, at: datetime | None) -> _Read:
        began = micros_at(self._now())
        asked = began if at is None else micros_of(at)
        return _Read(SeenBatches(self._batches, began), self._past, self._currency, asked)


class _Read:
    """What rows show at an instant, for a read that began at another."""

    def __init__(self, seen: SeenBatches, past: PastPrices, currency: str, at: int) -> None:
        self._seen = seen
        self._past = past
        self._currency = currency
        self._at = at

    async def __call__(self, rows: Sequence[PriceRow]) -> Sequence[Price | None]:
        batches = {batch for row in rows if row.entries is not None for batch in batches_of(row)}
        commits = await self._seen.commits(batches) if batches else {}
        shown: list[Price | None] = []
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

    def _resolved(self, row: PriceRow, commits: Commits) -> Price | None:
        return self._shown(row, in_force(moments(row, commits, self._seen.began), self._at))

    def _shown(self, row: PriceRow, moment: Moment | None) -> Price | None:
        if moment is None or moment.cents is None:
            return None
        return _price(row, moment.at, moment.cents, self._currency)

    async def _look_back(
        self, rows: Sequence[PriceRow], shown: list[Price | None], past: Sequence[int], commits: Commits
    ) -> None:
        """Of the rows that may have left out what was in force at the instant."""

        async def one(index: int) -> Price | None:
            row = rows[index]
            listed = await self._past.in_force(key_of(row), self._at, self._seen)
            own = in_force(moments(row, commits, self._seen.began), self._at)
            newest = max((each for each in (listed, own) if each is not None), key=lambda each: each[:2], default=None)
            return self._shown(row, newest)

        for index, price in zip(past, await concurrent_map(one, past, PARALLEL), strict=True):
            shown[index] = price


def _price(row: PriceRow, since: int, cents: int, currency: str) -> Price | None:
    try:
        effective = instant_of(since)
    except OverflowError:
        _logger.warning("a price is left out, because its instant is beyond all time: %s", row.key)
        return None
    return Price(row.store, row.product, row.channel, row.kind, amount_of(cents), currency, effective)
