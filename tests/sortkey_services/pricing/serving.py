"""The service on a store in memory, with a clock that stands at noon, and requests to it without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

import sortkey as sk
from sortkey.clock import ManualClock, SystemClock
from sortkey.graphql.settings import GraphQLSettings
from sortkey.server.app import app_of
from sortkey.server.idempotency import Idempotency
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.service import PricingService
from tests.passing_time import while_time_passes
from tests.server.calling import Answer, call

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


class Served:
    def __init__(self, runner: asyncio.Runner, session: sk.AsyncSession) -> None:
        self._runner = runner
        self.session = session
        self.clock = ManualClock(NOON.timestamp())
        self.pricing = PricingService(session, clock=self.clock, graphql=GraphQLSettings(), sleep=self._sleep)
        runner.run(self.pricing.start())
        self.server_clock = ManualClock(SystemClock().now())
        idempotency = Idempotency(session, self.server_clock)
        runner.run(idempotency.start())
        self._app = app_of([self.pricing], idempotency=idempotency)

    async def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        return self._runner.run(while_time_passes(self.server_clock, call(self._app, method, path, body, **headers)))

    def ask(self, query: str, **variables: Any) -> Any:
        """A GraphQL operation's answer."""
        answer = self.call("POST", "/graphql", {"query": query, "variables": variables})
        assert answer.status == 200
        return json.loads(answer.body)

    def load_demo(self) -> None:
        self._runner.run(self.pricing.load_demo(lambda _done, _total: None))

    def set(self, *changes: dict[str, Any]) -> list[str]:
        """Changes of prices; their ids."""
        answer = self.call("POST", "/pricing/changes?requestedBy=ada", list(changes))
        assert answer.status == 202, answer.body
        ids: list[str] = answer.json()["ids"]
        return ids


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def asked() -> Iterator[Served]:
    """For all tests of a module whose requests change nothing: to make a service takes much longer."""
    with serving() as served:
        yield served


@contextmanager
def serving() -> Iterator[Served]:
    with asyncio.Runner() as runner:

        async def opened() -> sk.AsyncSession:
            return await sk.async_connect("memory:", tables=[PRICES, CHANGES])

        session = runner.run(opened())
        yield Served(runner, session)
        runner.run(session.close())
