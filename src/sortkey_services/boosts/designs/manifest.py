"""The manifest design, kept for comparison: a campaign that runs everywhere is written to every delivery area.

A lookup then reads only the rows of its district. The cost is one write for each delivery area, and stale answers: when
a partner adds a delivery area, a campaign reaches it with the campaign's next event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import sortkey as sk
from sortkey_services.boosts.designs.v2 import V2
from sortkey_services.boosts.event import EVERYWHERE
from sortkey_services.boosts.model import PartnerRow
from sortkey_services.boosts.tenants import Market

MANIFEST: Final = sk.Table("boosts_manifest", ttl="expires")
DELIVERY: Final = sk.Table("boosts_delivery")


class ManifestRow(PartnerRow, table=MANIFEST):
    """A partner in one of its delivery areas. Lookups do not read the main rows."""


class Delivery(sk.Item, table=DELIVERY):
    """The delivery areas of a partner."""

    tenant: str
    partner: str
    areas: list[str]

    key = sk.Key("{tenant}#{partner}")


class Manifest(V2):
    rows = ManifestRow
    tables = (ManifestRow, Delivery)

    async def areas_written(self, market: Market, partner: str, areas: Iterable[str], /) -> set[str]:
        named = set(areas)
        if EVERYWHERE not in named:
            return named
        known = await self._session.get(Delivery.key(tenant=market.tenant, partner=partner))
        return set() if known is None else set(known.areas)

    def areas_read(self, _market: Market, district: str | None, /) -> tuple[str, ...]:
        return () if district is None else (district,)

    async def set_delivery_areas(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        await self._session.batch(
            put=(
                Delivery(tenant=market.tenant, partner=partner, areas=sorted(there)) for partner, there in areas.items()
            )
        )
