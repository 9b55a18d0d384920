"""How much is done between two turns of an event loop, counted in function calls of its thread, not in time.

A call of Python or C is a step of some work on a row, a field or an operator. So the count is the same on any machine,
and grows with whatever a request does at one go.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from types import FrameType
from typing import Any, Final, TypeVar

R = TypeVar("R")

MOST_CALLS: Final = 60_000
"""Between two turns: some milliseconds' work."""


class Turns:
    def __init__(self) -> None:
        self.most = 0
        """The most calls between two turns."""
        self.calls = 0
        """Of all turns."""
        self._since_turn = 0

    async def count(self, work: Coroutine[Any, Any, R]) -> R:
        """Do the work, and count."""
        counting = asyncio.create_task(self._each_turn())
        sys.setprofile(self._called)
        try:
            return await work
        finally:
            sys.setprofile(None)
            self._turn()
            counting.cancel()

    def _called(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            self._since_turn += 1

    async def _each_turn(self) -> None:
        while True:
            self._turn()
            await asyncio.sleep(0)

    def _turn(self) -> None:
        self.most = max(self.most, self._since_turn)
        self.calls += self._since_turn
        self._since_turn = 0
