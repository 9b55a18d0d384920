"""Many things at a time."""

from __future__ import annotations

import asyncio

import pytest

from sortkey_services.concurrent_map import concurrent_map


def test_results_keep_the_order_of_the_things() -> None:
    async def slower_first(number: int) -> int:
        for _ in range(5 - number):
            await asyncio.sleep(0)
        return number * 10

    assert asyncio.run(concurrent_map(slower_first, range(5), limit=5)) == [0, 10, 20, 30, 40]
    assert asyncio.run(concurrent_map(slower_first, [], limit=5)) == []
    assert asyncio.run(concurrent_map(slower_first, [3], limit=5)) == [30]


def test_no_more_are_under_way_than_allowed() -> None:
    under_way = most = 0

    async def count(_: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    asyncio.run(concurrent_map(count, range(20), limit=3))
    assert most == 3


# A caller that gets an error may continue at once, so no other call may still be writing.
def test_a_failure_is_raised_when_nothing_is_under_way() -> None:
    ended: list[int] = []

    async def work(number: int) -> None:
        try:
            if number == 1:
                raise ValueError("one")
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    async def fail() -> None:
        with pytest.raises(ValueError, match="one"):
            await concurrent_map(work, range(10), limit=4)
        assert sorted(ended) == [0, 1, 2, 3]

    asyncio.run(fail())
