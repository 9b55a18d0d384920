"""Pricing as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import sortkey as sk
from sortkey_services.pricing import demo
from sortkey_services.pricing.load.command import PricesLoad
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.service import PricingService, read_settings


def _tables(_: Mapping[str, Any]) -> Sequence[sk.Table]:
    return PRICES, CHANGES


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> PricingService:
    graphql, others = sk.graphql.read_graphql_settings("pricing", settings)
    return PricingService(session, read_settings(others), graphql=graphql)


def _page(draw: Random) -> str:
    return f"GET /pricing/stores/{draw.choice(demo.STORES)}/prices?first=64"


def _price(draw: Random) -> str:
    return f"GET /pricing/stores/{draw.choice(demo.STORES)}/products/{draw.choice(demo.PRODUCTS)}"


def _product(draw: Random) -> str:
    return f"GET /pricing/products/{draw.choice(demo.PRODUCTS)}/prices?first=64"


def _history(draw: Random) -> str:
    return f"GET /pricing/stores/{draw.choice(demo.STORES)}/products/{draw.choice(demo.PRODUCTS)}/history"


def _change(draw: Random) -> tuple[str, object]:
    amount = f"{draw.randrange(150, 2_500) / 100:.2f}"
    change = {"store": draw.choice(demo.STORES), "product": draw.choice(demo.PRODUCTS), "amount": amount}
    return "POST /pricing/changes", change


PRICING: Final = sk.services.ServiceDefinition(
    name="pricing",
    summary="what a store's products cost, have cost and will cost; GraphQL",
    tables=_tables,
    make=_make,
    has_feeds=True,
    load=PricesLoad(),
    usual_requests=[
        sk.services.UsualRequest("a page of a store's prices", 60, _page),
        sk.services.UsualRequest("one price", 33, _price),
        sk.services.UsualRequest("a product in all stores", 4, _product),
        sk.services.UsualRequest("a price's history", 1, _history),
        sk.services.UsualRequest("change a price", 2, _change),
    ],
)
