"""The GraphQL schema: each field calls the service that the request's context is.

The types only describe: resolvers return the service's own structs, which have these names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal as PythonDecimal
from typing import Annotated, Any, Final, TypeVar

import strawberry
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.graphql.endpoint import GraphQLEndpoint, PageSizes, graphql_routes
from sortkey.graphql.schema import CALLS, CONFIG, Connection, DateTime, Decimal, resolved_as
from sortkey_services.filled_page import FilledPage
from sortkey_services.pricing import prices
from sortkey_services.pricing.prices import kind_of
from sortkey_services.pricing.reads import DEFAULT_ITEMS, MAX_ITEMS, page_request
from sortkey_services.pricing.service import PricingService

T = TypeVar("T")

Info = strawberry.Info[PricingService, None]
Channel = str | None
Size = int | None
Cursor = str | None
At = DateTime | None

PriceKind: Final = strawberry.enum(prices.PriceKind, description="A SWAP's product is `COMBO#OPTION`.")
PriceAction: Final = strawberry.enum(prices.PriceAction)
ChangeStatus: Final = strawberry.enum(prices.ChangeStatus)


@strawberry.type(description="What a product costs in a store.")
class Price:
    store: strawberry.ID
    product: strawberry.ID
    channel: str
    kind: prices.PriceKind
    amount: Decimal
    currency: str
    effective_from: DateTime


@strawberry.type(description="A change of a price, at its instant.")
class PriceChange:
    id: strawberry.ID
    store: strawberry.ID
    product: strawberry.ID
    channel: str
    kind: prices.PriceKind
    action: prices.PriceAction
    amount: Decimal | None
    effective_at: DateTime
    status: prices.ChangeStatus


@strawberry.type(description="A change that has taken effect, and who asked for it.")
class PriceRecord:
    store: strawberry.ID
    product: strawberry.ID
    channel: str
    kind: prices.PriceKind
    action: prices.PriceAction
    amount: Decimal | None
    previous_amount: Decimal | None
    effective_at: DateTime
    requested_by: str | None
    recorded_at: DateTime


@strawberry.type
class ChangePricesPayload:
    ids: list[strawberry.ID]
    changes: list[PriceChange]


@strawberry.input(description="A change to make; without effectiveAt, it is in force when it is answered.")
class PriceChangeInput:
    store: strawberry.ID
    product: strawberry.ID
    channel: str | None = "ALL"
    kind: prices.PriceKind | None = prices.PriceKind.BASE
    action: prices.PriceAction | None = prices.PriceAction.SET
    amount: Decimal | None = strawberry.UNSET
    currency: str | None = strawberry.UNSET
    effective_at: DateTime | None = strawberry.UNSET


@strawberry.type
class Query:
    @resolved_as(Price | None, description="The price in force; null if there is none.")
    async def price(
        self,
        info: Info,
        store: strawberry.ID,
        product: strawberry.ID,
        channel: Channel = prices.ALL_CHANNELS,
        at: At = strawberry.UNSET,
    ) -> prices.Price[PythonDecimal] | None:
        return await info.context.price(store, product, _channel(channel), given(at), kind_of(product))

    @resolved_as(Connection[Price], description="A store's base prices, by product.")
    async def base_prices(
        self,
        info: Info,
        store: strawberry.ID,
        channel: Channel = prices.ALL_CHANNELS,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
        at: At = strawberry.UNSET,
    ) -> FilledPage[prices.Price[PythonDecimal]]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.base_prices(store, page, _channel(channel), given(at))

    @resolved_as(Connection[Price], description="What a product costs everywhere, by store.")
    async def product_prices(
        self,
        info: Info,
        product: strawberry.ID,
        channel: Channel = prices.ALL_CHANNELS,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
        at: At = strawberry.UNSET,
    ) -> FilledPage[prices.Price[PythonDecimal]]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.product_prices(product, page, _channel(channel), given(at))

    @resolved_as(Connection[Price], description="What the options of a combo cost, by option.")
    async def swap_prices(
        self,
        info: Info,
        store: strawberry.ID,
        combo: strawberry.ID,
        channel: Channel = prices.ALL_CHANNELS,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
        at: At = strawberry.UNSET,
    ) -> FilledPage[prices.Price[PythonDecimal]]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.swap_prices(store, combo, page, _channel(channel), given(at))

    @resolved_as(Connection[PriceChange], description="A store's changes, by time; from now on by default.")
    async def price_changes(
        self,
        info: Info,
        store: strawberry.ID,
        channel: Channel = prices.ALL_CHANNELS,
        begin: Annotated[At, strawberry.argument(name="from")] = strawberry.UNSET,
        end: Annotated[At, strawberry.argument(name="to")] = strawberry.UNSET,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
    ) -> FilledPage[prices.PriceChange[PythonDecimal]]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.price_changes(store, page, _channel(channel), given(begin), given(end))

    @resolved_as(Connection[PriceRecord], description="What a product has cost in a store, by time.")
    async def price_history(
        self,
        info: Info,
        store: strawberry.ID,
        product: strawberry.ID,
        channel: Channel = prices.ALL_CHANNELS,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
    ) -> FilledPage[prices.PriceRecord[PythonDecimal]]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.price_history(store, product, page, _channel(channel), kind_of(product))


class Changed:
    """The answer to `changePrices`."""

    def __init__(self, changes: Sequence[prices.PriceChange[PythonDecimal]]) -> None:
        self.changes = changes

    @property
    def ids(self) -> list[str]:
        return [change.id for change in self.changes]


async def _change_prices(pricing: PricingService, arguments: Mapping[str, Any]) -> Changed:
    return Changed(await pricing.change_prices(arguments["changes"], arguments.get("requestedBy")))


@strawberry.type
class Mutation:
    @resolved_as(
        ChangePricesPayload, metadata={CALLS: _change_prices}, description="All of the changes are made, or none."
    )
    async def change_prices(
        self, info: Info, changes: list[PriceChangeInput], requested_by: str | None = strawberry.UNSET
    ) -> Changed:
        return Changed(await info.context.change_prices([_input(each) for each in changes], given(requested_by)))

    @resolved_as(PriceChange, description="A change that has not taken effect yet never will.")
    async def cancel_price_change(
        self,
        info: Info,
        change: Annotated[strawberry.ID, strawberry.argument(name="id")],
        requested_by: str | None = strawberry.UNSET,
    ) -> prices.PriceChange[PythonDecimal]:
        return await info.context.cancel(change, given(requested_by))


SCHEMA: Final = strawberry.Schema(Query, Mutation, config=CONFIG)


def pricing_graphql_routes(
    pricing: PricingService, settings: sk.graphql.GraphQLSettings
) -> list[ControllerRouterHandler]:
    sizes = PageSizes(DEFAULT_ITEMS, MAX_ITEMS)
    return graphql_routes(GraphQLEndpoint(SCHEMA._schema, pricing, sizes, settings))


def given(value: T | None) -> T | None:
    """The argument; None if it was left out."""
    return None if value is strawberry.UNSET else value


def _channel(channel: str | None) -> str:
    return prices.ALL_CHANNELS if channel is None else channel


def _input(change: PriceChangeInput) -> prices.ChangeInput:
    return prices.ChangeInput(
        change.store,
        change.product,
        _channel(change.channel),
        change.kind or prices.PriceKind.BASE,
        change.action or prices.PriceAction.SET,
        given(change.amount),
        given(change.currency),
        given(change.effective_at),
    )
