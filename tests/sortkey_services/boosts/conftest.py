"""The service on every store and in every design; its calls are awaited, so that tests are not coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.feeds.kafka.message import Message, Rejected
from sortkey_services.boosts.design import Boost, CampaignInArea
from sortkey_services.boosts.event import CampaignEvent
from sortkey_services.boosts.service import TABLES, BoostsService
from sortkey_services.boosts.tenants import DesignName
from tests.sortkey_services.boosts.campaigns import DISTRICTS, MONDAY_LUNCH, NOW, SETTINGS

R = TypeVar("R")


class Service:
    """A started service, whose calls are waited for."""

    def __init__(self, runner: asyncio.Runner, session: sk.AsyncSession, design: DesignName) -> None:
        self._runner = runner
        self.session = session
        self.clock = ManualClock(NOW)
        self.boosts = BoostsService(session, msgspec.structs.replace(SETTINGS, design=design), self.clock)
        self.wait(self.boosts.start())

    def wait(self, call: Coroutine[Any, Any, R]) -> R:
        return self._runner.run(call)

    def apply(self, *events: CampaignEvent, tenant: str = "de") -> list[str]:
        """What each event did, in a word."""
        self.deliver(*(each.partner_id for each in events), tenant=tenant)
        results = self.wait(self.boosts.apply(tenant, events))
        return ["rejected" if each.error else "stale" if each.stale else "applied" for each in results]

    def deliver(self, *partners: str, tenant: str = "de") -> None:
        """Every partner delivers everywhere, so that the designs have to agree."""
        market = self.boosts.market(tenant)
        self.wait(self.boosts.design.set_delivery_areas(market, dict.fromkeys(partners, DISTRICTS)))

    def lookup(
        self, *partners: str, district: str | None = "BER-01", at: datetime = MONDAY_LUNCH, tenant: str = "de"
    ) -> list[Boost]:
        return self.wait(self.boosts.lookup(tenant, district, partners, at))

    def winners(self, *partners: str, **asked: Any) -> list[tuple[str, str, str]]:
        """Partner, campaign and area of each boost."""
        return [(each.partner_id, each.campaign_id, each.area) for each in self.lookup(*partners, **asked)]

    def campaigns_of(self, partner: str = "p1", tenant: str = "de") -> list[CampaignInArea]:
        return self.wait(self.boosts.campaigns_of(tenant, partner))

    def consume(self, *values: bytes | None) -> Sequence[Rejected]:
        return self.wait(self.boosts.consume([Message(value) for value in values]))


@pytest.fixture
def open_service(store: str) -> Iterator[Callable[[DesignName], Service]]:
    """Opens the service on the store, in a design."""
    with asyncio.Runner() as runner:
        sessions: list[sk.AsyncSession] = []

        def opened(design: DesignName) -> Service:
            async def session() -> sk.AsyncSession:
                return await sk.async_connect(store, tables=TABLES[design])

            sessions.append(runner.run(session()))
            return Service(runner, sessions[-1], design)

        yield opened
        for session in sessions:
            runner.run(session.close())


@pytest.fixture(params=list(TABLES))
def service(open_service: Callable[[DesignName], Service], request: pytest.FixtureRequest) -> Service:
    return open_service(request.param)
