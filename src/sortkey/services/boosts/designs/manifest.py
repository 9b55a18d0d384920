"""The expansion manifest, the path not taken: what runs everywhere is written wherever the partner delivers.

A lookup then reads the rows of its district alone. The price is a write for each delivery area, and answers that are
as old as the knowledge of where partners deliver: a campaign reaches an area that was added later with its next event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import sortkey as sk
from sortkey.services.boosts.designs.v2 import V2
from sortkey.services.boosts.event import EVERYWHERE
from sortkey.services.boosts.model import PartnerRow
from sortkey.services.boosts.tenants import Market

MANIFEST: Final = sk.Table("boosts_manifest", ttl="expires")
DELIVERY: Final = sk.Table("boosts_delivery")


class ManifestRow(PartnerRow, table=MANIFEST):
    """A partner in an area that it delivers to; the home rows of `*` are not read by lookups."""


class Delivery(sk.Item, table=DELIVERY):
    """Where a partner delivers."""

    tenant: str
    partner: str
    areas: list[str]

    key = sk.Key("{tenant}#{partner}")


class Manifest(V2):
    rows = ManifestRow
    tables = (ManifestRow, Delivery)

    async def spread(self, market: Market, partner: str, areas: Iterable[str], /) -> set[str]:
        named = set(areas)
        if EVERYWHERE not in named:
            return named
        known = await self._session.get(Delivery.key(tenant=market.tenant, partner=partner))
        return set() if known is None else set(known.areas)

    def areas_read(self, _market: Market, district: str | None, /) -> tuple[str, ...]:
        return () if district is None else (district,)

    async def deliver(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        await self._session.batch(
            put=(
                Delivery(tenant=market.tenant, partner=partner, areas=sorted(there)) for partner, there in areas.items()
            )
        )
