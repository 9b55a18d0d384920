"""The GraphQL endpoint of a pricing service."""

from __future__ import annotations

from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.graphql.endpoint import GraphQLEndpoint, PageSizes, graphql_routes
from sortkey_services.pricing.graphql.schema import SCHEMA
from sortkey_services.pricing.page_request import DEFAULT_ITEMS, MAX_ITEMS
from sortkey_services.pricing.service import Pricing


def pricing_graphql_routes(pricing: Pricing, settings: sk.graphql.GraphQLSettings) -> list[ControllerRouterHandler]:
    sizes = PageSizes(DEFAULT_ITEMS, MAX_ITEMS)
    return graphql_routes(GraphQLEndpoint(SCHEMA._schema, pricing, sizes, settings))
