"""`sortkey` with the pricing service as far as its processor needs it: the timers that make due changes permanent."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import sortkey as sk
from sortkey.cli.main import main
from sortkey.services.pricing.model import CHANGES, PRICES, ChangeRow
from sortkey.services.pricing.service import Pricing
from sortkey.services.registry import SERVICES

TRANSITIONS: Final = sk.schedule(
    "price-transitions", ChangeRow, at="effective_at", by=("store",), where={"status": "SCHEDULED"}
)


class TimedPricing(Pricing):
    routes: Sequence[Any] = ()

    @property
    def feeds(self) -> Sequence[Any]:
        return [sk.Timers(TRANSITIONS, self._on_due)]

    async def _on_due(self, due: sk.Due[ChangeRow]) -> None:
        await self.apply_due(due.group["store"], due.at)

    async def load_demo(self, progress: sk.Progress) -> None: ...

    async def run_demo(self) -> None: ...


def tables(_: Mapping[str, Any]) -> Sequence[sk.Table]:
    return PRICES, CHANGES


DEFINITION: Final = sk.ServiceDefinition(
    name="pricing",
    summary="pricing, without its routes",
    tables=tables,
    make=lambda session, _: TimedPricing(session),
    has_feeds=True,
)

if __name__ == "__main__":
    cast(dict[str, Any], SERVICES)[DEFINITION.name] = DEFINITION
    sys.exit(main())
