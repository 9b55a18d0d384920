"""Which kind of price a product has, where a question does not say: only a SWAP's product has a `#`."""

from __future__ import annotations

from sortkey_services.pricing.types import PriceKind


def kind_of(product: str) -> PriceKind:
    return PriceKind.SWAP if "#" in product else PriceKind.BASE
