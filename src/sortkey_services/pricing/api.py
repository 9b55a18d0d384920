"""The service with its routes: REST, and GraphQL where Strawberry is installed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any, Final

from litestar import get, post
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey_services.pricing import routes
from sortkey_services.pricing.service import Pricing
from sortkey_services.pricing.settings import DEFAULTS, Settings

GRAPHQL_DEFAULTS: Final = sk.graphql.GraphQLSettings()
_PACKAGES: Final = ("graphql", "strawberry")


class PricingService(Pricing):
    def __init__(
        self,
        session: sk.AsyncSession,
        settings: Settings = DEFAULTS,
        now: Callable[[], float] = time.time,
        graphql: sk.graphql.GraphQLSettings = GRAPHQL_DEFAULTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(session, settings, now, sleep)
        self._graphql = graphql

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        return [*routes.routes(self), *_graphql_routes(self, self._graphql)]


def _graphql_routes(pricing: Pricing, settings: sk.graphql.GraphQLSettings) -> list[ControllerRouterHandler]:
    try:
        module: Any = import_module("sortkey_services.pricing.graphql.routes")
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        return _without_graphql()
    made: list[ControllerRouterHandler] = module.pricing_graphql_routes(pricing, settings)
    return made


def _without_graphql() -> list[ControllerRouterHandler]:
    missing = sk.services.NotFound(
        "GraphQL needs Strawberry, which is not installed; run: pip install 'sortkey[graphql]'"
    )

    @get("/graphql", scope="open", include_in_schema=False)
    async def no_graphiql() -> None:
        raise missing

    @post("/graphql", scope="read", include_in_schema=False)
    async def no_graphql() -> None:
        raise missing

    return [no_graphiql, no_graphql]
