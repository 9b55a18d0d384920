"""The service without Strawberry: REST works, and /graphql says what is missing."""

from __future__ import annotations

import asyncio
from typing import NoReturn

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.pricing import service
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.service import PricingService
from tests.server.calling import Answer, call

MESSAGE = "GraphQL needs Strawberry, which is not installed; run: pip install 'sortkey[graphql]'"


def answers(*requests: tuple[str, str]) -> list[Answer]:
    async def use() -> list[Answer]:
        async with sk.async_connect("memory:", tables=[PRICES, CHANGES]) as session:
            pricing = PricingService(session)
            await pricing.start()
            app = app_of([pricing])
            return [await call(app, method, path) for method, path in requests]

    return asyncio.run(use())


@pytest.mark.parametrize("package", ["strawberry", "graphql"])
def test_without_its_packages_graphql_is_not_found(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> NoReturn:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr(service, "import_module", missing)
    page, operation, prices = answers(("GET", "/graphql"), ("POST", "/graphql"), ("GET", "/pricing/stores/s1/prices"))
    assert [(each.status, each.error["message"]) for each in (page, operation)] == [(404, MESSAGE)] * 2
    assert prices.status == 200


# A misspelled import of our own must not look like that.
def test_another_missing_module_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> NoReturn:
        raise ModuleNotFoundError("No module named 'sortkey.misspelled'", name="sortkey.misspelled")

    monkeypatch.setattr(service, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="misspelled"):
        answers()
