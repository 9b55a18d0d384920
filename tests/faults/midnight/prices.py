"""The prices of a midnight: what each store has before and after, and whether a page is either of them.

Of a store's changes, most set another amount, some delete a price and some set the first one. So a page that is neither
the one before nor the one after shows a store half changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from sortkey_services.pricing.prices import Price, PriceKind

Amounts = dict[str, int]
"""Cents by product."""


class Midnight(msgspec.Struct, frozen=True):
    """All that readers need to know."""

    name: str
    """What the ids of its stores begin with."""
    stores: int
    products: int
    """Changes of each store."""
    at: float
    """Seconds since 1970."""

    def store(self, number: int) -> str:
        return f"{self.name}{number:05}"

    def before(self, store: int) -> Amounts:
        return {product_of(number): 1000 + 7 * store + number for number in range(self.products) if not is_new(number)}

    def after(self, store: int) -> Amounts:
        return {
            product_of(number): 500_000 + 7 * store + number
            for number in range(self.products)
            if not is_deleted(number)
        }

    def changes(self, effective_at: datetime) -> Iterator[dict[str, Any]]:
        """One store after the other, as JSON has them."""
        for store in range(self.stores):
            after = self.after(store)
            for number in range(self.products):
                product = product_of(number)
                change = {"store": self.store(store), "product": product, "effectiveAt": effective_at}
                if product in after:
                    yield {**change, "amount": f"{after[product] / 100:.2f}"}
                else:
                    yield {**change, "action": "DELETE"}


def product_of(number: int) -> str:
    return f"P{number:04}"


def is_deleted(number: int) -> bool:
    return number % 20 == 7


def is_new(number: int) -> bool:
    return number % 20 == 13


class Expected(NamedTuple):
    """What a read that began and ended at these instants may show."""

    before: bool
    after: bool


def expected_between(midnight: Midnight, began: float, ended: float) -> Expected:
    return Expected(began < midnight.at, ended >= midnight.at)


def is_right(midnight: Midnight, store: int, shown: Sequence[Price[Decimal]], expected: Expected) -> bool:
    found = {price.product: int(price.amount.scaleb(2)) for price in shown}
    if len(found) != len(shown) or any(price.kind is not PriceKind.BASE for price in shown):
        return False
    return (expected.before and found == midnight.before(store)) or (expected.after and found == midnight.after(store))
