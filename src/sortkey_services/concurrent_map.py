"""One coroutine function for many arguments, with a limit on how many run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def concurrent_map(work: Callable[[T], Awaitable[R]], arguments: Sequence[T], limit: int) -> list[R]:
    """The results in the order of the arguments. Raises the first error, after all running calls have ended."""
    if len(arguments) == 1:
        return [await work(arguments[0])]
    results: dict[int, R] = {}
    waiting = iter(enumerate(arguments))

    async def worker() -> None:
        for index, argument in waiting:
            results[index] = await work(argument)
            # Work on a store in the process may wait for nothing: other tasks have their turn.
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(worker()) for _ in range(min(limit, len(arguments)))]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    return [results[index] for index in range(len(arguments))]
