"""Sessions on every store, sync and async; the async one is awaited call by call, so that both have one suite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

import sortkey as sk
from tests.model.sessions.shop import SHOP

__all__ = ["db", "memory"]


ASYNC_STORES = ("memory", "endpoint")
"""Both sessions send the same requests. Their clients differ, and there are two async ones: embedded, and remote."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the async session on other stores: 1,278 tests of 15,134."""
    others = [item for item in items if _is_async_elsewhere(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if not _is_async_elsewhere(item)]


def _is_async_elsewhere(item: pytest.Item) -> bool:
    chosen = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return chosen.get("db") == "async" and chosen.get("store") not in ASYNC_STORES


class Awaited:
    """An async session, or its client, with blocking calls."""

    def __init__(self, session: Any, runner: asyncio.Runner) -> None:
        self._session = session
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._session, name)
        if name == "client":
            return Awaited(attribute, self._runner)
        if not callable(attribute) or name in ("explain", "within"):
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            result = attribute(*arguments, **options)
            if isinstance(result, sk.AsyncScan):
                return AwaitedScan(result, self._runner)
            return self._runner.run(_awaited(result))

        return call


class AwaitedScan:
    """An async scan that can be iterated over, item by item."""

    def __init__(self, scan: Any, runner: asyncio.Runner) -> None:
        self._scan = scan
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scan, name)

    def __iter__(self) -> Iterator[Any]:
        items = aiter(self._scan)
        try:
            while True:
                try:
                    yield self._runner.run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            self._runner.run(items.aclose())


async def _next(items: Any) -> Any:
    return await anext(items)


async def _awaited(result: Any) -> Any:
    return [each async for each in result] if hasattr(result, "__aiter__") else await result


@pytest.fixture(params=["sync", pytest.param("async", marks=pytest.mark.slow)])
def db(store: str, request: pytest.FixtureRequest) -> Iterator[sk.Session]:
    """An open session, with the shop's table."""
    if request.param == "sync":
        with sk.connect(store, tables=[SHOP]) as session:
            session.create_tables()
            yield session
        return
    with asyncio.Runner() as runner:

        async def opened() -> sk.AsyncSession:
            return await sk.async_connect(store, tables=[SHOP])

        awaited = Awaited(runner.run(opened()), runner)
        awaited.create_tables()
        yield cast(sk.Session, awaited)
        awaited.close()


@pytest.fixture
def memory() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[SHOP]) as session:
        session.create_tables()
        yield session
