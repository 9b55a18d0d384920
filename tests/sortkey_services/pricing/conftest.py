"""The service on every store, with a clock that tests move. Its calls are awaited, so that tests are not coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.prices import ChangeInput, PriceChange
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import DEFAULTS, PricingService, Settings
from tests.sortkey_services.pricing.serving import asked as asked
from tests.sortkey_services.pricing.serving import served as served

R = TypeVar("R")
T = TypeVar("T", bound=sk.Item)

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


class Service:
    """A started service, whose calls are waited for."""

    def __init__(self, runner: asyncio.Runner, session: sk.AsyncSession, clock: ManualClock) -> None:
        self._runner = runner
        self.session = session
        self.clock = clock
        self.restart()
        self.wait(self.pricing.start())

    def restart(self) -> None:
        """The service of another process, on the same store."""
        self.pricing = self.process()

    def process(self, settings: Settings = DEFAULTS) -> PricingService:
        """Of which waiting for an instant lets it come."""

        async def sleep(seconds: float) -> None:
            self.clock.advance(seconds)

        return PricingService(self.session, settings, self.clock, sleep=sleep)

    def wait(self, call: Coroutine[Any, Any, R]) -> R:
        return self._runner.run(call)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), UTC)

    def change(
        self, product: str, amount: str | None, minutes: float | None = None, store: str = "s1"
    ) -> PriceChange[Decimal]:
        """Set or delete a price, now or so many minutes from now."""
        at = None if minutes is None else self.now + timedelta(minutes=minutes)
        action = "DELETE" if amount is None else "SET"
        given = ChangeInput(store=store, product=product, action=action, amount=amount, effective_at=at)
        (made,) = self.wait(self.pricing.change_prices([given], "ada"))
        return made

    def price(self, product: str, minutes: float | None = None, store: str = "s1") -> float | None:
        at = None if minutes is None else self.now + timedelta(minutes=minutes)
        found = self.wait(self.pricing.price(store, product, at=at))
        return None if found is None else float(found.amount)

    def prices(self, minutes: float | None = None, store: str = "s1") -> dict[str, str]:
        """All prices of a store, which fit in one page."""
        at = None if minutes is None else self.now + timedelta(minutes=minutes)
        found = self.wait(self.pricing.base_prices(store, page_request(first=2048), at=at))
        return {price.product: str(price.amount) for price in found.items}

    def history(self, product: str, store: str = "s1") -> list[tuple[str | None, str | None]]:
        """From which amount to which."""
        found = self.wait(self.pricing.price_history(store, product, page_request()))
        return [(_text(each.previous_amount), _text(each.amount)) for each in found.items]

    def upcoming(self, store: str = "s1") -> list[PriceChange[Decimal]]:
        return self.wait(self.pricing.price_changes(store, page_request(first=2048))).items

    def follow(self) -> None:
        """Let the timers and feeds have all that is due."""

        async def follow() -> None:
            async with sk.feeds.Follower(self.session, self.pricing.feeds) as follower:
                await follower.caught_up()

        self.wait(follow())

    def rows(self, cls: type[T]) -> list[T]:
        """All rows of a class, in no order."""

        async def scanned() -> list[T]:
            return [row async for row in self.session.scan(cls)]

        return self.wait(scanned())

    def pass_minutes(self, minutes: float) -> None:
        self.clock.advance(60 * minutes)


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


@pytest.fixture
def service(store: str) -> Iterator[Service]:
    with asyncio.Runner() as runner:

        async def opened() -> sk.AsyncSession:
            return await sk.async_connect(store, tables=[PRICES, CHANGES], clock=clock)

        clock = ManualClock(NOON.timestamp())
        session = runner.run(opened())
        yield Service(runner, session, clock)
        runner.run(session.close())
