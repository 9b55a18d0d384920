"""Demonstration data, the same on every run: 40 stores with 500 products each, and combos with options in each store.

`PriceManagers` are what happens afterwards: every few seconds one of them schedules a change of some prices, which
takes effect a minute or two later, by itself. The swap prices of the last store are stored last: if the last one is
there, all data is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from sortkey_services.pricing.model import PriceRow, loaded_price
from sortkey_services.pricing.prices import ALL_CHANNELS, ChangeInput, PriceKey, PriceKind, micros_of

SEED: Final = 8_000
STORES: Final = tuple(str(12345 + number) for number in range(40))
PRODUCTS: Final = tuple(f"P{number:03}" for number in range(1, 501))
OPTIONS: Final = tuple(f"{combo}#{option}" for combo in ("LUNCH", "DINNER") for option in ("FRIES", "SALAD", "SOUP"))
SINCE: Final = datetime(2025, 1, 1, tzinfo=UTC)
MOST_CHANGES: Final = 8
LEAST_AHEAD: Final = timedelta(seconds=60)


def prices() -> Iterator[PriceRow]:
    """All prices: a product costs about the same in all stores."""
    draw = Random(SEED)
    usual = {product: draw.randrange(150, 2_500) for product in PRODUCTS}
    since = micros_of(SINCE)
    for store in STORES:
        for product in PRODUCTS:
            cents = usual[product] * draw.randrange(95, 106) // 100
            yield loaded_price(PriceKey(store, ALL_CHANNELS, PriceKind.BASE, product), cents, since)
        for number, option in enumerate(OPTIONS):
            yield loaded_price(PriceKey(store, ALL_CHANNELS, PriceKind.SWAP, option), 50 * number, since)


COUNT: Final = len(STORES) * (len(PRODUCTS) + len(OPTIONS))
LAST: Final = PriceKey(STORES[-1], ALL_CHANNELS, PriceKind.SWAP, OPTIONS[-1])


class PriceManagers:
    """Random changes: half of them in the first store, so that somebody who watches it sees them."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw

    def next(self, now: datetime) -> list[ChangeInput]:
        """Of one store, all at the next whole minute that is at least a minute away."""
        draw = self._draw
        store = STORES[0] if draw.random() < 0.5 else draw.choice(STORES)
        at = (now + LEAST_AHEAD).replace(second=0, microsecond=0) + timedelta(minutes=1)
        products = draw.sample(PRODUCTS, draw.randint(1, MOST_CHANGES))
        return [
            ChangeInput(store=store, product=product, amount=f"{draw.randrange(150, 2_500) / 100:.2f}", effective_at=at)
            for product in products
        ]
