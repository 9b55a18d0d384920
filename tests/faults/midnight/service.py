"""`sortkey` with the pricing service as far as its processor needs it: the timers that make due changes permanent."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import sortkey as sk
from sortkey.cli.main import main
from sortkey.services.pricing.model import CHANGES, PRICES
from sortkey.services.pricing.service import Pricing
from sortkey.services.registry import SERVICES


class TimedPricing(Pricing):
    routes: Sequence[Any] = ()


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
