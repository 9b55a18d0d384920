"""The pricing service, called by GraphQL, REST and programs: what is, was and will be in force, and changes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from random import Random
from typing import Any, Final, ParamSpec, TypeVar

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.pricing import demo
from sortkey_services.pricing.batches import LONGEST_WAIT, Batches
from sortkey_services.pricing.change_edits import ChangeEdits
from sortkey_services.pricing.change_ids import change_id
from sortkey_services.pricing.change_reads import ChangeReads
from sortkey_services.pricing.change_writes import ChangeWrites
from sortkey_services.pricing.checks import (
    ChangeChecks,
    Mistake,
    check_channel,
    check_id,
    check_product,
    check_requester,
    effective_at,
    instant_from,
)
from sortkey_services.pricing.events import event_feeds
from sortkey_services.pricing.instants import SECOND, micros_at, micros_of
from sortkey_services.pricing.model import CHANGES, PRICES, TRANSITIONS, ChangeRow, price_path
from sortkey_services.pricing.past_prices import PastPrices
from sortkey_services.pricing.price_reads import PriceReads
from sortkey_services.pricing.settings import DEFAULTS, Settings
from sortkey_services.pricing.transition import Transition
from sortkey_services.pricing.types import (
    ALL_CHANNELS,
    ChangeInput,
    Connection,
    Price,
    PriceChange,
    PriceKey,
    PriceKind,
    PriceRecord,
)

DEMO_BATCH: Final = 500
DEMO_SECONDS: Final = 20.0
"""Between two changes of the demonstration."""

P = ParamSpec("P")
R = TypeVar("R")


class Pricing:
    """Every read takes `at`, the instant it asks about; without it, that is now. A question that cannot be asked raises
    BadRequest."""

    name = "pricing"

    def __init__(
        self,
        session: sk.AsyncSession,
        settings: Settings = DEFAULTS,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._session = session
        self._now = now
        self._sleep = sleep
        batches = Batches(session, now, sleep)
        past = PastPrices(session)
        self._prices = PriceReads(session, batches, past, settings.currency, now)
        self._changes = ChangeReads(session, batches, past, now)
        self._writes = ChangeWrites(session, batches, now)
        self._edits = ChangeEdits(session, batches, self._writes, now)
        self._transition = Transition(session, batches, self._writes, past, now)
        self._checks = ChangeChecks(settings.currency)
        self.feeds: list[sk.feeds.ChangeFeed[Any] | sk.feeds.Timers[Any]] = [
            sk.feeds.Timers(TRANSITIONS, self._on_due),
            *event_feeds(settings),
        ]

    async def start(self) -> None:
        await self._session.create_tables(PRICES, CHANGES)

    async def load_demo(self, progress: sk.services.Progress) -> None:
        if await self._session.get(price_path(demo.LAST)) is not None:
            return
        rows, done = demo.prices(), 0
        while some := list(islice(rows, DEMO_BATCH)):
            # In order: if the last one is stored, all are.
            await self._session.batch(put=some)
            done += len(some)
            progress(done, demo.COUNT)

    async def run_demo(self) -> None:
        """Price managers schedule changes, until it is cancelled."""
        managers = demo.PriceManagers(Random(self._now()))
        while True:
            changes = managers.next(datetime.fromtimestamp(self._now(), UTC))
            await self.change_prices(changes, "demo")
            await asyncio.sleep(DEMO_SECONDS)

    async def price(
        self,
        store: str,
        product: str,
        channel: str = ALL_CHANNELS,
        at: datetime | None = None,
        kind: PriceKind = PriceKind.BASE,
    ) -> Price | None:
        """None if nothing is in force."""
        return await self._prices.price(_key(store, channel, kind, product), _instant("at", at))

    async def base_prices(
        self, store: str, page: PageArguments, channel: str = ALL_CHANNELS, at: datetime | None = None
    ) -> Connection[Price]:
        """A store's prices, by product."""
        store, channel = _asked(check_id, "store", store), _asked(check_channel, channel)
        return await self._prices.of_store(store, channel, page, _instant("at", at))

    async def product_prices(
        self, product: str, page: PageArguments, channel: str = ALL_CHANNELS, at: datetime | None = None
    ) -> Connection[Price]:
        """A product's prices, by store."""
        product, channel = _asked(check_id, "product", product), _asked(check_channel, channel)
        return await self._prices.of_product(product, channel, page, _instant("at", at))

    async def swap_prices(
        self, store: str, combo: str, page: PageArguments, channel: str = ALL_CHANNELS, at: datetime | None = None
    ) -> Connection[Price]:
        """What the options of a combo cost in a store, by option."""
        store, combo = _asked(check_id, "store", store), _asked(check_id, "combo", combo)
        return await self._prices.of_combo(store, combo, _asked(check_channel, channel), page, _instant("at", at))

    async def price_changes(
        self,
        store: str,
        page: PageArguments,
        channel: str = ALL_CHANNELS,
        begin: datetime | None = None,
        end: datetime | None = None,
    ) -> Connection[PriceChange]:
        """A store's changes by time, from `begin` on, which is now, before `end`; without the cancelled ones."""
        store, channel = _asked(check_id, "store", store), _asked(check_channel, channel)
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
    ) -> Connection[PriceRecord]:
        """What has taken effect, by time."""
        return await self._changes.history(_key(store, channel, kind, product), page)

    async def change_prices(
        self, changes: Sequence[ChangeInput | Mapping[str, object]], requested_by: str | None = None
    ) -> list[PriceChange]:
        """Accepts all changes or none; those without an instant are in force afterwards. Mappings are objects of JSON.

        Raises BadRequest, whose details name every mistake by its index, and Conflict."""
        checked = self._checks.checked(changes, micros_at(self._now()))
        return await self._writes.accept(checked, _asked(check_requester, requested_by))

    async def cancel(self, change: str, requested_by: str | None = None) -> PriceChange:
        """Raises NotFound, and Conflict if the change has taken effect."""
        return await self._edits.cancel(change_id(change), _asked(check_requester, requested_by))

    async def reschedule(self, change: str, at: datetime, requested_by: str | None = None) -> PriceChange:
        """Cancels the change, and makes the same one at another instant, both or neither. Raises as `cancel` does."""
        micros = _asked(effective_at, at, micros_at(self._now()))
        return await self._edits.reschedule(change_id(change), micros, _asked(check_requester, requested_by))

    async def _on_due(self, due: sk.patterns.Due[ChangeRow]) -> None:
        # The timers go by the session's clock, which may be a little ahead.
        early = micros_of(due.at) - micros_at(self._now())
        if early > 0:
            await self._sleep(min(early / SECOND, LONGEST_WAIT))
        await self.apply_due(due.group["store"], due.at)

    async def apply_due(self, store: str, instant: datetime) -> int:
        """Makes the store's changes of an instant permanent, and lets their events out; how many. Prices do not depend
        on it. Raises Conflict before the instant."""
        return await self._transition.apply_due(store, instant.astimezone(UTC))


def _asked(check: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    try:
        return check(*given, **named)
    except Mistake as error:
        raise sk.services.BadRequest(str(error)) from None


def _instant(name: str, given: datetime | None) -> datetime | None:
    return None if given is None else _asked(instant_from, name, given)


def _key(store: str, channel: str, kind: PriceKind, product: str) -> PriceKey:
    store, channel = _asked(check_id, "store", store), _asked(check_channel, channel)
    return PriceKey(store, channel, kind, _asked(check_product, product, kind))
