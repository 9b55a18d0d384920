"""Work on many things in slices: the other tasks of the event loop have their turn in between.

A slice is about a millisecond's work, counted in things, not by a clock. So the slices of a request are always the
same, and a request of ten thousand things holds up no other request for longer than one of a hundred does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

SLICE: Final = 100
"""Things that take some microseconds each."""


async def in_slices(things: Iterable[T], size: int = SLICE) -> AsyncIterator[list[T]]:
    """The things, a slice at a time."""
    waiting = iter(things)
    some = list(islice(waiting, size))
    while some:
        yield some
        some = list(islice(waiting, size))
        if some:
            await asyncio.sleep(0)


async def mapped(work: Callable[[T], R], things: Iterable[T], size: int = SLICE) -> list[R]:
    """What the function returns for each of the things, in their order."""
    made: list[R] = []
    async for some in in_slices(things, size):
        made += map(work, some)
    return made
