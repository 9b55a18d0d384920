"""One client's connection: bytes in, requests begun, answers out in the order of their requests.

Requests of one connection behave as if they were executed one after the other. A request waits until the requests
before it are answered, unless its handler allows an overlap.

Memory stays bounded whatever the client does: nothing more is read from a client that does not take its answers, or
whose requests wait in large number or size. Bodies that are arriving share a limit with those of other connections.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, cast

import msgspec

from sortkey.http.metrics import ServerMetrics
from sortkey.http.receiving import DISCARDED, ArrivingBodies, ArrivingBody, ReceivingTurns
from sortkey.http.request_parser import Event, KnownHeads, Request, RequestError, RequestParser
from sortkey.http.sending import Outbox, UnsentAnswers
from sortkey.limits import KIB, MIB

if sys.platform == "darwin":
    _KEEPALIVE_IDLE: Final = socket.TCP_KEEPALIVE
else:
    _KEEPALIVE_IDLE: Final = socket.TCP_KEEPIDLE
KEEPALIVE_OPTIONS: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, _KEEPALIVE_IDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)


def keep_alive(connected: socket.socket | None) -> None:
    """Switch on TCP's keep-alive probes, which detect within two minutes that a peer has vanished. A socket that is not
    TCP needs none."""
    if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        for option in KEEPALIVE_OPTIONS:
            connected.setsockopt(*option)


CONTINUE_BYTES: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
UNDER_WAY: Final = 64
"""Requests of one connection that may wait or be under way before reading from it pauses."""
WAITING_BYTES: Final = MIB
"""Of the bodies of its requests that wait, before reading from it pauses."""
TURN_BYTES: Final = 256 * KIB
"""Bytes of answers that one connection may add before other connections get their turn."""
TURN_REQUESTS: Final = 64
"""Requests that one connection may begin before other connections get their turn."""
REQUEST_SECONDS: Final = 60
"""From a request's first byte to its last."""
IDLE_SECONDS: Final = 350
"""Between two requests. SDKs close idle connections earlier, so no request meets a closing connection."""
STALLED_SECONDS: Final = 60
"""For a client to take the answers that wait for it."""
GONE_SECONDS: Final = 60
"""For the answers to a client that sends nothing more. It may wait for them, or have gone without notice."""
STREAM_BYTES: Final = MIB
"""Of a stream that its client does not take; then the client goes."""
LINGER_SECONDS: Final = 2
"""For a rejected client to read its answer before the connection is aborted."""


class PendingAnswer(msgspec.Struct, eq=False):
    """The place of an answer that comes later, among the answers of its connection."""

    _connection: Connection
    answer: bytes | None = None
    last: bool = False
    overlaps: bool = True
    """Whether requests behind it may begin before it is answered, if their handler allows that."""

    @property
    def abandoned(self) -> bool:
        """The client has gone, so the answer is not needed."""
        return self._connection.closed

    def is_unread(self) -> bool:
        """The client has closed the connection, or at least its side of it: it has most likely gone."""
        return self._connection.closed or self._connection.ended

    def send(self, answer: bytes) -> None:
        """Send it after the answers before it, at the end of the loop's turn."""
        if not self._connection.send_fast(self, answer):
            self.answer = answer
            self._connection.send_in_order()

    def send_in_pieces(self, pieces: list[bytes]) -> None:
        """The same for an answer that is not joined, if possible."""
        if not self._connection.send_pieces(self, pieces):
            self.send(b"".join(pieces))

    def send_now(self, answer: bytes) -> None:
        """Send it after the answers before it, without waiting for the end of the loop's turn."""
        self.send(answer)
        self._connection.outbox.send()

    def begin_stream(self, head: bytes, farewell: bytes) -> Stream:
        """Send the beginning of an answer that goes on until the client or the server ends it. It has no length, so the
        connection ends with it. `farewell` is sent when the server stops. For an answer without others before it."""
        self.overlaps = False
        return self._connection.begin_stream(head, farewell)


