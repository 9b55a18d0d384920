"""Which connections are read in a turn of the loop, of those that send large bodies.

The loop reads all that has arrived on a connection, up to megabytes, before it looks at the next. Clients that send
quickly would keep it busy: during a hundred bodies of 10 MB, others waited for a second. So the bytes of incomplete
bodies are counted. When a turn has had `TURN_BYTES` of them, a connection that brings more has to wait for its turn.

Each turn reads two of those that wait: the one whose body began first, so that bodies are completed one after the other
and do not use up the memory together; and the one that has waited longest, so that a slow client delays nobody.

A request that arrives in one piece is not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, Protocol

from sortkey.limits import KIB

TURN_BYTES: Final = 512 * KIB
"""They take the loop about a millisecond. It reads a connection in pieces of up to 250 KB."""
DISCARDED: Final = sys.maxsize
"""The number of a body that has been rejected: it is read after all others."""


class Sender(Protocol):
    def pause_body(self) -> None:
        """Read nothing more from the client."""

    def resume_body(self) -> None:
        """Its turn has come. The client may have gone."""


class ReceivingTurns:
    """Belongs to one event loop."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._received = 0
        """In this turn."""
        self._waiting: dict[Sender, int] = {}
        """Those that are not read, with the numbers of their bodies."""
        self._planned = False

    def count(self, sender: Sender, size: int, number: int) -> None:
        """So many bytes have arrived of a body with this number, which is not complete. May pause the sender."""
        self._received += size
        if self._received > TURN_BYTES:
            sender.pause_body()
            self._waiting[sender] = number
        if not self._planned:
            self._planned = True
            self._call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._received = 0
        waiting = self._waiting
        if waiting:
            self._resume(min(waiting, key=waiting.__getitem__))
        if waiting:
            self._resume(next(iter(waiting)))
        self._planned = bool(waiting)
        if self._planned:
            self._call_soon(self._next_turn)

    def _resume(self, sender: Sender) -> None:
        del self._waiting[sender]
        sender.resume_body()
