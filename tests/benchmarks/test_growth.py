"""The benchmark of growth, on a scale that is small enough for a test. Its calls check their own answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import sortkey as sk
from benchmarks.growth import CALLS, TABLES, Store, measure, order_path, price_path


@pytest.mark.slow
def test_every_call_is_measured_beside_the_smallest_store(tmp_path: Path) -> None:
    found = {result.name: result for result in measure(tmp_path, [1000, 2000], turns=1)}
    assert len(found) == 4 * len(CALLS) + 4
    for call in CALLS:
        for kind in ("", ", processor time"):
            result = found[f"{call} of 2,000 rows{kind}"]
            assert result.value > 0
            assert result.peers["1,000 rows"] > 0
    assert found["file of 2,000 rows of each kind"].value > found["file of 1,000 rows of each kind"].value


# Loading the largest store takes far longer than measuring, so a store that is kept is used as it is.
def test_a_kind_whose_last_row_is_there_is_not_loaded_again() -> None:
    async def load_twice() -> None:
        async with await sk.async_connect("memory:", tables=TABLES) as session:
            store = Store(session, 1000)
            await store.load()
            for path in (order_path(5), price_path(5), price_path(999)):
                await session.delete(path)
            await store.load()
            assert await session.get(order_path(5)) is None
            assert await session.get(price_path(5)) is not None

    asyncio.run(load_twice())
