"""Pricing as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sortkey as sk
from sortkey_services.pricing.load.command import PricesLoad
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.service import PricingService, read_settings


def _tables(_: Mapping[str, Any]) -> Sequence[sk.Table]:
    return PRICES, CHANGES


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> PricingService:
    graphql, others = sk.graphql.read_graphql_settings("pricing", settings)
    return PricingService(session, read_settings(others), graphql=graphql)


PRICING: Final = sk.services.ServiceDefinition(
    name="pricing",
    summary="what a store's products cost, have cost and will cost; GraphQL",
    tables=_tables,
    make=_make,
    has_feeds=True,
    load=PricesLoad(),
)