class Stream:
    """An answer that is sent in parts, as they come."""

    def __init__(self, connection: Connection, farewell: bytes) -> None:
        self._connection = connection
        self.farewell = farewell

    @property
    def closed(self) -> bool:
        return self._connection.closed

    def send(self, part: bytes) -> bool:
        """False if the client is gone, or has not taken `STREAM_BYTES`: then it goes."""
        return self._connection.send_part(part)

    def end(self) -> None:
        self._connection.end_stream()


Defer = Callable[[], PendingAnswer]
"""Reserves the place of an answer that comes later."""


class RequestHandler(Protocol):
    """Answers requests."""

    def begin(self, request: Request, defer: Defer) -> bytes | None:
        """Return the answer; or call `defer`, return None, and send the answer later. Never raises."""

    def reject(self, error: RequestError) -> bytes:
        """The answer to bytes that are not acceptable HTTP."""

    def body_limit(self, headers: dict[bytes, bytes]) -> int:
        """The most bytes that the body of a request with these headers may have: a million or more."""

    def may_overlap(self, request: Request) -> bool:
        """Whether the request may begin before the requests before it are answered."""


class Host(Protocol):
    """What a connection needs from its server."""

    tick: int
    """Seconds, counted by the loop; cheaper than reading the clock for each request."""
    arriving: ArrivingBodies
    receiving: ReceivingTurns
    unsent: UnsentAnswers
    heads: KnownHeads
    stopping: bool
    """Only requests that have arrived already are begun."""
    call_soon: Callable[[Callable[[], None]], object]
    outbox: Outbox

    @property
    def metrics(self) -> ServerMetrics: ...

    def handler_for(self, peer: str) -> RequestHandler:
        """Answers the requests of a connection from this address."""

    def add(self, connection: Connection) -> bool:
        """Whether there is room for the connection."""

    def remove(self, connection: Connection) -> None: ...


