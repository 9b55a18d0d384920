"""One client's connection: bytes in, requests begun, answers out in the order of their requests.

Requests of one connection behave as if they were executed one after the other. A read waits until the writes before it
are answered; writes may be under way together, since the write queue keeps their order, and so share commits.

Memory stays bounded whatever the client does: while it does not take its answers, or has many requests under way,
nothing more is read from it.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, cast

from sortkey.http.metrics import ServerMetrics
from sortkey.http.outbox import Outbox
from sortkey.http.request_parser import Event, Request, RequestError, RequestParser
from sortkey.limits import KIB, MIB

CONTINUE_BYTES: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

UNDER_WAY: Final = 64
"""Requests of one connection that may wait or be under way before reading from it pauses."""
TURN_BYTES: Final = 256 * KIB
"""Answers put together before others get their turn."""
TURN_REQUESTS: Final = 64

REQUEST_SECONDS: Final = 60
"""From a request's first byte to its last."""
IDLE_SECONDS: Final = 350
"""Between two requests. SDKs keep a connection for less, and so close first: no request meets a closing connection."""
STALLED_SECONDS: Final = 60
"""For a client to take answers that wait for it."""
LINGER_SECONDS: Final = 2
"""To let a rejected client read its answer before the connection is torn down under what it still sends."""

BUFFERED_BYTES: Final = 512 * MIB
"""Of bodies that are not complete yet, over all connections."""

KEEPALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)
"""A peer that vanished without a word is noticed within two minutes."""


Reply = Callable[[bytes], None]
Expect = Callable[[], Reply]
"""Keeps a place for an answer that comes later, and says who takes it."""


class RequestHandler(Protocol):
    """Who answers requests."""

    def begin(self, request: Request, expect: Expect) -> bytes | None:
        """The answer; or nothing yet, and then `expect` was called for who will be told."""

    def reject(self, error: RequestError) -> bytes:
        """The answer to what is not acceptable HTTP."""

    def writes(self, request: Request) -> bool:
        """Whether the request may begin although answers to earlier ones are outstanding."""


class Owner(Protocol):
    """What connections have in common: the server."""

    tick: int
    """Seconds, counted by the loop; cheaper than asking the clock for each request."""
    buffered: int
    """Bytes of bodies that are not complete yet, of all connections."""
    stopping: bool
    """Nothing more is begun than what has come already."""
    call_soon: Callable[[Callable[[], None]], object]
    outbox: Outbox

    @property
    def metrics(self) -> ServerMetrics: ...

    def handler(self, peer: str) -> RequestHandler:
        """Who answers the requests of a connection from there."""

    def joins(self, connection: Connection) -> bool:
        """Whether there is room for one more connection."""

    def leaves(self, connection: Connection) -> None: ...


class Slot:
    """The place of an answer among those of its connection."""

    __slots__ = ("_connection", "answer", "last")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.answer: bytes | None = None
        self.last = False

    def fill(self, answer: bytes) -> None:
        self.answer = answer
        if not self._connection.sends_alone(self):
            self._connection.flush()


