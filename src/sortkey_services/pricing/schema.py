"""The GraphQL schema: each field calls the service that the request's context has.

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
from sortkey.graphql.schema import CALLS, CONFIG, Asked, Connection, DateTime, Decimal, resolved_as
from sortkey_services.filled_page import FilledPage
from sortkey_services.pricing import demo, prices, stores
from sortkey_services.pricing.prices import kind_of
from sortkey_services.pricing.reads import DEFAULT_ITEMS, MAX_ITEMS, page_request
from sortkey_services.pricing.service import PricingService

T = TypeVar("T")

Info = strawberry.Info[Asked[PricingService], None]
Channel = str | None
Size = int | None
Cursor = str | None
At = DateTime | None

CLAIMED: Final = "Who asked, by the request's own words."
CALLER: Final = "The name of the request's token."

PriceKind: Final = strawberry.enum(prices.PriceKind, description="A SWAP's product is `COMBO#OPTION`.")
PriceAction: Final = strawberry.enum(prices.PriceAction)
ChangeStatus: Final = strawberry.enum(prices.ChangeStatus)
StepKind: Final = strawberry.enum(prices.StepKind)

OPENING: Final = f"""# The prices of a store of the demonstration, and what will change in it.
{{
  basePrices(store: "{demo.STORES[0]}", first: 5) {{
    nodes {{ product amount currency effectiveFrom }}
    pageInfo {{ hasNextPage endCursor }}
  }}
  swapPrices(store: "{demo.STORES[0]}", combo: "{demo.OPTIONS[0].partition("#")[0]}") {{
    nodes {{ product amount }}
  }}
  priceChanges(store: "{demo.STORES[0]}", channel: null, first: 5) {{
    nodes {{ product channel amount effectiveAt status requestedBy }}
  }}
}}
"""
"""What GraphiQL shows first."""


@strawberry.type(description="What a product costs in a store.")
class Price:
    store: strawberry.ID
    product: strawberry.ID
    channel: str
    kind: prices.PriceKind
    amount: Decimal
    currency: str
    effective_from: DateTime


@strawberry.type(description="What was done with a change before it took effect.")
class ChangeStep:
    step: prices.StepKind
    effective_at: DateTime | None
    previous_effective_at: DateTime
    requested_by: str | None = strawberry.field(description=CLAIMED)
    caller: str | None = strawberry.field(description=CALLER)
    recorded_at: DateTime | None


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
    requested_by: str | None = strawberry.field(description=CLAIMED)
    caller: str | None = strawberry.field(description=CALLER)
    recorded_at: DateTime
    history: list[ChangeStep] = strawberry.field(description="How it was moved or cancelled, in order of time.")


@strawberry.type(description="A change that has taken effect, and who asked for it.")
class PriceRecord:
    id: strawberry.ID | None = strawberry.field(description="Of the change; null for a loaded price.")
    store: strawberry.ID
    product: strawberry.ID
    channel: str
    kind: prices.PriceKind
    action: prices.PriceAction
    amount: Decimal | None
    previous_amount: Decimal | None
    effective_at: DateTime
    requested_by: str | None = strawberry.field(description=CLAIMED)
    caller: str | None = strawberry.field(description=CALLER)
    recorded_at: DateTime


@strawberry.type(description="A store's time zone, in which its local times are.")
class Store:
    store: strawberry.ID
    time_zone: str | None
    is_default: bool = strawberry.field(description="Whether the time zone is that of the service's settings.")


@strawberry.type
class ChangePricesPayload:
    ids: list[strawberry.ID]
    changes: list[PriceChange]


@strawberry.input(
    description="A change to make; without effectiveAt, it is in force when it is answered. An effectiveAt without an "
    "offset is local to the store."
)
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
        return await info.context.service.price(store, product, _channel(channel), given(at), kind_of(product))

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
        return await info.context.service.base_prices(store, page, _channel(channel), given(at))

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
        return await info.context.service.product_prices(product, page, _channel(channel), given(at))

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
        return await info.context.service.swap_prices(store, combo, page, _channel(channel), given(at))

    @resolved_as(
        Connection[PriceChange],
        description="A store's changes, by time; from now on by default. With channel null, those of all channels.",
    )
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
        return await info.context.service.price_changes(store, page, channel, given(begin), given(end))

    @resolved_as(PriceChange | None, description="One change, also if it is cancelled; null if there is none.")
    async def price_change(
        self, info: Info, change: Annotated[strawberry.ID, strawberry.argument(name="id")]
    ) -> prices.PriceChange[PythonDecimal] | None:
        try:
            return await info.context.service.price_change(change)
        except sk.services.NotFound:
            return None

    @resolved_as(Store, description="A store's time zone.")
    async def store(self, info: Info, store: strawberry.ID) -> stores.Store:
        return await info.context.service.stores.store(store)

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
        return await info.context.service.price_history(store, product, page, _channel(channel), kind_of(product))


class Changed:
    """The answer to `changePrices`."""

    def __init__(self, changes: Sequence[prices.PriceChange[PythonDecimal]]) -> None:
        self.changes = changes

    @property
    def ids(self) -> list[str]:
        return [change.id for change in self.changes]


async def _change_prices(asked: Asked[PricingService], arguments: Mapping[str, Any]) -> Changed:
    changes, by = arguments["changes"], arguments.get("requestedBy")
    return Changed(await asked.service.change_prices(changes, by, asked.caller.name))


@strawberry.type
class Mutation:
    @resolved_as(
        ChangePricesPayload, metadata={CALLS: _change_prices}, description="All of the changes are made, or none."
    )
    async def change_prices(
        self, info: Info, changes: list[PriceChangeInput], requested_by: str | None = strawberry.UNSET
    ) -> Changed:
        made = [_input(each) for each in changes]
        return Changed(await info.context.service.change_prices(made, given(requested_by), info.context.caller.name))

    @resolved_as(PriceChange, description="A change that has not taken effect yet never will.")
    async def cancel_price_change(
        self,
        info: Info,
        change: Annotated[strawberry.ID, strawberry.argument(name="id")],
        requested_by: str | None = strawberry.UNSET,
    ) -> prices.PriceChange[PythonDecimal]:
        return await info.context.service.cancel(change, given(requested_by), info.context.caller.name)

    @resolved_as(PriceChange, description="Moves a change that has not taken effect yet. It keeps its id.")
    async def reschedule_price_change(
        self,
        info: Info,
        change: Annotated[strawberry.ID, strawberry.argument(name="id")],
        effective_at: DateTime,
        requested_by: str | None = strawberry.UNSET,
    ) -> prices.PriceChange[PythonDecimal]:
        by, caller = given(requested_by), info.context.caller.name
        return await info.context.service.reschedule(change, effective_at, by, caller)

    @resolved_as(Store, description="Sets a store's time zone; null: that of the service's settings.")
    async def set_time_zone(
        self, info: Info, store: strawberry.ID, time_zone: str | None = strawberry.UNSET
    ) -> stores.Store:
        return await info.context.service.stores.set_time_zone(store, given(time_zone))


SCHEMA: Final = strawberry.Schema(Query, Mutation, config=CONFIG)


def pricing_graphql_routes(
    pricing: PricingService, settings: sk.graphql.GraphQLSettings
) -> list[ControllerRouterHandler]:
    sizes = PageSizes(DEFAULT_ITEMS, MAX_ITEMS)
    return graphql_routes(GraphQLEndpoint(SCHEMA._schema, pricing, sizes, settings, opening=OPENING))


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
