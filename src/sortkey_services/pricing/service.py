"""The pricing service, called by GraphQL, REST and programs: what is, was and will be in force, and changes of it.

    [pricing]
    currency = "EUR"
    time_zone = "Europe/Berlin"        # of stores without one of their own; none by default
    kafka = "localhost:9092"           # events of changes that took effect; none without it
    topic = "price-changes"
    legacy_topic = "price-updated"     # one event for each store and instant
                                       # further targets: sk.services.EventSettings

The currency must not change while there are prices: amounts are stored without it.

The routes of REST are those of the methods, with amounts as numbers. Those that only read are fast: a page should cost
what its prices cost. GraphQL is in `schema.py`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from itertools import islice
from random import Random
from typing import Annotated, Any, Final, ParamSpec, TypeVar

import msgspec
from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler
from msgspec.structs import replace

import sortkey as sk
from sortkey.clock import Clock, SystemClock
from sortkey.services.pages import PageAnswer, PageArguments
from sortkey_services.filled_page import FilledPage
from sortkey_services.pricing import demo
from sortkey_services.pricing.batches import LONGEST_WAIT, Batches
from sortkey_services.pricing.change_writes import ChangeWrites
from sortkey_services.pricing.checks import (
    MAX_CHANGES,
    ChangeChecks,
    Mistake,
    check_channel,
    check_id,
    check_product,
    check_requester,
    check_time_zone,
    effective_at,
    instant_from,
    is_currency,
    local_time,
)
from sortkey_services.pricing.events import event_feeds
from sortkey_services.pricing.model import CHANGES, PRICES, TRANSITIONS, ChangeRow, PriceRow, price_path
from sortkey_services.pricing.prices import (
    ALL_CHANNELS,
    SECOND,
    ChangeInput,
    Price,
    PriceChange,
    PriceKey,
    PriceKind,
    PriceRecord,
    Requester,
    kind_of,
    micros_at,
    micros_of,
)
from sortkey_services.pricing.reads import (
    DEFAULT_ITEMS,
    MAX_ITEMS,
    ChangeReads,
    PriceRead,
    change_id,
    found_change,
    page_request,
    shown_change,
    shown_page,
)
from sortkey_services.pricing.stores import Stores, store_routes
from sortkey_services.pricing.transition import Transition

DEMO_ROWS_AT_ONCE: Final = 500
DEMO_SECONDS: Final = 20.0
"""Between two changes of the demonstration."""

GRAPHQL_DEFAULTS: Final = sk.graphql.GraphQLSettings()
_PACKAGES: Final = ("graphql", "strawberry")
_SIZE: Final = f"{DEFAULT_ITEMS} by default, {MAX_ITEMS:,} at most"
_SPACED_OFFSET: Final = re.compile(r" (\d\d:?\d\d)$")

Channel = Annotated[str, QueryParameter(description="The channel of sales")]
AnyChannel = Annotated[str | None, QueryParameter(name="channel", description="The channel of sales; all by default")]
At = Annotated[str | None, QueryParameter(description="The instant asked about, with an offset; now by default")]
First = Annotated[int | None, QueryParameter(description=f"The first items; {_SIZE}")]
After = Annotated[str | None, QueryParameter(description="after this cursor")]
Last = Annotated[int | None, QueryParameter(description="The last items")]
Before = Annotated[str | None, QueryParameter(description="before this cursor")]
Begin = Annotated[str | None, QueryParameter(name="from", description="From this instant on; now by default")]
End = Annotated[str | None, QueryParameter(name="to", description="Before this instant")]
RequestedBy = Annotated[str | None, QueryParameter(name="requestedBy", description="Who asks, for the history")]

_logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


class Settings(sk.services.EventSettings, frozen=True, forbid_unknown_fields=True):
    currency: str = "EUR"
    time_zone: str | None = None
    topic: str = "price-changes"
    legacy_topic: str = "price-updated"


DEFAULTS: Final = Settings()


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Raises BadSettings."""
    try:
        settings = msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"pricing: {error}") from None
    if not is_currency(settings.currency):
        raise sk.services.BadSettings(
            f"pricing: currency: must be three capital letters, as EUR, not {settings.currency!r}"
        )
    if settings.time_zone is not None:
        try:
            check_time_zone(settings.time_zone)
        except Mistake as error:
            raise sk.services.BadSettings(f"pricing: time_zone: {error}") from None
    return settings