class Connection(asyncio.Protocol):
    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._endpoint: RequestHandler
        self._metrics = owner.metrics
        self._outbox = owner.outbox
        self._parser = RequestParser()
        self._backlog: deque[Event] = deque()
        self._slots: deque[Slot] = deque()
        self._transport: asyncio.Transport
        self._closed = False
        self._lingering = False
        self._ended = False
        self._stalled = False
        self._paused = False
        self._since = owner.tick
        self._buffered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        self._endpoint = self._owner.handler(address[0] if address else "")
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            for option in KEEPALIVE:
                sock.setsockopt(*option)
        if not self._owner.joins(self):
            self._part(self._endpoint.reject(RequestError(503, "Too many connections are open.")))

    def connection_lost(self, _error: Exception | None) -> None:
        self._closed = True
        self._owner.buffered -= self._buffered
        self._backlog.clear()
        self._owner.leaves(self)

    def data_received(self, data: bytes) -> None:
        if self._lingering:
            return
        self._metrics.received += len(data)
        parser = self._parser
        begins = not parser.receiving
        events = parser.feed(data)
        if begins or events:
            self._since = self._owner.tick
        if len(events) == 1 and not (parser.receiving or self._buffered) and self._answer_alone(events[0]):
            return
        self._backlog.extend(events)
        if parser.receiving or self._buffered:
            self._keep_count()
        self._advance()

    def _answer_alone(self, event: Event) -> bool:
        """The usual case, one request and nothing else under way, without the bookkeeping that the others need."""
        if type(event) is not Request or self._slots or self._backlog or self._stalled:
            return False
        if not event.keep_alive or self._owner.stopping:
            return False
        answer = self._endpoint.begin(event, self._expect)
        if answer is not None:
            self._outbox.put(self._transport, answer)
        return True

    def _expect(self) -> Reply:
        """A place behind the answers that are under way, for one that is, too."""
        slot = Slot(self)
        self._slots.append(slot)
        return slot.fill

    def eof_received(self) -> bool:
        """The client has sent its last; it may still read."""
        self._ended = True
        self._outbox.send()
        return bool(self._backlog or self._slots)

    def pause_writing(self) -> None:
        self._stalled = True
        self._since = self._owner.tick
        self._steer()

    def resume_writing(self) -> None:
        self._stalled = False
        self._advance()

    def sends_alone(self, slot: Slot) -> bool:
        """The usual case again: the answer is the only one outstanding, and nothing waits behind it."""
        if len(self._slots) != 1 or self._backlog or slot.last or self._closed or self._ended or self._owner.stopping:
            return False
        self._slots.clear()
        self._since = self._owner.tick
        if slot.answer is not None:
            self._outbox.put(self._transport, slot.answer)
        return True

    def flush(self) -> None:
        """Send the answers whose turn has come."""
        slots = self._slots
        ready = []
        last = False
        while slots and slots[0].answer is not None:
            slot = slots.popleft()
            ready.append(slot.answer or b"")
            last = slot.last
        if not ready or self._closed:
            return
        self._since = self._owner.tick
        if last:
            self._part(b"".join(ready))
            return
        self._send(ready)
        self._advance()

    def check(self) -> None:
        """Once a second: whether the client has had its time."""
        waited = self._owner.tick - self._since
        if self._lingering:
            if waited > LINGER_SECONDS:
                self._transport.abort()
        elif self._stalled:
            if waited > STALLED_SECONDS:
                self._transport.abort()
        elif self._backlog or self._slots:
            return
        elif self._parser.receiving:
            if waited > REQUEST_SECONDS:
                self._part(self._endpoint.reject(RequestError(408, "The request took too long to arrive.")))
        elif waited > IDLE_SECONDS:
            self._transport.close()

    def stop(self) -> None:
        """Close as soon as nothing is under way."""
        half = self._parser.receiving and not self._ended
        if not (self._backlog or self._slots or half or self._lingering):
            self._outbox.send()
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def _advance(self) -> None:
        """Begin the requests that may begin now."""
        backlog = self._backlog
        ready: list[bytes] = []
        size = 0
        turns = TURN_REQUESTS
        while backlog and not self._stalled and not self._lingering:
            event = backlog[0]
            if self._slots and not self._may_join(event):
                break
            if size > TURN_BYTES or not turns:
                self._owner.call_soon(self._advance)
                break
            del backlog[0]
            turns -= 1
            answer = self._begin(event)
            if answer is None:
                continue
            if self._last(event):
                self._part(b"".join((*ready, answer)))
                return
            ready.append(answer)
            size += len(answer)
        if ready:
            self._send(ready)
        if self._stalled or self._paused or len(backlog) > UNDER_WAY:
            self._steer()
        if self._ended or self._owner.stopping:
            self.stop()

    def _may_join(self, event: Event) -> bool:
        """Whether it may begin although answers to earlier requests are outstanding."""
        return (
            isinstance(event, Request)
            and len(self._slots) < UNDER_WAY
            and not self._slots[-1].last
            and self._endpoint.writes(event)
        )

    def _begin(self, event: Event) -> bytes | None:
        """The answer; or nothing, and a slot waits for it."""
        if isinstance(event, Request):
            if self._owner.stopping:
                event.keep_alive = False
            answer = self._endpoint.begin(event, self._expect)
            if answer is not None:
                if not self._slots:
                    return answer
                self._expect()
                self._slots[-1].answer = answer
            self._slots[-1].last = not event.keep_alive
            return None
        if isinstance(event, RequestError):
            return self._endpoint.reject(event)
        return CONTINUE_BYTES

    def _last(self, event: Event) -> bool:
        return isinstance(event, RequestError) or (isinstance(event, Request) and not event.keep_alive)

    def _send(self, answers: list[bytes]) -> None:
        self._outbox.put(self._transport, answers[0] if len(answers) == 1 else b"".join(answers))

    def _part(self, answer: bytes) -> None:
        """Send a last answer. What the client still sends is thrown away for a while, or it would never read it."""
        self._lingering = True
        self._since = self._owner.tick
        self._backlog.clear()
        self._slots.clear()
        if self._closed:
            return
        self._outbox.put(self._transport, answer)
        self._outbox.send()
        if self._ended:
            self._transport.close()
        else:
            self._transport.write_eof()
            self._transport.resume_reading()

    def _steer(self) -> None:
        """Read from the client, or leave it waiting."""
        pause = self._stalled or len(self._backlog) > UNDER_WAY
        if self._closed or self._lingering or pause == self._paused:
            return
        self._paused = pause
        if pause:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _keep_count(self) -> None:
        """Bodies that come slowly must not fill the memory, however many they are."""
        size = self._parser.body_bytes if self._parser.receiving else 0
        self._owner.buffered += size - self._buffered
        self._buffered = size
        if self._owner.buffered > BUFFERED_BYTES:
            self._backlog.append(RequestError(503, "Too much is being received at once."))
