"""The benchmark of growth, on a scale that is small enough for a test. Its calls check their own answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import sortkey as sk
from benchmarks.growth import KINDS, Orders, measure

CALLS = {"orders": 5, "counts": 2, "prices": 1}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_call_is_measured_beside_the_smallest_store(kind: str, tmp_path: Path) -> None:
    found = list(measure(tmp_path, kind, [1000, 2000], turns=1))
    beside = [result for result in found if result.peers]
    assert len(beside) == 2 * CALLS[kind]
    assert all(result.value > 0 and result.peers["1,000 rows"] > 0 for result in beside)
    assert len([result for result in found if result.name.endswith(", page faults")]) == 2 * CALLS[kind]
    small, large = (result.value for result in found if result.name.startswith("file of"))
    assert 0 < small < large


# Loading the largest store takes far longer than measuring, so a store that is kept is used as it is.
def test_rows_are_not_loaded_again_if_the_last_one_is_there() -> None:
    async def load_again() -> None:
        async with await sk.async_connect("memory:", tables=Orders.tables) as session:
            orders = Orders(session, 1000)
            await orders.load()
            await session.delete(orders.path(5))
            await orders.load()
            assert await session.get(orders.path(5)) is None
            await session.delete(orders.path(999))
            await orders.load()
            assert await session.get(orders.path(5)) is not None

    asyncio.run(load_again())
