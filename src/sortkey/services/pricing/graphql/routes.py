"""The GraphQL endpoint of a pricing service."""

from __future__ import annotations

from litestar.types import ControllerRouterHandler

from sortkey.services.graphql.cost import PageSizes
from sortkey.services.graphql.endpoint import GraphQLEndpoint
from sortkey.services.graphql.routes import graphql_routes
from sortkey.services.graphql.settings import GraphQLSettings
from sortkey.services.pricing.graphql.schema import SCHEMA
from sortkey.services.pricing.page_request import DEFAULT_ITEMS, MAX_ITEMS
from sortkey.services.pricing.service import Pricing


def pricing_graphql_routes(pricing: Pricing, settings: GraphQLSettings) -> list[ControllerRouterHandler]:
    sizes = PageSizes(DEFAULT_ITEMS, MAX_ITEMS)
    return graphql_routes(GraphQLEndpoint(SCHEMA._schema, pricing, sizes, settings))
