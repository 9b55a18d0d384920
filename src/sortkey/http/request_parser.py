"""HTTP requests out of a stream of bytes: a state machine without sockets.

`feed` takes whatever arrived, in pieces of any size, and gives what became complete by it, in order:

    Request     a whole request, its body as it was sent
    CONTINUE    the client sent its head and waits to be told that the body is welcome
    RequestError     what came is not acceptable HTTP; answer it and close, nothing after it is read

httptools (llhttp) knows the grammar: chunked bodies, requests one behind the other, contradicting lengths. What it
does not know, and what is added here, is where to stop: how many bytes and headers a head may have, and a body.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import httptools

from sortkey import limits

HEAD_BYTES: Final = 64 * limits.KIB
HEADERS: Final = 100
BODY_BYTES: Final = 16 * limits.MIB


class Request:
    __slots__ = ("body", "headers", "keep_alive", "method", "target")

    def __init__(
        self, method: bytes, target: bytes, headers: dict[bytes, bytes], body: bytes, keep_alive: bool
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        """By their names in small letters; of a repeated one, the last."""
        self.body = body
        self.keep_alive = keep_alive


class RequestError:
    __slots__ = ("message", "status")

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        self.message = message


class Continue:
    __slots__ = ()


CONTINUE: Final = Continue()

Event: TypeAlias = Request | RequestError | Continue


class _Stop(Exception):
    """Raised inside a callback of the parser to end its work."""


class RequestParser:
    """The callbacks' names (`on_…`) are httptools's."""

    def __init__(self) -> None:
        self.receiving = False
        """A request has begun and is not complete."""
        self.body_bytes = 0
        """How much of its body has come."""
        self._parser = httptools.HttpRequestParser(self)
        self._events: list[Event] = []
        self._rejected = False
        self._fed = 0
        self._chunk_bytes = 0
        self._first_bytes = 0
        self._in_head = False
        self._expects = False
        self._silent = 0
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        self._events = []
        if self._rejected:
            return self._events
        self._chunk_bytes = size = len(data)
        self._fed += size
        self._silent += size
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._reject(400, "The request is not valid HTTP.")
        if self._silent > HEAD_BYTES:
            # So much without one callback can only be a name or a line that does not end.
            self._reject(431, f"A line of the request has more than {HEAD_BYTES} bytes.")
        if self._expects:
            self._expects = False
            self._events.append(CONTINUE)
        return self._events

    def on_message_begin(self) -> None:
        self.receiving = self._in_head = True
        self.body_bytes = 0
        self._fed = self._first_bytes = self._chunk_bytes
        self._silent = 0
        self._target = b""
        self._headers = {}
        self._body = []

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._silent = 0
        if len(self._target) > HEAD_BYTES:
            self._stop(414, f"The request's target has more than {HEAD_BYTES} bytes.")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._silent = 0
        # A header behind a chunked body comes too late to mean anything.
        if self._in_head:
            self._headers[name.lower()] = value
            if self._fed > HEAD_BYTES:
                self._check_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        headers = self._headers
        if self._parser.should_upgrade():
            # One may stay with HTTP/1.1, but llhttp hands over here, and takes the body for what comes after.
            self._stop(400, "This endpoint speaks HTTP/1.1 and nothing else.")
        if len(headers) > HEADERS:
            self._stop(431, f"The request has more than {HEADERS} headers.")
        if len(headers.get(b"content-length", b"")) > 7 and int(headers[b"content-length"]) > BODY_BYTES:
            self._stop(413, f"The request's body has more than {BODY_BYTES} bytes.")
        if b"expect" in headers:
            if headers[b"expect"].lower() != b"100-continue":
                self._stop(417, "The only expectation that can be met is 100-continue.")
            self._expects = True

    def on_body(self, body: bytes) -> None:
        self._silent = 0
        self._expects = False
        self.body_bytes += len(body)
        if self.body_bytes > BODY_BYTES:
            self._stop(413, f"The request's body has more than {BODY_BYTES} bytes.")
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._silent = 0
        self._expects = False
        self.receiving = False
        body = self._body
        parser = self._parser
        self._events.append(
            Request(
                parser.get_method(),
                self._target,
                self._headers,
                body[0] if len(body) == 1 else b"".join(body),
                parser.should_keep_alive(),
            )
        )
        self._body = []

    def _check_head(self) -> None:
        """Exact, and therefore only done when what was fed could be too much at all."""
        size = len(self._target) + sum(len(name) + len(value) for name, value in self._headers.items())
        # A repeated header is kept once, but what came after the first piece is all of this head.
        if max(size, self._fed - self._first_bytes) > HEAD_BYTES or len(self._headers) > HEADERS:
            self._stop(431, f"The request's headers have more than {HEAD_BYTES} bytes, or are more than {HEADERS}.")

    def _stop(self, status: int, message: str) -> None:
        self._reject(status, message)
        raise _Stop

    def _reject(self, status: int, message: str) -> None:
        """The first reason counts; the parser's complaint about a callback that stopped it is none."""
        if not self._rejected:
            self._rejected = True
            self._expects = False
            self._events.append(RequestError(status, message))
