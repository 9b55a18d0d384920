"""A process that reads all the while: `python -m tests.faults.midnight.reader STORE MIDNIGHT SEED`.

Each line of its output is a `Tally`. It asks for stores, products and single prices, now and at instants around
midnight, and compares each answer with what it must be. It ends when its input is closed.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

import msgspec

import sortkey as sk
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import PricingService
from tests.faults.midnight.prices import Expected, Midnight, expected_between, is_right, product_of

TOLD_AFTER: Final = 0.1
NAMED: Final = 5
OFFSETS: Final = (timedelta(microseconds=-1), timedelta(0), timedelta(seconds=-1), timedelta(hours=1))


class Tally(msgspec.Struct):
    reads: int = 0
    reads_after: int = 0
    """Those that began after midnight."""
    wrong: int = 0
    named: list[str] = []
    """The first wrong answers."""
    slowest: float = 0.0
    """Seconds."""


class Reader:
    def __init__(self, pricing: PricingService, midnight: Midnight, draw: Random) -> None:
        self.tally = Tally()
        self._pricing = pricing
        self._midnight = midnight
        self._draw = draw
        self._at = datetime.fromtimestamp(midnight.at, UTC)
        self._questions = (self._store_now, self._store_now, self._store_at, self._product_at, self._one_now)

    async def read(self) -> None:
        began = time.time()
        await self._draw.choice(self._questions)()
        self.tally.reads += 1
        self.tally.reads_after += began >= self._midnight.at
        self.tally.slowest = max(self.tally.slowest, time.time() - began)

    async def _store_now(self) -> None:
        store = self._draw.randrange(self._midnight.stores)
        began = time.time()
        page = await self._pricing.base_prices(self._midnight.store(store), page_request(first=2048))
        expected = expected_between(self._midnight, began, time.time())
        if not is_right(self._midnight, store, page.items, expected):
            self._note(f"store {store} now, {began - self._midnight.at:+.6f} s: {_shown(page.items)}")

    async def _store_at(self) -> None:
        store, at = self._draw.randrange(self._midnight.stores), self._instant()
        page = await self._pricing.base_prices(self._midnight.store(store), page_request(first=2048), at=at)
        if not is_right(self._midnight, store, page.items, self._expected(at)):
            self._note(f"store {store} at {at - self._at} from midnight: {_shown(page.items)}")

    async def _product_at(self) -> None:
        number, at = self._draw.randrange(self._midnight.products), self._instant()
        page = await self._pricing.product_prices(product_of(number), page_request(first=64), at=at)
        after = self._expected(at).after
        for price in page.items:
            if not price.store.startswith(self._midnight.name):
                continue
            store = int(price.store.removeprefix(self._midnight.name))
            amounts = self._midnight.after(store) if after else self._midnight.before(store)
            if amounts.get(price.product) != int(price.amount.scaleb(2)):
                self._note(f"product {number} at {at - self._at} from midnight: {_shown([price])}")

    async def _one_now(self) -> None:
        store, number = self._draw.randrange(self._midnight.stores), self._draw.randrange(self._midnight.products)
        began = time.time()
        price = await self._pricing.price(self._midnight.store(store), product_of(number))
        expected = expected_between(self._midnight, began, time.time())
        found = None if price is None else int(price.amount.scaleb(2))
        allowed = [self._midnight.before(store).get(product_of(number))] if expected.before else []
        allowed += [self._midnight.after(store).get(product_of(number))] if expected.after else []
        if found not in allowed:
            self._note(f"product {number} of store {store} now, {began - self._midnight.at:+.6f} s: {found}")

    def _instant(self) -> datetime:
        if self._draw.random() < 0.5:
            return self._at + self._draw.choice(OFFSETS)
        return self._at + timedelta(seconds=self._draw.uniform(-100, 100))

    def _expected(self, at: datetime) -> Expected:
        return Expected(at < self._at, at >= self._at)

    def _note(self, wrong: str) -> None:
        self.tally.wrong += 1
        if len(self.tally.named) < NAMED:
            self.tally.named.append(wrong)


def _shown(prices: Sequence[object]) -> str:
    return f"{len(prices)} prices, {prices[:3]}"


async def main(store: str, midnight: Midnight, seed: int) -> None:
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    async with sk.async_connect(store, tables=[PRICES, CHANGES]) as session:
        reader = Reader(PricingService(session), midnight, Random(seed))
        told = time.monotonic()
        while not ended.done():
            await reader.read()
            # Many reads of an embedded store never wait, and the end of the input has to be noticed.
            await asyncio.sleep(0)
            if time.monotonic() - told > TOLD_AFTER:
                told = time.monotonic()
                _tell(reader.tally)
    _tell(reader.tally)


def _tell(tally: Tally) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(tally) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], msgspec.json.decode(sys.argv[2], type=Midnight), int(sys.argv[3])))
