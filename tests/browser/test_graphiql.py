"""GraphiQL in a real browser that can reach nothing but the server: the URL has a query, and the button runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.chromium import needs_chromium
from tests.browser.devtools import tab
from tests.sortkey_services.pricing.process import PricingProcess

pytestmark = needs_chromium

QUERY = '{ price(store: "s1", product: "p1") { amount currency } }'
RESULT = "document.querySelector('.result-window')?.textContent"


@pytest.fixture(scope="module")
def server() -> Iterator[PricingProcess]:
    with PricingProcess() as process:
        yield process


def test_a_query_is_run(server: PricingProcess, tmp_path: Path) -> None:
    async def use() -> tuple[str, list[str]]:
        async with tab(tmp_path) as page:
            await page.open(f"{server.url}/graphql?query={quote(QUERY)}")
            await page.wait_for("document.querySelector('.graphiql-execute-button') !== null")
            await page.run("document.querySelector('.graphiql-execute-button').click()")
            shown = await page.wait_for(f"{RESULT}?.includes('}}') && {RESULT}")
            loaded = await page.run("performance.getEntriesByType('resource').map((each) => each.name)")
            return shown, loaded

    shown, loaded = asyncio.run(use())
    assert json.loads(shown[shown.index("{") :].replace("\u00a0", " ")) == {
        "data": {"price": {"amount": "4.50", "currency": "EUR"}}
    }
    assert len(loaded) >= 6
    assert all(each.startswith(f"{server.url}/graphql") for each in loaded)


# Nothing is typed: the page opens with a query about prices, and the button runs it.
def test_the_page_opens_with_a_query_that_works(server: PricingProcess, tmp_path: Path) -> None:
    async def use() -> tuple[str, str]:
        async with tab(tmp_path) as page:
            await page.open(f"{server.url}/graphql")
            await page.wait_for("document.querySelector('.graphiql-execute-button') !== null")
            editor = "document.querySelector('.graphiql-query-editor')?.textContent"
            text = await page.wait_for(f"{editor}?.includes('basePrices') && {editor}")
            await page.run("document.querySelector('.graphiql-execute-button').click()")
            return text, await page.wait_for(f"{RESULT}?.includes('}}') && {RESULT}")

    text, shown = asyncio.run(use())
    assert "Welcome to GraphiQL" not in text
    answer = json.loads(shown[shown.index("{") :].replace("\u00a0", " "))
    assert list(answer["data"]) == ["basePrices", "swapPrices", "priceChanges"]


# The explorer shows the schema, so the introspection of GraphiQL is within the limits.
def test_the_schema_is_shown(server: PricingProcess, tmp_path: Path) -> None:
    async def use() -> str:
        async with tab(tmp_path) as page:
            await page.open(f"{server.url}/graphql")
            await page.wait_for("document.querySelector('[aria-label=\"Show Documentation Explorer\"]') !== null")
            await page.run("document.querySelector('[aria-label=\"Show Documentation Explorer\"]').click()")
            text = "document.querySelector('.graphiql-doc-explorer')?.innerText"
            return str(await page.wait_for(f"{text}?.includes('Mutation') && {text}"))

    assert "Query" in asyncio.run(use())
