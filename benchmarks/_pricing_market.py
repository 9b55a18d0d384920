"""The prices that are measured: how many, their file, and their stores, loaded by the command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final, NamedTuple

import sortkey as sk
from benchmarks._prices_postgres import PriceRow
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.prices import ChangeInput
from sortkey_services.pricing.service import PricingService

LONG_AGO: Final = datetime(2026, 1, 1, tzinfo=UTC)
UPCOMING_STORES: Final = 50
"""How many stores have changes to come."""
UPCOMING_CHANNEL: Final = "WEB"
"""Of those changes: they are not in the pages that are measured, whose rows have nothing to come."""
UPCOMING: Final = 70
"""Changes of each of them: more than a page."""
CHANGED: Final = 100
"""One of so many prices is another one in a file that has changed."""
_LOADED: Final = re.compile(r"loaded ([\d,]+) prices? in .*?(?:; [\d,]+ of ([\d,]+) rows were unchanged)?$")


class Sizes(NamedTuple):
    stores: int = 8000
    few_stores: int = 80
    products: int = 500
    calls: int = 200
    """Of each operation in each round."""
    rounds: int = 5
    seconds: int = 3
    """For which each request is sent over HTTP."""
    bulk: int = 10_000
    """Changes of one request."""
    midnight: int = 100_000
    midnight_stores: int = 1000

    @property
    def prices(self) -> int:
        return self.stores * self.products

    @property
    def few_prices(self) -> int:
        return self.few_stores * self.products

    @classmethod
    def from_environment(cls, given: Mapping[str, str] = os.environ) -> Sizes:
        """`SORTKEY_PRICING_STORES=800` and so on make a benchmark smaller."""
        found = {name: int(given[key]) for name in cls._fields if (key := f"SORTKEY_PRICING_{name.upper()}") in given}
        return cls(**found)


def store_of(number: int) -> str:
    return f"{number:05}"


def product_of(number: int) -> str:
    return f"P{number:04}"


def amount_of(store: int, product: int) -> str:
    cents = (store * 7 + product * 13) % 4000 + 99
    return f"{cents // 100}.{cents % 100:02}"


def write_file(path: Path, stores: int, products: int, *, changed: bool = False) -> None:
    """With `changed`, one of a hundred prices is another one."""
    with path.open("w", encoding="utf-8") as file:
        file.write("store,product,amount\n")
        for store in range(stores):
            name = store_of(store)
            file.writelines(
                f"{name},{product_of(product)},"
                f"{'66.66' if changed and (store + product) % CHANGED == 0 else amount_of(store, product)}\n"
                for product in range(products)
            )


class Loaded(NamedTuple):
    rows: int
    seconds: float
    """Of the command, with its start."""
    bytes: int
    """On the disk."""

    @property
    def rate(self) -> float:
        return self.rows / self.seconds


def load_by_command(file: Path, store: Path) -> Loaded:
    """`sortkey load pricing FILE`, as a user runs it. The rows are those of the file."""
    sk.connect(store).close()
    began = perf_counter()
    command = [sys.executable, "-m", "sortkey", "load", "pricing", str(file), "--store", str(store)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = perf_counter() - began
    found = _LOADED.search(done.stdout.strip())
    if done.returncode != 0 or found is None:
        raise RuntimeError(f"sortkey load failed: {done.stderr.strip()[-500:]}")
    return Loaded(int((found[2] or found[1]).replace(",", "")), seconds, bytes_on_disk(store))


def bytes_on_disk(folder: Path) -> int:
    return sum(each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())


def upcoming(sizes: Sizes) -> Iterator[PriceRow]:
    """Changes that stay to come while everything is measured."""
    at = datetime.now(UTC) + timedelta(days=30)
    for store in range(min(UPCOMING_STORES, sizes.few_stores)):
        for product in range(min(UPCOMING, sizes.products)):
            yield PriceRow(store_of(store), product_of(product), "77.77", at + timedelta(minutes=product))


async def schedule(store: Path, changes: Iterator[PriceRow]) -> None:
    async with sk.async_connect(store, tables=[PRICES, CHANGES]) as session:
        await PricingService(session).change_prices(
            [
                ChangeInput(
                    store=each.store,
                    product=each.product,
                    channel=UPCOMING_CHANNEL,
                    amount=each.amount,
                    effective_at=each.effective,
                )
                for each in changes
            ]
        )


class Questions:
    """Random stores and products, the same for all that are compared."""

    def __init__(self, sizes: Sizes, stores: int, seed: int = 7) -> None:
        self._draw = Random(seed)
        self._sizes = sizes
        self._stores = stores

    def store(self) -> str:
        return store_of(self._draw.randrange(self._stores))

    def product(self) -> str:
        return product_of(self._draw.randrange(self._sizes.products))

    def store_with_changes(self) -> str:
        return store_of(self._draw.randrange(min(UPCOMING_STORES, self._sizes.few_stores)))

    @property
    def deep_store(self) -> str:
        """The store after which a deep page begins: the last page of a product."""
        return store_of(max(0, self._stores - 65))