class ChangesAnswer(msgspec.Struct, frozen=True):
    ids: list[str]


class NewInstant(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    effective_at: str
    """Without an offset, local to the store."""


class PricingService:
    """Every read takes `at`, the instant it asks about; without it, that is now. A question that cannot be asked raises
    BadRequest."""

    name = "pricing"

    def __init__(
        self,
        session: sk.AsyncSession,
        settings: Settings = DEFAULTS,
        clock: Clock | None = None,
        graphql: sk.graphql.GraphQLSettings = GRAPHQL_DEFAULTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._session = session
        self._clock = clock = clock or SystemClock()
        self._graphql = graphql
        self._sleep = sleep
        self._currency = settings.currency
        self._batches = batches = Batches(session, clock, sleep)
        self._changes = ChangeReads(session, batches)
        self._writes = ChangeWrites(session, batches, clock)
        self._transition = Transition(session, batches, self._writes, clock)
        self._checks = ChangeChecks(settings.currency)
        self.stores = Stores(session, settings.time_zone)
        self.feeds: list[sk.feeds.ChangeFeed[Any] | sk.feeds.Timers[Any]] = [
            sk.feeds.Timers(TRANSITIONS, self._on_due),
            *event_feeds(settings, settings.topic, settings.legacy_topic, settings.currency),
        ]

    async def start(self) -> None:
        await self._session.create_tables(PRICES, CHANGES)

    async def load_demo(self, progress: sk.services.Progress) -> None:
        if await self._session.get(price_path(demo.LAST)) is not None:
            return
        rows, done = demo.prices(), 0
        while some := list(islice(rows, DEMO_ROWS_AT_ONCE)):
            # In order: if the last one is stored, all are.
            await self._session.batch(put=some)
            done += len(some)
            progress(done, demo.COUNT)

    async def run_demo(self) -> None:
        """Price managers schedule changes, until it is cancelled."""
        managers = demo.PriceManagers(Random(self._clock.now()))
        while True:
            changes = managers.next(datetime.fromtimestamp(self._clock.now(), UTC))
            await self.change_prices(changes, "demo")
            await asyncio.sleep(DEMO_SECONDS)

    async def price(
        self,
        store: str,
        product: str,
        channel: str = ALL_CHANNELS,
        at: datetime | None = None,
        kind: PriceKind = PriceKind.BASE,
    ) -> Price[Decimal] | None:
        """None if nothing is in force. Raises Conflict for a row that another program has made unreadable."""
        key, read = _key(store, channel, kind, product), self._read(at)
        try:
            row = await self._session.get(price_path(key), consistent=True)
        except sk.DecodeError as error:
            _logger.warning("a price cannot be read: %s", error)
            raise sk.services.Conflict(
                f"the price of {key.product!r} in {key.store!r} cannot be read, because another program has changed it",
                "unreadable",
            ) from error
        return None if row is None else (await read([row]))[0]

    async def base_prices(
        self, store: str, page: PageArguments, channel: str = ALL_CHANNELS, at: datetime | None = None
    ) -> FilledPage[Price[Decimal]]:
        """A store's prices, by product."""
        store, channel = _asked(check_id, "store", store), _asked(check_channel, channel)
        path = PriceRow.key(store=store, channel=channel, kind=PriceKind.BASE)
        return await shown_page(self._session, path, page, self._read(at), consistent=True)

    async def product_prices(
        self, product: str, page: PageArguments, channel: str = ALL_CHANNELS, at: datetime | None = None
    ) -> FilledPage[Price[Decimal]]:
        """A product's prices, by store."""
        kind = kind_of(product)
        product, channel = _asked(check_product, product, kind), _asked(check_channel, channel)
        path = PriceRow.by_product(kind=kind, product=product, channel=channel)
        return await shown_page(self._session, path, page, self._read(at), consistent=False)

    async def swap_prices(
        self, store: str, combo: str, page: PageArguments, channel: str = ALL_CHANNELS, at: datetime | None = None
    ) -> FilledPage[Price[Decimal]]:
        """What the options of a combo cost in a store, by option."""
        store, combo = _asked(check_id, "store", store), _asked(check_id, "combo", combo)
        channel = _asked(check_channel, channel)
        path = PriceRow.key(store=store, channel=channel, kind=PriceKind.SWAP).starting(f"{combo}#")
        return await shown_page(self._session, path, page, self._read(at), consistent=True)

    def _read(self, at: datetime | None) -> PriceRead:
        asked, seen = _instant("at", at), self._batches.begin_read()
        return PriceRead(self._session, seen, self._currency, seen.began if asked is None else micros_of(asked))

    async def price_changes(
        self,
        store: str,
        page: PageArguments,
        channel: str | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
    ) -> FilledPage[PriceChange[Decimal]]:
        """A store's changes by time, from `begin` on, which is now, before `end`; of one channel or of all; without the
        cancelled ones."""
        store = _asked(check_id, "store", store)
        channel = None if channel is None else _asked(check_channel, channel)
        begin, end = _instant("from", begin), _instant("to", end)
        if begin is not None and end is not None and end <= begin:
            raise sk.services.BadRequest(
                f"to: must be after from, but {end.isoformat()} is not after {begin.isoformat()}"
            )
        return await self._changes.changes(store, channel, page, begin, end)

    async def price_history(
        self,
        store: str,
        product: str,
        page: PageArguments,
        channel: str = ALL_CHANNELS,
        kind: PriceKind = PriceKind.BASE,
    ) -> FilledPage[PriceRecord[Decimal]]:
        """What has taken effect, by time."""
        return await self._changes.history(_key(store, channel, kind, product), page)

    async def price_change(self, change: str) -> PriceChange[Decimal]:
        """Also one that is cancelled. Raises NotFound."""
        row = await found_change(self._session, self._batches, change_id(change))
        return shown_change(row, micros_at(self._clock.now()))

    async def change_prices(
        self,
        changes: Sequence[ChangeInput | Mapping[str, object]],
        requested_by: str | None = None,
        caller: str | None = None,
    ) -> list[PriceChange[Decimal]]:
        """Accepts all changes or none; those without an instant are in force afterwards. Mappings are objects of JSON.
        `requested_by` is what the request claims, `caller` the name of its token.

        Raises BadRequest, whose details name every mistake by its index, and Conflict."""
        by = _requester(requested_by, caller)
        checked = await self._checks.checked(changes, micros_at(self._clock.now()), self.stores.time_zones)
        operation = sk.services.current_operation()
        # A GraphQL request may have several mutations.
        part = None if operation is None else operation.part()
        return await self._writes.accept(checked, by, part)

    async def cancel(
        self, change: str, requested_by: str | None = None, caller: str | None = None
    ) -> PriceChange[Decimal]:
        """Raises NotFound, and Conflict if the change has taken effect."""
        return await self._writes.cancel(change_id(change), _requester(requested_by, caller))

    async def reschedule(
        self, change: str, at: datetime | str, requested_by: str | None = None, caller: str | None = None
    ) -> PriceChange[Decimal]:
        """Moves a change to another instant, which is local to its store if it has no offset. The change keeps its id.
        Raises as `cancel` does, and Conflict if the change is cancelled."""
        asked, by = change_id(change), _requester(requested_by, caller)
        zones = {} if local_time(at) is None else await self.stores.time_zones([asked.store])
        micros = _asked(effective_at, at, micros_at(self._clock.now()), asked.store, zones.get)
        return await self._writes.reschedule(asked, micros, by)

    async def _on_due(self, due: sk.patterns.Due[ChangeRow]) -> None:
        # The timers go by the session's clock, which may be a little ahead.
        early = micros_of(due.at) - micros_at(self._clock.now())
        if early > 0:
            await self._sleep(min(early / SECOND, LONGEST_WAIT))
        await self.apply_due(due.group["store"], due.at)

    async def apply_due(self, store: str, instant: datetime) -> int:
        """Makes the store's changes of an instant permanent, and lets their events out; how many. Prices do not depend
        on it. Raises Conflict before the instant."""
        return await self._transition.apply_due(store, instant.astimezone(UTC))

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        """REST, and GraphQL where Strawberry is installed."""
        return [
            *_price_routes(self),
            *_change_routes(self),
            *_write_routes(self),
            *store_routes(self.stores),
            *_graphql_routes(self, self._graphql),
        ]


def _asked(check: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    try:
        return check(*given, **named)
    except Mistake as error:
        raise sk.services.BadRequest(str(error)) from None


def _requester(claimed: str | None, caller: str | None) -> Requester:
    return Requester(_asked(check_requester, claimed), caller)


def _instant(name: str, given: datetime | None) -> datetime | None:
    return None if given is None else _asked(instant_from, name, given)


def _key(store: str, channel: str, kind: PriceKind, product: str) -> PriceKey:
    store, channel = _asked(check_id, "store", store), _asked(check_channel, channel)
    return PriceKey(store, channel, kind, _asked(check_product, product, kind))


def _price_routes(pricing: PricingService) -> list[ControllerRouterHandler]:
    @get("/pricing/stores/{store:str}/prices", opt={"fast": True}, summary="A store's base prices, by product")
    async def of_store(
        store: FromPath[str],
        channel: Channel = ALL_CHANNELS,
        at: At = None,
        first: First = None,
        after: After = None,
        last: Last = None,
        before: Before = None,
    ) -> PageAnswer[Price[float]]:
        page = page_request(first, after, last, before)
        found = await pricing.base_prices(store, page, channel, instant_parameter("at", at))
        return PageAnswer([_price_number(each) for each in found.items], found.info)

    @get("/pricing/products/{product:str}/prices", opt={"fast": True}, summary="A product's prices, by store")
    async def of_product(
        product: FromPath[str],
        channel: Channel = ALL_CHANNELS,
        at: At = None,
        first: First = None,
        after: After = None,
        last: Last = None,
        before: Before = None,
    ) -> PageAnswer[Price[float]]:
        page = page_request(first, after, last, before)
        found = await pricing.product_prices(product, page, channel, instant_parameter("at", at))
        return PageAnswer([_price_number(each) for each in found.items], found.info)

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
    ) -> PageAnswer[Price[float]]:
        page = page_request(first, after, last, before)
        found = await pricing.swap_prices(store, combo, page, channel, instant_parameter("at", at))
        return PageAnswer([_price_number(each) for each in found.items], found.info)

    @get("/pricing/stores/{store:str}/products/{product:str}", opt={"fast": True}, summary="What a product costs")
    async def price(
        store: FromPath[str], product: FromPath[str], channel: Channel = ALL_CHANNELS, at: At = None
    ) -> Price[float]:
        """A product with a `#` is a SWAP: `COMBO#OPTION`, written `COMBO%23OPTION`."""
        found = await pricing.price(store, product, channel, instant_parameter("at", at), kind_of(product))
        if found is None:
            raise sk.services.NotFound(
                f"{product!r} has no price in the store {store!r} and the channel {channel!r} then"
            )
        return _price_number(found)

    return [of_store, of_product, of_combo, price]


def _change_routes(pricing: PricingService) -> list[ControllerRouterHandler]:
    @get("/pricing/stores/{store:str}/changes", opt={"fast": True}, summary="A store's changes, by time")
    async def changes(
        store: FromPath[str],
        channel: AnyChannel = None,
        begin: Begin = None,
        end: End = None,
        first: First = None,
        after: After = None,
        last: Last = None,
        before: Before = None,
    ) -> PageAnswer[PriceChange[float]]:
        page = page_request(first, after, last, before)
        found = await pricing.price_changes(
            store, page, channel, instant_parameter("from", begin), instant_parameter("to", end)
        )
        return PageAnswer([_change_number(each) for each in found.items], found.info)

    @get("/pricing/changes/{id:str}", opt={"fast": True}, summary="One change, and what was done with it")
    async def change(id: FromPath[str]) -> PriceChange[float]:  # noqa: A002
        return _change_number(await pricing.price_change(id))

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
    ) -> PageAnswer[PriceRecord[float]]:
        page = page_request(first, after, last, before)
        found = await pricing.price_history(store, product, page, channel, kind_of(product))
        return PageAnswer([_record_number(each) for each in found.items], found.info)

    return [changes, change, history]


def _write_routes(pricing: PricingService) -> list[ControllerRouterHandler]:
    @post("/pricing/changes", status_code=202, opt={"fast": True}, summary="Change prices, now or at an instant")
    async def change(
        data: JSONBody[dict[str, Any] | list[Any]],
        caller: NamedDependency[sk.services.Caller],
        requested_by: RequestedBy = None,
    ) -> ChangesAnswer:
        """One change or a list; all of them are made, or none. A change has `store`, `product` and `amount`; and also
        `channel`, `kind` (BASE, SWAP), `action` (SET, DELETE), `currency`, `effectiveAt`, unless these are the
        default. An `effectiveAt` without an offset is local to the store."""
        given = data if isinstance(data, list) else [data]
        if len(given) > MAX_CHANGES:
            raise sk.services.BadRequest(f"a request has 1 to {MAX_CHANGES:,} changes, not {len(given):,}")
        return ChangesAnswer([made.id for made in await pricing.change_prices(given, requested_by, caller.name)])

    @patch("/pricing/changes/{id:str}", opt={"fast": True}, summary="Move a change to another instant")
    async def reschedule(
        id: FromPath[str],  # noqa: A002
        data: JSONBody[NewInstant],
        caller: NamedDependency[sk.services.Caller],
        requested_by: RequestedBy = None,
    ) -> PriceChange[float]:
        """One that has taken effect, or is cancelled, is answered with 409. It keeps its id."""
        return _change_number(await pricing.reschedule(id, data.effective_at, requested_by, caller.name))

    @delete("/pricing/changes/{id:str}", status_code=200, opt={"fast": True}, summary="Cancel a change")
    async def cancel(
        id: FromPath[str],  # noqa: A002
        caller: NamedDependency[sk.services.Caller],
        requested_by: RequestedBy = None,
    ) -> PriceChange[float]:
        """One that has taken effect is answered with 409."""
        return _change_number(await pricing.cancel(id, requested_by, caller.name))

    return [change, reschedule, cancel]


def instant_parameter(name: str, text: str | None) -> datetime | None:
    """Raises BadRequest. A `+` that was not percent-encoded arrives as a space."""
    if text is None:
        return None
    try:
        return instant_from(name, _SPACED_OFFSET.sub(r"+\1", text))
    except Mistake as error:
        raise sk.services.BadRequest(str(error)) from None


def _price_number(price: Price[Decimal]) -> Price[float]:
    # Quicker than `replace`, and a page has many.
    return Price(
        price.store,
        price.product,
        price.channel,
        price.kind,
        float(price.amount),
        price.currency,
        price.effective_from,
    )


def _change_number(change: PriceChange[Decimal]) -> PriceChange[float]:
    made: Any = replace(change, amount=_number(change.amount))
    return made  # type: ignore[no-any-return]


def _record_number(record: PriceRecord[Decimal]) -> PriceRecord[float]:
    made: Any = replace(record, amount=_number(record.amount), previous_amount=_number(record.previous_amount))
    return made  # type: ignore[no-any-return]


def _number(amount: Decimal | None) -> float | None:
    """An amount has so few digits that its number has the same two decimals."""
    return None if amount is None else float(amount)


def _graphql_routes(pricing: PricingService, settings: sk.graphql.GraphQLSettings) -> list[ControllerRouterHandler]:
    try:
        module: Any = import_module("sortkey_services.pricing.schema")
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        return _without_graphql()
    made: list[ControllerRouterHandler] = module.pricing_graphql_routes(pricing, settings)
    return made


def _without_graphql() -> list[ControllerRouterHandler]:
    missing = "GraphQL needs Strawberry, which is not installed; run: pip install 'sortkey[graphql]'"

    @get("/graphql", scope="open", include_in_schema=False)
    async def no_graphiql() -> None:
        raise sk.services.NotFound(missing)

    @post("/graphql", scope="read", include_in_schema=False)
    async def no_graphql() -> None:
        raise sk.services.NotFound(missing)

    return [no_graphiql, no_graphql]