class Connection(asyncio.Protocol):
    def __init__(self, host: Host) -> None:
        self._host = host
        self._handler: RequestHandler
        self._metrics = host.metrics
        self.outbox = host.outbox
        self._backlog: deque[Event] = deque()
        self._pending: deque[PendingAnswer] = deque()
        self._transport: asyncio.Transport
        self.closed = False
        self._lingering = False
        self.ended = False
        self._stalled = False
        self._paused = False
        self._since = host.tick
        self._arriving: ArrivingBody | None = None
        self._stream: Stream | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        self._handler = self._host.handler_for(address[0] if address else "")
        self._parser = RequestParser(self._handler.body_limit, self._host.heads)
        keep_alive(transport.get_extra_info("socket"))
        if not self._host.add(self):
            self._send_last(self._handler.reject(RequestError(503, "Too many connections are open.")))

    def connection_lost(self, _error: Exception | None) -> None:
        self.closed = True
        self._end_arriving()
        self._host.unsent.end(self)
        self._backlog.clear()
        self._parser.close()
        self._host.remove(self)

    def data_received(self, data: bytes) -> None:
        if self._lingering:
            self._host.receiving.count(self, len(data), DISCARDED)
            return
        self._metrics.received += len(data)
        parser = self._parser
        begins = not parser.receiving
        events = parser.feed(data)
        if begins or events:
            self._since = self._host.tick
        if self._arriving is not None and events:
            self._end_arriving()
        if len(events) == 1 and not parser.receiving and self._begin_fast(events[0]):
            return
        self._backlog.extend(events)
        if parser.receiving_body:
            self._count_arriving(len(data))
        self._advance()

    def _begin_fast(self, event: Event) -> bool:
        """Handles the common case, one request and nothing else under way; returns False otherwise."""
        if type(event) is not Request or self._pending or self._backlog or self._stalled:
            return False
        if not event.keep_alive or self._host.stopping:
            return False
        request: Request = event
        answer = self._handler.begin(request, self._defer)
        if answer is not None:
            if request.keep_alive:
                self.outbox.put(self._transport, answer)
            else:
                # The handler rejected the request, and ends its connection.
                self._send_last(answer)
        return True

    def _defer(self) -> PendingAnswer:
        """Reserve the place behind the answers that are pending."""
        pending = PendingAnswer(self)
        self._pending.append(pending)
        return pending

    def eof_received(self) -> bool:
        """The client sends nothing more; it may still read."""
        self.ended = True
        self._since = self._host.tick
        self.outbox.send()
        # A client of a stream that sends nothing more has gone.
        return self._stream is None and bool(self._backlog or self._pending)

    def pause_writing(self) -> None:
        self._stalled = True
        self._since = self._host.tick
        self._host.unsent.grow(self, self._transport.get_write_buffer_size())
        self._pause_or_resume_reading()

    def resume_writing(self) -> None:
        self._stalled = False
        self._host.unsent.end(self)
        self._advance()

    def send_fast(self, pending: PendingAnswer, answer: bytes) -> bool:
        """Handles the common case, one pending answer and nothing behind it; returns False otherwise."""
        if len(self._pending) != 1 or self._backlog or pending.last:
            return False
        if self.closed or self.ended or self._stalled or self._host.stopping:
            return False
        self._pending.clear()
        self._since = self._host.tick
        self.outbox.put(self._transport, answer)
        return True

    def send_pieces(self, pending: PendingAnswer, pieces: list[bytes]) -> bool:
        """As `send_fast`, for an answer in pieces."""
        if not self.send_fast(pending, pieces[0]):
            return False
        for piece in pieces[1:]:
            self._send([piece])
        return True

    def send_in_order(self) -> None:
        """Send the pending answers whose turn has come."""
        ready = []
        last = False
        while self._pending and (answer := self._pending[0].answer) is not None:
            ready.append(answer)
            last = self._pending.popleft().last
        if not ready or self.closed:
            return
        self._since = self._host.tick
        if last:
            self._send_last(b"".join(ready))
            return
        self._send(ready)
        self._advance()

    def begin_stream(self, head: bytes, farewell: bytes) -> Stream:
        self._stream = stream = Stream(self, farewell)
        self.send_part(head)
        if self._host.stopping:
            self.end_stream()
        return stream

    def send_part(self, part: bytes) -> bool:
        if self.closed or self._transport.is_closing():
            return False
        if self._transport.get_write_buffer_size() > STREAM_BYTES:
            self._transport.abort()
            return False
        if not self._stalled:
            self._since = self._host.tick
        self.outbox.put(self._transport, part)
        return True

    def end_stream(self) -> None:
        """Send the farewell, and close."""
        if self._stream is not None and self.send_part(self._stream.farewell):
            self.outbox.send()
            self._transport.close()

    def check(self) -> None:
        """Once a second: end the connection of a client that exceeds a time limit."""
        waited = self._host.tick - self._since
        if self._lingering:
            if waited > LINGER_SECONDS:
                self._transport.abort()
        elif self._stalled:
            if waited > STALLED_SECONDS:
                self._transport.abort()
        elif self._backlog or self._pending:
            # A stop does not wait long for a client that has probably gone.
            if self.ended and waited > (LINGER_SECONDS if self._host.stopping else GONE_SECONDS):
                self._transport.abort()
        elif self._parser.receiving:
            slow = self._arriving is not None and self._arriving.is_slow(self._host.tick)
            if slow or waited > REQUEST_SECONDS:
                self._send_last(self._handler.reject(RequestError(408, "The request took too long to arrive.")))
        elif waited > IDLE_SECONDS:
            self._transport.close()

    def stop(self) -> None:
        """Close if nothing is under way; a stream ends here."""
        if self._stream is not None:
            self.end_stream()
            return
        half = self._parser.receiving and not self.ended
        if not (self._backlog or self._pending or half or self._lingering):
            self.outbox.send()
            self._transport.close()

    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

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
            if self._pending and not self._may_overlap(event):
                break
            if size > TURN_BYTES or not turns:
                self._host.call_soon(self._advance)
                break
            del backlog[0]
            turns -= 1
            answer = self._begin(event)
            if answer is None:
                continue
            if self._is_last(event):
                self._send_last(b"".join((*ready, answer)))
                return
            ready.append(answer)
            size += len(answer)
        if ready:
            self._send(ready)
        if backlog or self._stalled or self._paused:
            self._pause_or_resume_reading()
        if self.ended or self._host.stopping:
            self.stop()

    def _may_overlap(self, event: Event) -> bool:
        """Whether it may begin while earlier answers are pending."""
        return (
            isinstance(event, Request)
            and len(self._pending) < UNDER_WAY
            and not self._pending[-1].last
            and self._pending[-1].overlaps
            and self._handler.may_overlap(event)
        )

    def _begin(self, event: Event) -> bytes | None:
        """The answer to send; None if it comes later, or waits behind pending ones."""
        if isinstance(event, Request):
            if self._host.stopping:
                event.keep_alive = False
            answer = self._handler.begin(event, self._defer)
            if answer is not None:
                if not self._pending:
                    return answer
                self._defer().answer = answer
            self._pending[-1].last = not event.keep_alive
            return None
        if isinstance(event, RequestError):
            return self._handler.reject(event)
        return CONTINUE_BYTES

    def _is_last(self, event: Event) -> bool:
        return isinstance(event, RequestError) or (isinstance(event, Request) and not event.keep_alive)

    def _send(self, answers: list[bytes]) -> None:
        answer = answers[0] if len(answers) == 1 else b"".join(answers)
        self.outbox.put(self._transport, answer)
        if self._stalled:
            self._host.unsent.grow(self, len(answer))

    def _send_last(self, answer: bytes) -> None:
        """Send the connection's last answer, and discard what still arrives.

        Closing at once would reset the connection, and a client that is still sending would not read the answer.
        """
        self._lingering = True
        self._since = self._host.tick
        self._backlog.clear()
        self._pending.clear()
        self._parser.discard()
        self._end_arriving()
        if self.closed:
            return
        self.outbox.put(self._transport, answer)
        self.outbox.send()
        if self.ended:
            self._transport.close()
        else:
            self._transport.write_eof()
            self._transport.resume_reading()

    def _pause_or_resume_reading(self) -> None:
        """Stop reading while too much is under way."""
        pause = self._stalled or self._has_much_waiting()
        if self.closed or self._lingering or pause == self._paused:
            return
        self._paused = pause
        if pause:
            self._transport.pause_reading()
            return
        self._transport.resume_reading()
        if self._arriving is not None:
            self._arriving.wait(self._host.tick)

    def pause_body(self) -> None:
        if not self.closed:
            self._transport.pause_reading()

    def resume_body(self) -> None:
        if not self.closed and not self._paused:
            self._transport.resume_reading()

    def _has_much_waiting(self) -> bool:
        backlog = self._backlog
        if len(backlog) > UNDER_WAY:
            return True
        return sum(len(event.body) for event in backlog if isinstance(event, Request)) > WAITING_BYTES

    def _count_arriving(self, size: int) -> None:
        host = self._host
        if self._arriving is None:
            self._arriving = host.arriving.begin(self._reject_arriving, host.tick)
        host.receiving.count(self, size, self._arriving.number)
        host.arriving.grow(self._arriving, self._parser.body_bytes, host.tick)

    def _end_arriving(self) -> None:
        if self._arriving is not None:
            self._host.arriving.end(self._arriving)
            self._arriving = None

    def _reject_arriving(self, error: RequestError) -> None:
        """Give up the body that is arriving. The answers of the requests before it come first."""
        self._parser.discard()
        self._end_arriving()
        self._backlog.append(error)
        self._advance()
