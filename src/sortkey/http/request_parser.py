"""HTTP requests out of a stream of bytes: a state machine without sockets.

`feed` takes bytes as they arrive, in pieces of any size, and returns what they completed, in order:

    Request        a whole request, its body as it was sent
    CONTINUE       the client sent a head with `Expect: 100-continue` and waits before it sends the body
    RequestError   the bytes are not acceptable HTTP; answer and close, nothing after it is read

httptools (llhttp) knows the grammar: chunked bodies, pipelined requests, contradicting lengths. It sets no limits;
those on the size of the head, the number of its lines and the size of the body are enforced here. So are RFC 9112's
rules that llhttp does not know: exactly one Host, and no Transfer-Encoding in HTTP/1.0. A body that announces a length
beyond its limit is rejected before it is received.

Limits do not depend on how the bytes are cut. A head is the target, the names and the values of its headers; what
arrives together with it, before or behind, does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import httptools
import msgspec

from sortkey import limits

HEAD_BYTES: Final = 64 * limits.KIB
HEADERS: Final = 100
"""Lines, of which several may have one name. Headers behind a chunked body count, too."""
BODY_BYTES: Final = 16 * limits.MIB
SHORT_LENGTH: Final = 6
"""Digits of a Content-Length that every limit on bodies allows."""

KNOWN_HEADS: Final = 256
KNOWN_HEAD_BYTES: Final = 2 * limits.KIB
"""Longer heads are not kept. With its headers, one takes several times as much memory."""
SEEN_HEADS: Final = 1024
"""Heads that may come between two equal ones."""
MISSES: Final = 16
"""Unknown heads of a connection in a row, after which only each sixteenth is looked up: its client signs requests."""

BodyLimit: TypeAlias = Callable[[dict[bytes, bytes]], int]
"""The most bytes that the body of a request with these headers may have: a million or more."""


class Request(msgspec.Struct, eq=False):
    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    """By lower-case name; of a repeated header, the last."""
    body: bytes
    keep_alive: bool

    @property
    def host(self) -> bytes:
        """The name and port that the request is for; empty if it has none.

        A target that is a whole URL, as clients send it to a proxy, has its own; `Host` is then ignored (RFC 9112,
        3.2.2).
        """
        if self.target[:1] == b"/":
            return self.headers.get(b"host", b"")
        return self.target.partition(b"://")[2].partition(b"/")[0]


class RequestError(Exception):
    """A request that is not acceptable HTTP; the status and the message are for its answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Continue:
    __slots__ = ()


CONTINUE: Final = Continue()

Event: TypeAlias = Request | RequestError | Continue


class KnownHead(msgspec.Struct, frozen=True, gc=False):
    """What llhttp made of a head, in a request of so many bytes."""

    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    request_bytes: int


class KnownHeads:
    """Heads that came again, byte by byte the same, and what llhttp made of them.

    Clients that do not sign each request repeat their heads. From a known head follow the length of its request, and
    everything but the body; so a request that arrives whole, and alone, needs no parser. (Processor time of a GetItem
    over HTTP with seven headers: 12.5 µs parsed, 10.7 with a known head.) What llhttp or a limit has to see each time
    is not kept: `Expect`, chunks, a long body, the last request of a connection.

    Belongs to one event loop, and is shared by its connections.
    """

    __slots__ = ("_heads", "_seen", "get")

    def __init__(self) -> None:
        self._heads: dict[bytes, KnownHead] = {}
        self._seen: set[int] = set()
        """Hashes of heads that came once. The head of a signed request does not come again, and is not kept."""
        self.get: Callable[[bytes], KnownHead | None] = self._heads.get

    def learn(self, head: bytes, request: Request, request_bytes: int) -> None:
        """A request of so many bytes with this head arrived, whole and alone."""
        number = hash(head)
        if number not in self._seen:
            if len(self._seen) >= SEEN_HEADS:
                self._seen.clear()
            self._seen.add(number)
        elif _is_repeatable(head, request, request_bytes):
            if len(self._heads) >= KNOWN_HEADS:
                del self._heads[next(iter(self._heads))]
            self._heads[head] = KnownHead(request.method, request.target, request.headers, request_bytes)


