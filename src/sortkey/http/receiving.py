"""How large bodies are received: which connections are read in a turn of the loop, and which bodies take too much
memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, Protocol

from sortkey.http.request_parser import RequestError
from sortkey.limits import KIB, MIB

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
    """Which connections are read in a turn of the loop, of those that send large bodies.

    The loop reads all that has arrived on a connection, up to megabytes, before it looks at the next. Clients that send
    quickly would keep it busy: during a hundred bodies of 10 MB, others waited for a second. So the bytes of incomplete
    bodies are counted. When a turn has had `TURN_BYTES` of them, a connection that brings more has to wait for its
    turn.

    Each turn reads two of those that wait: the one whose body began first, so that bodies are completed one after the
    other and do not use up the memory together; and the one that has waited longest, so that a slow client delays
    nobody.

    A request that arrives in one piece is not counted.

    Belongs to one event loop.
    """

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


ARRIVING_BYTES: Final = 128 * MIB
"""Eight of the largest bodies."""
ROOM: Final = 8
"""One part of this many is freed at once, so that the bodies are not compared at every piece that arrives."""
PROGRESS_BYTES: Final = 8 * KIB
PROGRESS_SECONDS: Final = 20
"""In which a body that is not complete must grow by `PROGRESS_BYTES`."""
PACE_SECONDS: Final = 1
"""Over which the present pace is measured."""

TOO_MANY_BYTES: Final = "Too many bytes are being received at once, and these arrived more slowly than others."


class ArrivingBody:
    __slots__ = ("_measured", "_measured_at", "_pace", "_progress", "_progress_at", "number", "reject", "size")

    def __init__(self, number: int, reject: Callable[[RequestError], None], tick: int) -> None:
        """A body that began later has a higher `number`. `reject` gives it up and ends it."""
        self.number = number
        self.reject = reject
        self.size = 0
        self._pace = 0.0
        self._measured = self._progress = 0
        self._measured_at = self._progress_at = tick

    def grow(self, size: int, tick: int) -> None:
        self.size = size
        self._measure(tick)
        if size - self._progress >= PROGRESS_BYTES:
            self._progress = size
            self._progress_at = tick

    def wait(self, tick: int) -> None:
        """The server did not read from the client until now, so its time begins again."""
        self._progress_at = tick

    def is_slow(self, tick: int) -> bool:
        return tick - self._progress_at > PROGRESS_SECONDS

    def weight(self, tick: int) -> float:
        self._measure(tick)
        present = (self.size - self._measured) / (1 + tick - self._measured_at)
        return self.size * self.size / (1 + max(self._pace, present))

    def _measure(self, tick: int) -> None:
        seconds = tick - self._measured_at
        if seconds >= PACE_SECONDS:
            self._pace = (self.size - self._measured) / seconds
            self._measured = self.size
            self._measured_at = tick


class ArrivingBodies:
    """The bodies that are arriving, of all connections of a server, and which of them go when they take too much
    memory.

    A body counts with the bytes that have arrived: a length that is only announced takes no memory. When all bodies
    together exceed `ARRIVING_BYTES`, the heaviest are rejected until an eighth of the room is free. A body's weight is
    its size times the seconds that this size would take at its present pace. So a client that stalls goes before one
    that sends, a large body before a small one, and a newcomer is served.

    Time is counted in the server's ticks, about one a second. They stand still while the loop is busy, so that a client
    is not blamed for what the server has not read yet.

    Belongs to one event loop.
    """

    def __init__(self, limit: int = ARRIVING_BYTES) -> None:
        self._limit = limit
        self._bodies: set[ArrivingBody] = set()
        self._begun = 0
        self.bytes = 0

    def begin(self, reject: Callable[[RequestError], None], tick: int) -> ArrivingBody:
        self._begun += 1
        body = ArrivingBody(self._begun, reject, tick)
        self._bodies.add(body)
        return body

    def grow(self, body: ArrivingBody, size: int, tick: int) -> None:
        """The body has this size now. May reject bodies, this one too."""
        self.bytes += size - body.size
        body.grow(size, tick)
        if self.bytes > self._limit:
            self._make_room(tick)

    def end(self, body: ArrivingBody) -> None:
        """The body is complete, or given up."""
        self._bodies.discard(body)
        self.bytes -= body.size
        body.size = 0

    def _make_room(self, tick: int) -> None:
        for body in sorted(self._bodies, key=lambda body: body.weight(tick), reverse=True):
            if self.bytes <= self._limit - self._limit // ROOM:
                return
            body.reject(RequestError(503, TOO_MANY_BYTES))
