"""The schema: each field calls the service that the request's context is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import strawberry

from sortkey.graphql.schema import CALLS, CONFIG, Connection, DateTime, resolved_as
from sortkey_services.pricing import types
from sortkey_services.pricing.graphql.types import (
    ChangePricesPayload,
    Price,
    PriceChange,
    PriceChangeInput,
    PriceRecord,
)
from sortkey_services.pricing.page_request import page_request
from sortkey_services.pricing.product_kind import kind_of
from sortkey_services.pricing.service import Pricing

T = TypeVar("T")

Info = strawberry.Info[Pricing, None]
Channel = str | None
Size = int | None
Cursor = str | None
At = DateTime | None


@strawberry.type
class Query:
    @resolved_as(Price | None, description="The price in force; null if there is none.")
    async def price(
        self,
        info: Info,
        store: strawberry.ID,
        product: strawberry.ID,
        channel: Channel = types.ALL_CHANNELS,
        at: At = strawberry.UNSET,
    ) -> types.Price | None:
        return await info.context.price(store, product, _channel(channel), given(at), kind_of(product))

    @resolved_as(Connection[Price], description="A store's base prices, by product.")
    async def base_prices(
        self,
        info: Info,
        store: strawberry.ID,
        channel: Channel = types.ALL_CHANNELS,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
        at: At = strawberry.UNSET,
    ) -> types.Connection[types.Price]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.base_prices(store, page, _channel(channel), given(at))

    @resolved_as(Connection[Price], description="What a product costs everywhere, by store.")
    async def product_prices(
        self,
        info: Info,
        product: strawberry.ID,
        channel: Channel = types.ALL_CHANNELS,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
        at: At = strawberry.UNSET,
    ) -> types.Connection[types.Price]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.product_prices(product, page, _channel(channel), given(at))

    @resolved_as(Connection[Price], description="What the options of a combo cost, by option.")
    async def swap_prices(
        self,
        info: Info,
        store: strawberry.ID,
        combo: strawberry.ID,
        channel: Channel = types.ALL_CHANNELS,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
        at: At = strawberry.UNSET,
    ) -> types.Connection[types.Price]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.swap_prices(store, combo, page, _channel(channel), given(at))

    @resolved_as(Connection[PriceChange], description="A store's changes, by time; from now on by default.")
    async def price_changes(
        self,
        info: Info,
        store: strawberry.ID,
        channel: Channel = types.ALL_CHANNELS,
        begin: Annotated[At, strawberry.argument(name="from")] = strawberry.UNSET,
        end: Annotated[At, strawberry.argument(name="to")] = strawberry.UNSET,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
    ) -> types.Connection[types.PriceChange]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.price_changes(store, page, _channel(channel), given(begin), given(end))

    @resolved_as(Connection[PriceRecord], description="What a product has cost in a store, by time.")
    async def price_history(
        self,
        info: Info,
        store: strawberry.ID,
        product: strawberry.ID,
        channel: Channel = types.ALL_CHANNELS,
        first: Size = strawberry.UNSET,
        after: Cursor = strawberry.UNSET,
        last: Size = strawberry.UNSET,
        before: Cursor = strawberry.UNSET,
    ) -> types.Connection[types.PriceRecord]:
        page = page_request(given(first), given(after), given(last), given(before))
        return await info.context.price_history(store, product, page, _channel(channel), kind_of(product))


class Changed:
    """The answer to `changePrices`."""

    def __init__(self, changes: Sequence[types.PriceChange]) -> None:
        self.changes = changes

    @property
    def ids(self) -> list[str]:
        return [change.id for change in self.changes]


async def _change_prices(pricing: Pricing, arguments: Mapping[str, Any]) -> Changed:
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
    ) -> types.PriceChange:
        return await info.context.cancel(change, given(requested_by))


SCHEMA: Final = strawberry.Schema(Query, Mutation, config=CONFIG)


def given(value: T | None) -> T | None:
    """The argument; None if it was left out."""
    return None if value is strawberry.UNSET else value


def _channel(channel: str | None) -> str:
    return types.ALL_CHANNELS if channel is None else channel


def _input(change: PriceChangeInput) -> types.ChangeInput:
    return types.ChangeInput(
        change.store,
        change.product,
        _channel(change.channel),
        change.kind or types.PriceKind.BASE,
        change.action or types.PriceAction.SET,
        given(change.amount),
        given(change.currency),
        given(change.effective_at),
    )
