"""The routes of REST. Those that only read are fast: a page should cost what its prices cost."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Final

from litestar import delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.services.pages import PageAnswer
from sortkey_services.pricing.answers import (
    ChangeAnswer,
    ChangesAnswer,
    PriceAnswer,
    RecordAnswer,
    change_answer,
    connection_answer,
    price_answer,
    record_answer,
)
from sortkey_services.pricing.checks import MAX_CHANGES, Mistake, instant_from
from sortkey_services.pricing.page_request import DEFAULT_ITEMS, MAX_ITEMS, page_request
from sortkey_services.pricing.product_kind import kind_of
from sortkey_services.pricing.service import Pricing
from sortkey_services.pricing.types import ALL_CHANNELS

_SIZE: Final = f"{DEFAULT_ITEMS} by default, {MAX_ITEMS:,} at most"

Channel = Annotated[str, QueryParameter(description="The channel of sales")]
At = Annotated[str | None, QueryParameter(description="The instant asked about, with an offset; now by default")]
First = Annotated[int | None, QueryParameter(description=f"The first items; {_SIZE}")]
After = Annotated[str | None, QueryParameter(description="after this cursor")]
Last = Annotated[int | None, QueryParameter(description="The last items")]
Before = Annotated[str | None, QueryParameter(description="before this cursor")]
Begin = Annotated[str | None, QueryParameter(name="from", description="From this instant on; now by default")]
End = Annotated[str | None, QueryParameter(name="to", description="Before this instant")]
RequestedBy = Annotated[str | None, QueryParameter(name="requestedBy", description="Who asks, for the history")]

_SPACED_OFFSET: Final = re.compile(r" (\d\d:?\d\d)$")


def routes(pricing: Pricing) -> list[ControllerRouterHandler]:
    return [*_prices(pricing), *_changes(pricing), *_writes(pricing)]


def _prices(pricing: Pricing) -> list[ControllerRouterHandler]:
    @get("/pricing/stores/{store:str}/prices", opt={"fast": True}, summary="A store's base prices, by product")
    async def of_store(
        store: FromPath[str],
        channel: Channel = ALL_CHANNELS,
        at: At = None,
        first: First = None,
        after: After = None,
        last: Last = None,
        before: Before = None,
    ) -> PageAnswer[PriceAnswer]:
        page = page_request(first, after, last, before)
        return connection_answer(await pricing.base_prices(store, page, channel, instant("at", at)), price_answer)

    @get("/pricing/products/{product:str}/prices", opt={"fast": True}, summary="A product's prices, by store")
    async def of_product(
        product: FromPath[str],
        channel: Channel = ALL_CHANNELS,
        at: At = None,
        first: First = None,
        after: After = None,
        last: Last = None,
        before: Before = None,
    ) -> PageAnswer[PriceAnswer]:
        page = page_request(first, after, last, before)
        return connection_answer(await pricing.product_prices(product, page, channel, instant("at", at)), price_answer)

    @get("/pricing/stores/{store:str}/swaps/{combo:str}", opt={"fast": True}, summary="What a combo's options cost")
    async def of_combo(
        store: FromPath[str],
        combo: FromPath[str],
        channel: Channel = ALL_CHANNELS,
        at: At = None,
        first: First = None,
        after: After = None,
        last: Last = None,
        before: Before = None,
    ) -> PageAnswer[PriceAnswer]:
        page = page_request(first, after, last, before)
        found = await pricing.swap_prices(store, combo, page, channel, instant("at", at))
        return connection_answer(found, price_answer)

    @get("/pricing/stores/{store:str}/products/{product:str}", opt={"fast": True}, summary="What a product costs")
    async def price(
        store: FromPath[str], product: FromPath[str], channel: Channel = ALL_CHANNELS, at: At = None
    ) -> PriceAnswer:
        """A product with a `#` is a SWAP: `COMBO#OPTION`, written `COMBO%23OPTION`."""
        found = await pricing.price(store, product, channel, instant("at", at), kind_of(product))
        if found is None:
            raise sk.services.NotFound(
                f"{product!r} has no price in the store {store!r} and the channel {channel!r} then"
            )
        return price_answer(found)

    return [of_store, of_product, of_combo, price]


def _changes(pricing: Pricing) -> list[ControllerRouterHandler]:
    @get("/pricing/stores/{store:str}/changes", opt={"fast": True}, summary="A store's changes, by time")
    async def changes(
        store: FromPath[str],
        channel: Channel = ALL_CHANNELS,
        begin: Begin = None,
        end: End = None,
        first: First = None,
        after: After = None,
        last: Last = None,
        before: Before = None,
    ) -> PageAnswer[ChangeAnswer]:
        page = page_request(first, after, last, before)
        found = await pricing.price_changes(store, page, channel, instant("from", begin), instant("to", end))
        return connection_answer(found, change_answer)

    @get(
        "/pricing/stores/{store:str}/products/{product:str}/history",
        opt={"fast": True},
        summary="What a product has cost, by time",
    )
    async def history(
        store: FromPath[str],
        product: FromPath[str],
        channel: Channel = ALL_CHANNELS,
        first: First = None,
        after: After = None,
        last: Last = None,
        before: Before = None,
    ) -> PageAnswer[RecordAnswer]:
        page = page_request(first, after, last, before)
        found = await pricing.price_history(store, product, page, channel, kind_of(product))
        return connection_answer(found, record_answer)

    return [changes, history]


def _writes(pricing: Pricing) -> list[ControllerRouterHandler]:
    @post("/pricing/changes", status_code=202, opt={"fast": True}, summary="Change prices, now or at an instant")
    async def change(data: JSONBody[dict[str, Any] | list[Any]], requested_by: RequestedBy = None) -> ChangesAnswer:
        """One change or a list; all of them are made, or none. A change has `store`, `product` and `amount`; and also
        `channel`, `kind` (BASE, SWAP), `action` (SET, DELETE), `currency`, `effectiveAt`, unless these are the
        default."""
        given = data if isinstance(data, list) else [data]
        if len(given) > MAX_CHANGES:
            raise sk.services.BadRequest(f"a request has 1 to {MAX_CHANGES:,} changes, not {len(given):,}")
        return ChangesAnswer([made.id for made in await pricing.change_prices(given, requested_by)])

    @delete("/pricing/changes/{id:str}", status_code=200, opt={"fast": True}, summary="Cancel a change")
    async def cancel(id: FromPath[str], requested_by: RequestedBy = None) -> ChangeAnswer:  # noqa: A002
        """One that has taken effect is answered with 409."""
        return change_answer(await pricing.cancel(id, requested_by))

    return [change, cancel]


def instant(name: str, text: str | None) -> datetime | None:
    """Raises BadRequest. A `+` that was not percent-encoded arrives as a space."""
    if text is None:
        return None
    try:
        return instant_from(name, _SPACED_OFFSET.sub(r"+\1", text))
    except Mistake as error:
        raise sk.services.BadRequest(str(error)) from None
