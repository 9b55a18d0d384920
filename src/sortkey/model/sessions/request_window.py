"""How many requests of one kind a session has in flight at a store behind a network: it follows what the store takes.

A `Window` begins with the most that is allowed. When the store throttles, it is halved, once for all requests that were
in flight together; each answer without throttling widens it again, by one request for a whole window of them. It never
closes: one request finds out when the store takes more.

Reads and writes have a window each, since stores have capacity for each. `Slots` and `AsyncSlots` make threads and
tasks wait for their turn, the first one first.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Final

from botocore.exceptions import ClientError

from sortkey.model.calls.steps import THROTTLED, Answer, Deadline, code_of

LOWERED: Final = 0.5


class Window:
    def __init__(self, most: int) -> None:
        self.most = most
        self.size = float(most)
        self._begun = 0
        self._begun_when_lowered = 0

    @property
    def requests(self) -> int:
        """How many may be in flight now."""
        return int(self.size)

    def begin(self) -> int:
        """The number of a request that begins."""
        self._begun += 1
        return self._begun

    def answered(self, number: int, *, throttled: bool) -> None:
        if not throttled:
            self.size = min(self.most, self.size + 1 / self.size)
        elif number > self._begun_when_lowered:
            self.size = max(1.0, LOWERED * self.size)
            self._begun_when_lowered = self._begun


class Slots:
    """The window of threads."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._taken = 0
        self._changed = threading.Condition()

    def take(self, deadline: Deadline) -> int:
        """Wait for a slot; the number of the request that has it. Raises DeadlineExceeded."""
        with self._changed:
            while self._taken >= self.window.requests:
                self._changed.wait(deadline.left())
                deadline.check()
            self._taken += 1
            return self.window.begin()

    def give_back(self, number: int, *, throttled: bool) -> None:
        with self._changed:
            self._taken -= 1
            self.window.answered(number, throttled=throttled)
            self._changed.notify_all()


class AsyncSlots:
    """The window of tasks of one event loop."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> int:
        """Wait for a slot; the number of the request that has it."""
        if self._waiting or self._taken >= self.window.requests:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.cancelled():
                    self._waiting.remove(turn)
                else:
                    self._taken -= 1
                    self._wake()
                raise
        else:
            self._taken += 1
        return self.window.begin()

    def give_back(self, number: int, *, throttled: bool) -> None:
        self._taken -= 1
        self.window.answered(number, throttled=throttled)
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._taken < self.window.requests:
            self._taken += 1
            self._waiting.popleft().set_result(None)


def is_throttled(result: Answer | ClientError) -> bool:
    """Whether the store asks to send less. Keys that a read leaves unprocessed say nothing: its answer may be full."""
    if isinstance(result, ClientError):
        return code_of(result) in THROTTLED
    # botocore waits by itself, where it sends the requests.
    return bool(result.get("UnprocessedItems")) or result.get("ResponseMetadata", {}).get("RetryAttempts", 0) > 0
