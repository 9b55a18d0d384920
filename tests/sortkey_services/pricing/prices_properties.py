"""Whatever is changed, scheduled, moved, cancelled, made permanent or left half done: every read is that of a plain
model, a list of changes of which the newest one not after the instant is in force. Local times are those of clocks in
the stores, which the model looks at minute by minute."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.services.pages import PageArguments
from sortkey_services.filled_page import FilledPage
from sortkey_services.pricing.batches import Batches
from sortkey_services.pricing.change_writes import MAX_IN_TRANSACTION
from sortkey_services.pricing.model import CHANGES, PRICES, loaded_price
from sortkey_services.pricing.prices import ChangeInput, PriceChange, PriceKey, PriceKind, micros_of
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import PricingService

R = TypeVar("R")

STARTS = (
    datetime(2026, 8, 24, 12, tzinfo=UTC),
    # An hour before clocks go back in Berlin, and forward.
    datetime(2026, 10, 25, 0, tzinfo=UTC),
    datetime(2027, 3, 28, 0, tzinfo=UTC),
)
STORES = ("s1", "s2")
ZONES = (None, "Europe/Berlin", "America/New_York")
PRODUCTS = ("P1", "P10", "P2")

Target = tuple[str, str]
"""A store and a product."""

targets = st.tuples(st.sampled_from(STORES), st.sampled_from(PRODUCTS))
offsets = st.none() | st.integers(-90, 90)
amounts = st.none() | st.integers(0, 9)
"""None deletes the price."""
change_lists = st.lists(st.tuples(targets, amounts, offsets), min_size=1, max_size=4)
sizes = st.integers(1, 5)
quarters = st.integers(-4, 8)
"""Of an hour."""


@dataclass
class Known:
    """A change that was accepted."""

    id: str
    target: Target
    at: datetime
    amount: int | None
    cancelled: bool = False
    moved: int = 0
    """How often."""


@dataclass
class Model:
    changes: list[Known] = field(default_factory=list)
    """In the order in which they were accepted, or moved."""
    zones: dict[str, str | None] = field(default_factory=dict)
    """Of stores."""

    def records(self, target: Target, at: datetime) -> list[Known]:
        """What has taken effect by then, by time."""
        found = [each for each in self.changes if each.target == target and each.at <= at and not each.cancelled]
        return sorted(found, key=lambda each: each.at)

    def price(self, target: Target, at: datetime) -> tuple[int, datetime] | None:
        records = self.records(target, at)
        newest = records[-1] if records else None
        return None if newest is None or newest.amount is None else (newest.amount, newest.at)

    def instant(self, store: str, local: datetime) -> datetime | None:
        """When a clock in the store first shows this time or, if it skips it, when it would if nobody had moved it
        since; None without a clock."""
        zone = self.zones.get(store)
        if zone is None:
            return None
        clock = ZoneInfo(zone)
        around = local.replace(tzinfo=UTC)
        minutes = (around + timedelta(minutes=minute) for minute in range(-15 * 60, 15 * 60))
        for minute in minutes:
            if minute.astimezone(clock).replace(tzinfo=None) == local:
                return minute
        # The clock as it was a day before.
        day_before = self.instant(store, local - timedelta(days=1))
        return None if day_before is None else day_before + timedelta(days=1)


class Stopped(BaseException):
    """The process ends here."""


class Prices(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock(STARTS[0].timestamp())
        self.model = Model()
        self.session = self.wait(self.opened())
        self.pricing = self.other = self.process()

    def process(self) -> PricingService:
        """A process with the service. Waiting for another process lets time pass."""

        async def sleep(seconds: float) -> None:
            self.clock.advance(seconds)

        return PricingService(self.session, clock=self.clock, sleep=sleep)

    async def opened(self) -> sk.AsyncSession:
        return await sk.async_connect("memory:", tables=[PRICES, CHANGES])

    def teardown(self) -> None:
        self.wait(self.session.close())
        self.runner.close()

    def wait(self, call: Coroutine[Any, Any, R]) -> R:
        return self.runner.run(call)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), UTC)

    @initialize(
        start=st.sampled_from(STARTS),
        loaded=st.dictionaries(targets, st.integers(0, 9), max_size=4),
        ago=st.integers(0, 60),
    )
    def load(self, start: datetime, loaded: Mapping[Target, int], ago: int) -> None:
        self.clock.advance(start.timestamp() - self.clock.now())
        self.wait(self.pricing.start())
        self.set_time_zone(STORES[0], "Europe/Berlin")
        since = start - timedelta(seconds=ago)
        for (store, product), amount in loaded.items():
            key = PriceKey(store, "ALL", PriceKind.BASE, product)
            self.wait(self.session.put(loaded_price(key, amount * 100, micros_of(since))))
            self.model.changes.append(Known("", (store, product), since, amount))

    @rule(seconds=st.sampled_from([1, 10, 45, 61, 200]))
    def pass_time(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def another_process(self) -> None:
        """It remembers nothing; the earlier one goes on, too."""
        # The numbers of changes order those of different processes by the clock.
        self.clock.advance(1)
        self.pricing, self.other = self.process(), self.pricing

    @rule(given=change_lists)
    def change(self, given: list[tuple[Target, int | None, int | None]]) -> None:
        self.accepted(self.wait(self.pricing.change_prices(self.inputs(given))))

    @rule(store=st.sampled_from(STORES), zone=st.sampled_from(ZONES))
    def set_time_zone(self, store: str, zone: str | None) -> None:
        """Of changes from now on."""
        assert self.wait(self.pricing.stores.set_time_zone(store, zone)).time_zone == zone
        self.model.zones[store] = zone

    def local(self, store: str, quarter: int) -> datetime:
        """A whole minute that a clock in the store shows around now, or skips."""
        clock = ZoneInfo(self.model.zones.get(store) or "UTC")
        now = self.now.astimezone(clock).replace(tzinfo=None, second=0, microsecond=0, fold=0)
        return now + timedelta(minutes=15 * quarter)

    @rule(priced=targets, amount=amounts, quarter=quarters)
    def change_at_a_local_time(self, priced: Target, amount: int | None, quarter: int) -> None:
        store, product = priced
        local = self.local(store, quarter)
        action = "DELETE" if amount is None else "SET"
        given = {"store": store, "product": product, "action": action, "effectiveAt": local.isoformat()}
        expected = self.model.instant(store, local)
        changing = self.pricing.change_prices([given | ({} if amount is None else {"amount": amount})])
        if expected is None:
            with pytest.raises(sk.services.BadRequest):
                self.wait(changing)
            return
        made = self.wait(changing)
        assert [each.effective_at for each in made] == [expected]
        self.accepted(made)

    @rule(given=change_lists, seconds=st.sampled_from([0, 1]))
    def change_in_a_batch(self, given: list[tuple[Target, int | None, int | None]], seconds: int) -> None:
        many = (given * (MAX_IN_TRANSACTION + 1))[: MAX_IN_TRANSACTION + 1]
        changing = self.pricing.change_prices(self.inputs(many))
        with pytest.MonkeyPatch.context() as patch:
            commit = Batches.commit

            async def commit_later(batches: Batches, batch: str, at: int, note: Any) -> None:
                self.clock.advance(seconds)
                await commit(batches, batch, at, note)

            patch.setattr(Batches, "commit", commit_later)
            made = self.wait(changing)
        self.accepted(made)

    @rule(given=change_lists, before_entries=st.booleans())
    def die_before_the_commit(self, given: list[tuple[Target, int | None, int | None]], before_entries: bool) -> None:
        many = (given * (MAX_IN_TRANSACTION + 1))[: MAX_IN_TRANSACTION + 1]
        dying = self.process()
        given_up = dying.change_prices(self.inputs(many))
        with pytest.MonkeyPatch.context() as patch:
            owner: object = sk.AsyncSession if before_entries else Batches
            patch.setattr(owner, "put" if before_entries else "commit", stop)
            with pytest.raises(Stopped):
                self.wait(given_up)

    @rule(priced=targets, amounts=st.lists(st.integers(0, 9), min_size=2, max_size=3))
    def change_at_once(self, priced: Target, amounts: list[int]) -> None:
        """Several processes change one price at the same time: all are accepted, in some order."""

        async def race() -> list[list[PriceChange[Decimal]]]:
            services = [self.process() for _ in amounts]
            later = self.now + timedelta(seconds=5)
            store, product = priced
            inputs = [
                ChangeInput(store=store, product=product, amount=amount, effective_at=later + timedelta(seconds=index))
                for index, amount in enumerate(amounts)
            ]
            calls = (each.change_prices([given]) for each, given in zip(services, inputs, strict=True))
            return await asyncio.gather(*calls)

        for made in self.wait(race()):
            self.accepted(made)
        self.clock.advance(1)

    def inputs(self, given: list[tuple[Target, int | None, int | None]]) -> list[ChangeInput]:
        return [
            ChangeInput(
                store=store,
                product=product,
                action="DELETE" if amount is None else "SET",
                amount=amount,
                effective_at=None if offset is None else self.now + timedelta(seconds=offset),
            )
            for (store, product), amount, offset in given
        ]

    def accepted(self, made: list[PriceChange[Decimal]]) -> None:
        for each in made:
            amount = None if each.amount is None else int(each.amount)
            assert (each.status == "APPLIED") == (each.effective_at <= self.now)
            self.model.changes.append(Known(each.id, (each.store, each.product), each.effective_at, amount))

    def choose(self, index: int) -> Known | None:
        named = [each for each in self.model.changes if each.id]
        return named[index % len(named)] if named else None

    @rule(index=st.integers(0, 1000))
    def cancel(self, index: int) -> None:
        known = self.choose(index)
        if known is None:
            return
        if known.at <= self.now and not known.cancelled:
            with pytest.raises(sk.services.Conflict):
                self.wait(self.pricing.cancel(known.id))
            return
        assert self.wait(self.pricing.cancel(known.id)).status == "CANCELLED"
        known.cancelled = True

    @rule(index=st.integers(0, 1000), offset=st.integers(-30, 90), again=st.booleans())
    def reschedule(self, index: int, offset: int, again: bool) -> None:
        known = self.choose(index)
        if known is not None:
            at = self.now + timedelta(seconds=offset)
            self.move(known, at, at, again)

    @rule(index=st.integers(0, 1000), quarter=quarters, again=st.booleans())
    def reschedule_to_a_local_time(self, index: int, quarter: int, again: bool) -> None:
        known = self.choose(index)
        if known is None:
            return
        local = self.local(known.target[0], quarter)
        at = self.model.instant(known.target[0], local)
        if at is None:
            with pytest.raises(sk.services.BadRequest):
                self.wait(self.pricing.reschedule(known.id, local))
            return
        self.move(known, at, local.isoformat(), again)

    def move(self, known: Known, at: datetime, asked: datetime | str, again: bool) -> None:
        """Once, or twice by two processes: the second one finds what it asks for."""
        stays = known.moved and known.at == at
        if known.cancelled or (known.at <= self.now and not stays):
            with pytest.raises(sk.services.Conflict):
                self.wait(self.pricing.reschedule(known.id, asked))
            return
        moves = 0 if known.at == at else 1
        for service in (self.pricing, self.other) if again else (self.pricing,):
            moved = self.wait(service.reschedule(known.id, asked))
            assert (moved.id, moved.effective_at) == (known.id, at)
            assert len(moved.history) == known.moved + moves
        if moves:
            # It is the newest one of its instant.
            self.model.changes.remove(known)
            self.model.changes.append(known)
            known.at, known.moved = at, known.moved + 1

    @rule(index=st.integers(0, 1000))
    def one_change(self, index: int) -> None:
        known = self.choose(index)
        if known is None:
            return
        found = self.wait(self.pricing.price_change(known.id))
        status = "CANCELLED" if known.cancelled else "APPLIED" if known.at <= self.now else "SCHEDULED"
        assert (found.id, found.effective_at, found.status) == (known.id, known.at, status)
        steps = ["RESCHEDULED"] * known.moved + ["CANCELLED"] * known.cancelled
        assert [step.step for step in found.history] == steps

    @rule(index=st.integers(0, 1000), concurrent=st.booleans())
    def transition(self, index: int, concurrent: bool) -> None:
        """Of one change's instant, by one process, or by two at once; it may have been made before, or be too early."""
        known = self.choose(index)
        if known is None:
            return

        if known.at > self.now:
            with pytest.raises(sk.services.Conflict):
                self.wait(self.pricing.apply_due(known.target[0], known.at))
            return

        async def apply() -> None:
            services = (self.pricing, self.other) if concurrent else (self.pricing,)
            await asyncio.gather(*(each.apply_due(known.target[0], known.at) for each in services))

        self.wait(apply())

    @rule()
    def all_transitions(self) -> None:
        for store, at in sorted({(each.target[0], each.at) for each in self.model.changes if each.at <= self.now}):
            self.wait(self.pricing.apply_due(store, at))

    @rule(priced=targets, offset=st.integers(-300, 120))
    def one_price(self, priced: Target, offset: int) -> None:
        at = self.now + timedelta(seconds=offset)
        found = self.wait(self.pricing.price(*priced, at=at))
        assert (None if found is None else (int(found.amount), found.effective_from)) == self.model.price(priced, at)

    @rule(store=st.sampled_from(STORES), offset=st.integers(-300, 120), size=sizes, backward=st.booleans())
    def pages_of_a_store(self, store: str, offset: int, size: int, backward: bool) -> None:
        at = self.now + timedelta(seconds=offset)
        found = self.walk(lambda page: self.pricing.base_prices(store, page, at=at), size, backward)
        shown = [(price.product, int(price.amount), price.effective_from) for price in found]
        expected = [(product, self.model.price((store, product), at)) for product in PRODUCTS]
        assert shown == [(product, *price) for product, price in expected if price is not None]

    @rule(product=st.sampled_from(PRODUCTS), offset=st.integers(-300, 120), size=sizes, backward=st.booleans())
    def pages_of_a_product(self, product: str, offset: int, size: int, backward: bool) -> None:
        at = self.now + timedelta(seconds=offset)
        found = self.walk(lambda page: self.pricing.product_prices(product, page, at=at), size, backward)
        shown = [(price.store, int(price.amount), price.effective_from) for price in found]
        expected = [(store, self.model.price((store, product), at)) for store in STORES]
        assert shown == [(store, *price) for store, price in expected if price is not None]

    @rule(priced=targets, size=sizes, backward=st.booleans())
    def pages_of_a_history(self, priced: Target, size: int, backward: bool) -> None:
        found = self.walk(lambda page: self.pricing.price_history(*priced, page), size, backward)
        shown = [(_whole(each.previous_amount), _whole(each.amount), each.effective_at) for each in found]
        records = self.model.records(priced, self.now)
        before = [None, *(each.amount for each in records)]
        expected = [(previous, each.amount, each.at) for previous, each in zip(before, records, strict=False)]
        if any(each.id and each.target == priced for each in self.model.changes):
            assert shown == expected
        else:
            # A loaded price is listed with its first change, also if that was not accepted in the end.
            assert shown in ([], expected)

    @rule(store=st.sampled_from(STORES), size=sizes, backward=st.booleans(), ago=st.none() | st.integers(0, 200))
    def pages_of_changes(self, store: str, size: int, backward: bool, ago: int | None) -> None:
        begin = None if ago is None else self.now - timedelta(seconds=ago)
        found = self.walk(lambda page: self.pricing.price_changes(store, page, begin=begin), size, backward)
        since = self.now + timedelta(microseconds=1) if begin is None else begin
        named = [each for each in self.model.changes if each.id and each.target[0] == store and not each.cancelled]
        assert {each.id for each in found if each.id in {other.id for other in named}} == {
            each.id for each in named if each.at >= since
        }
        assert [each.effective_at for each in found] == sorted(each.effective_at for each in found)

    def walk(
        self, ask: Callable[[PageArguments], Coroutine[Any, Any, FilledPage[R]]], size: int, backward: bool
    ) -> list[R]:
        """All items, page by page; each page knows whether it has neighbours."""
        items: list[R] = []
        cursor: str | None = None
        while True:
            arguments = page_request(last=size, before=cursor) if backward else page_request(first=size, after=cursor)
            page = self.wait(ask(arguments))
            items = [*page.items, *items] if backward else [*items, *page.items]
            more, continued = (page.has_previous, page.has_next) if backward else (page.has_next, page.has_previous)
            assert continued == (cursor is not None)
            assert len(page) == size or not more
            if not more:
                return items
            cursor = page.start_cursor if backward else page.end_cursor
            assert cursor == page.cursor(0 if backward else -1)

    @invariant()
    def prices_at_all_instants(self) -> None:
        for at in (self.now + timedelta(seconds=seconds) for seconds in (-150, -50, -5, 0, 30)):
            for store in STORES:
                found = self.wait(self.pricing.base_prices(store, page_request(), at=at))
                shown = {price.product: (int(price.amount), price.effective_from) for price in found.items}
                expected = {product: self.model.price((store, product), at) for product in PRODUCTS}
                assert shown == {product: price for product, price in expected.items() if price is not None}


async def stop(*_: object, **__: object) -> None:
    raise Stopped


def _whole(amount: Any) -> int | None:
    return None if amount is None else int(amount)


TestPrices = pytest.mark.slow(Prices.TestCase)
TestPrices.settings = settings(max_examples=20, stateful_step_count=40)
