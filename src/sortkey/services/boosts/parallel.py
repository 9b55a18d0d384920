"""The same work for many things, so many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def in_parallel(work: Callable[[T], Awaitable[R]], things: Sequence[T], at_once: int) -> list[R]:
    """The results in the order of the things. The first failure is raised as it is, once nothing is under way."""
    if len(things) == 1:
        return [await work(things[0])]
    results: dict[int, R] = {}
    waiting = iter(enumerate(things))

    async def worker() -> None:
        for index, thing in waiting:
            results[index] = await work(thing)

    tasks = [asyncio.create_task(worker()) for _ in range(min(at_once, len(things)))]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    return [results[index] for index in range(len(things))]