def _is_repeatable(head: bytes, request: Request, request_bytes: int) -> bool:
    headers = request.headers
    return (
        request.keep_alive
        and len(head) + len(request.body) == request_bytes
        and len(headers.get(b"content-length", b"")) <= SHORT_LENGTH
        and b"expect" not in headers
        and b"transfer-encoding" not in headers
    )


class _Stop(Exception):
    """Raised inside a callback to stop llhttp."""


_HEAD_END: Final = b"\r\n\r\n"
_NOTHING: Final = (0, 0, 0)
"""Headers, bytes of the target and bytes of the body of a request that llhttp has reported nothing of."""
_SOMETHING: Final = (-1, -1, -1)
"""Of a request that llhttp has not seen: differs from whatever it reports next."""


class RequestParser:
    """The names of the callbacks (`on_…`) are those of httptools."""

    def __init__(self, body_limit: BodyLimit = lambda _: BODY_BYTES, heads: KnownHeads | None = None) -> None:
        self.receiving = False
        """A request has begun and is not complete."""
        self.body_bytes = 0
        """Bytes of its body that have arrived."""
        self._parser = httptools.HttpRequestParser(self)
        self._heads = heads or KnownHeads()
        self._misses = 0
        """Unknown heads in a row."""
        self._body_limit = body_limit
        self._most_bytes = BODY_BYTES
        """Of the body that is arriving."""
        self._events: list[Event] = []
        self._rejected = False
        self._read_bytes = 0
        """Of the piece that is being read."""
        self._fed = 0
        """Bytes of all pieces since the request began, with those of other requests: the head has no more."""
        self._in_head = False
        self._expects = False
        self._silent = 0
        """Bytes of the last pieces, for which llhttp called nothing."""
        self._reported = _NOTHING
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._more_lines = 0
        """Headers that `_headers` does not have: those with the name of a later one, and those behind the body."""
        self._more_bytes = 0
        self._body: bytes | bytearray = b""
        """Of several pieces, a bytearray: in chunks of two bytes, a list of pieces would take thirty times the body."""

    @property
    def receiving_body(self) -> bool:
        """The head of a request is complete, and its body is not."""
        return self.receiving and not self._in_head

    def feed(self, data: bytes) -> list[Event]:
        if self._rejected:
            return []
        if self.receiving:
            return self._parse(data)
        self._misses += 1
        if self._misses > MISSES and self._misses % MISSES:
            return self._parse(data)
        size = data.find(_HEAD_END, 0, KNOWN_HEAD_BYTES) + len(_HEAD_END)
        head = data[:size]
        known = self._heads.get(head)
        if known is not None and known.request_bytes == len(data):
            self._misses = 0
            self._reported = _SOMETHING
            return [Request(known.method, known.target, known.headers, data[size:], True)]
        events = self._parse(data)
        if len(events) == 1 and type(events[0]) is Request and not self.receiving:
            self._heads.learn(head, events[0], len(data))
        return events

    def _parse(self, data: bytes) -> list[Event]:
        self._read_bytes = size = len(data)
        self._fed += size
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._reject(400, "The request is not valid HTTP.")
        if self.receiving or not self._events:
            self._check_unfinished(size)
        if self._expects:
            self._expects = False
            self._events.append(CONTINUE)
        events = self._events
        # The parser is part of a cycle, and a connection may be idle for long: neither must keep a body.
        self._events = []
        return events

    def on_message_begin(self) -> None:
        self.receiving = self._in_head = True
        self.body_bytes = 0
        self._fed = self._read_bytes
        self._silent = 0
        self._reported = _NOTHING
        self._target = b""
        self._headers = {}
        self._more_lines = self._more_bytes = 0
        self._body = b""

    def on_url(self, url: bytes) -> None:
        self._target += url
        if len(self._target) > HEAD_BYTES:
            self._stop(414, f"The request's target has more than {HEAD_BYTES} bytes.")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            # Headers behind a chunked body (trailers) are ignored.
            self._count_more(name, value)
            return
        headers = self._headers
        name = name.lower()
        if name in headers:
            if name == b"host":
                self._stop(400, "The request has more than one Host header.")
            headers[name], value = value, headers[name]
            self._count_more(name, value)
            return
        headers[name] = value
        if len(headers) > HEADERS:
            self._stop_long_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        headers = self._headers
        if self._fed > HEAD_BYTES or self._more_lines:
            self._check_head()
        if self._parser.should_upgrade():
            # Ignoring the upgrade would be legal, but llhttp stops here and does not parse the body.
            self._stop(400, "Upgrades are not supported; this server speaks HTTP/1.1.")
        if b"host" not in headers and self._parser.get_http_version() != "1.0":
            self._stop(400, "The request has no Host header.")
        if b"transfer-encoding" in headers and self._parser.get_http_version() == "1.0":
            self._stop(400, "HTTP/1.0 has no Transfer-Encoding.")
        length = headers.get(b"content-length")
        if length is None or len(length) > SHORT_LENGTH:
            self._most_bytes = self._body_limit(headers)
            if length is not None and int(length) > self._most_bytes:
                self._stop_long_body()
        if b"expect" in headers:
            if headers[b"expect"].lower() != b"100-continue":
                self._stop(417, "The only Expect that is supported is 100-continue.")
            self._expects = True

    def on_body(self, body: bytes) -> None:
        self._expects = False
        self.body_bytes += len(body)
        if self.body_bytes > self._most_bytes:
            self._stop_long_body()
        if not self._body:
            self._body = body
        elif type(self._body) is bytearray:
            self._body += body
        else:
            self._body = bytearray(self._body) + body

    def on_message_complete(self) -> None:
        self._expects = False
        self.receiving = False
        body = self._body
        parser = self._parser
        self._events.append(
            Request(
                parser.get_method(),
                self._target,
                self._headers,
                body if type(body) is bytes else bytes(body),
                parser.should_keep_alive(),
            )
        )
        self._body = b""

    def discard(self) -> None:
        """Give up the request that has begun, and ignore everything that follows."""
        self._rejected = True
        self.receiving = False
        self._expects = False
        self._body = b""

    def close(self) -> None:
        """Nothing more is parsed. Breaks the cycle of llhttp and its callbacks: the collector frees what lived for a
        while only after millions of allocations, and with it the handler of the connection."""
        self.discard()
        del self._parser

    def _count_more(self, name: bytes, value: bytes) -> None:
        self._more_lines += 1
        self._more_bytes += len(name) + len(value)
        self._check_head()

    def _check_head(self) -> None:
        """Exact and slow; a head that arrives in short pieces, and has no name twice, needs no check."""
        size = len(self._target) + sum(len(name) + len(value) for name, value in self._headers.items())
        if size + self._more_bytes > HEAD_BYTES or len(self._headers) + self._more_lines > HEADERS:
            self._stop_long_head()

    def _check_unfinished(self, size: int) -> None:
        """After a piece of this size that did not complete the request."""
        reported = (len(self._headers) + self._more_lines, len(self._target), self.body_bytes)
        self._silent = self._silent + size if reported == self._reported and not self._events else 0
        self._reported = reported
        try:
            if self._silent > HEAD_BYTES:
                # A line without end, or empty lines without end before a request.
                self._stop_long_head()
            if self._in_head and self._fed > HEAD_BYTES:
                self._check_head()
        except _Stop:
            return

    def _stop_long_head(self) -> None:
        self._stop(431, f"The request has more than {HEADERS} headers, or more than {HEAD_BYTES} bytes of headers.")

    def _stop_long_body(self) -> None:
        self._stop(413, f"The request's body has more than {self._most_bytes} bytes.")

    def _stop(self, status: int, message: str) -> None:
        self._reject(status, message)
        raise _Stop

    def _reject(self, status: int, message: str) -> None:
        """Keeps the first error; llhttp raises another one after a callback that stopped it."""
        if not self._rejected:
            self.discard()
            self._events.append(RequestError(status, message))
