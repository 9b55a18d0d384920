"""GraphQL's execution, microseconds an answer: compiled from the document, beside graphql-core's own executor

Both resolve the same pages in memory and complete the same document; what is read from a store is not part of it. The
answers of both are the same bytes, which is checked first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

import msgspec
from graphql import OperationDefinitionNode, parse, validate

from benchmarks._results import Result
from benchmarks._timing import side_by_side
from sortkey.graphql.compiled import condition_variables
from sortkey.graphql.endpoint import answer_of
from sortkey.graphql.operation import Operation
from sortkey_services.filled_page import CursorMaker, FilledPage
from sortkey_services.pricing.prices import Price, PriceKind
from sortkey_services.pricing.schema import SCHEMA

FIELDS: Final = "store product channel kind amount currency effectiveFrom"
EDGES: Final = f"edges {{ cursor node {{ {FIELDS} }} }} pageInfo {{ hasNextPage endCursor }}"
DOCUMENTS: Final = {
    "one price": (1, f'{{ price(store: "1", product: "p") {{ {FIELDS} }} }}'),
    "64 edges": (64, f'{{ basePrices(store: "1") {{ {EDGES} }} }}'),
    "64 nodes, two fields": (64, '{ basePrices(store: "1") { nodes { product amount } } }'),
    "2,048 edges": (2048, f'{{ basePrices(store: "1", first: 2048) {{ {EDGES} }} }}'),
}
ANSWERED_PRICES: Final = 2_000
"""In each round; graphql-core takes a tenth of a second for them."""


class Prices:
    """The context: prices in memory."""

    def __init__(self, size: int) -> None:
        since = datetime(2026, 8, 24, tzinfo=UTC)
        prices = [
            Price(str(number), f"p{number}", "ALL", PriceKind.BASE, Decimal("12.50"), "EUR", since)
            for number in range(size)
        ]
        cursors: list[CursorMaker] = [(str, number) for number in range(size)]
        self._page = FilledPage(prices, cursors, has_next=True, has_previous=False)

    async def price(self, *_: object) -> Price[Decimal]:
        return self._page.items[0]

    async def base_prices(self, *_: object) -> FilledPage[Price[Decimal]]:
        return self._page


class Executions:
    """Both executions of one document."""

    def __init__(self, size: int, text: str) -> None:
        schema, document = SCHEMA._schema, parse(text)
        assert not validate(schema, document)
        (node,) = document.definitions
        assert isinstance(node, OperationDefinitionNode)
        self._operation = Operation(schema, document, node, condition_variables(document))
        self._prices = Prices(size)
        self._encode = msgspec.json.Encoder().encode

    async def compiled(self) -> bytes:
        return self._encode(answer_of(await self._operation.execute(self._prices, {}, {})))

    async def general(self) -> bytes:
        return self._encode(answer_of(await self._operation.execute_generally(self._prices, {})))


def run() -> Iterator[Result]:
    with asyncio.Runner() as runner:
        for name, (size, text) in DOCUMENTS.items():
            yield measured(runner, name, Executions(size, text), max(2, ANSWERED_PRICES // size))


def measured(runner: asyncio.Runner, name: str, both: Executions, answers: int, rounds: int = 9) -> Result:
    """So many answers a call: to start a loop takes some microseconds, which are not the execution's."""
    if runner.run(both.compiled()) != runner.run(both.general()):
        raise AssertionError(f"{name}: the two executions differ")

    async def repeat(execute: Callable[[], Awaitable[bytes]]) -> None:
        for _ in range(answers):
            await execute()

    ours, general = side_by_side(
        lambda _: runner.run(repeat(both.compiled)), lambda _: runner.run(repeat(both.general)), 1, 1, rounds
    )
    return Result(name, ours / answers, "µs", peers={"graphql-core": general / answers})
