"""One request and its answer, as everything in the server sees them."""

from __future__ import annotations

from typing import Any, Final, cast

from litestar.types import HTTPReceiveMessage, HTTPSendMessage, Message, Receive, Scope, Send

from sortkey.limits import MIB
from sortkey.server.failures import Failure, Refused, overloaded, refused, undecoded

BODY_BYTES: Final = 8 * MIB
BUFFERED_BYTES: Final = 256 * MIB

JSON_TYPE: Final = (b"content-type", b"application/json")
_ACCEPTED: Final = frozenset({b"application/json", b"application/x-www-form-urlencoded"})
"""The second is what curl says of `-d '{…}'` when it is told nothing else."""
KEY: Final = "sortkey.exchange"
"""Where a scope keeps its exchange."""


class ClientLeft(Exception):
    """The client went away in the middle of its request."""


class Allowance:
    """How much may be received: by one request, and by all that are arriving in pieces."""

    def __init__(self, body_bytes: int = BODY_BYTES, buffered_bytes: int = BUFFERED_BYTES) -> None:
        self.body_bytes = body_bytes
        self.buffered_bytes = buffered_bytes
        self.buffered = 0


class Exchange:
    __slots__ = ("_allowance", "_receive", "_received", "_send", "code", "headers", "id", "started", "status", "token")

    def __init__(
        self, request_id: str, headers: dict[bytes, bytes], receive: Receive, send: Send, allowance: Allowance
    ) -> None:
        self.id = request_id
        self.headers = headers
        self.token: str | None = None
        self.status = 0
        self.code: str | None = None
        """The failure's; None where all went well."""
        self.started = False
        self._received = False
        self._receive = receive
        self._send = send
        self._allowance = allowance

    async def body(self) -> bytes:
        """The whole body. Raises Refused where it is too large or no JSON, ClientLeft where it never ends."""
        self._received = True
        headers = self.headers
        content_type = headers.get(b"content-type", b"application/json")
        if content_type not in _ACCEPTED:
            _check_type(content_type)
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise refused(415, "The body must not be compressed.")
        if int(headers.get(b"content-length", b"0")) > self._allowance.body_bytes:
            raise self._too_large()
        body, more = await self._next()
        return body if not more else await self._rest(body)

    async def receive(self) -> HTTPReceiveMessage:
        """As ASGI has it, the body in one piece."""
        if self._received:
            return cast(HTTPReceiveMessage, await self._receive())
        body = await self.body()
        try:
            # Litestar would take what is no text for a fault of ours.
            body.decode()
        except UnicodeDecodeError as error:
            raise Refused(undecoded(error)) from None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        """As ASGI has it, with the request's id among the headers."""
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self.id.encode())]
        await self._send(message)

    async def answer(self, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        """The whole answer; `headers` besides its length and the request's id."""
        self.started = True
        self.status = status
        length = (b"content-length", b"%d" % len(body))
        start = {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, length, (b"x-request-id", self.id.encode())],
        }
        await self._send(cast(HTTPSendMessage, start))
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def fail(self, failure: Failure) -> None:
        self.code = failure.code
        headers = [(name.encode(), value.encode()) for name, value in failure.headers]
        await self.answer(failure.status, failure.json(), [JSON_TYPE, *headers])

    async def _next(self) -> tuple[bytes, bool]:
        message: Any = await self._receive()
        if message["type"] != "http.request":
            raise ClientLeft
        return message["body"], message["more_body"]

    async def _rest(self, first: bytes) -> bytes:
        """Bodies that come slowly must not fill the memory, however many they are."""
        allowance = self._allowance
        pieces = [first]
        size = len(first)
        allowance.buffered += size
        more = True
        try:
            while more:
                piece, more = await self._next()
                pieces.append(piece)
                size += len(piece)
                allowance.buffered += len(piece)
                if size > allowance.body_bytes:
                    raise self._too_large()
                if allowance.buffered > allowance.buffered_bytes:
                    raise Refused(overloaded("Too much is being received at once; try again."))
        finally:
            allowance.buffered -= size
        return b"".join(pieces)

    def _too_large(self) -> Refused:
        return refused(413, f"The body is too large: at most {self._allowance.body_bytes:,} bytes.")


def exchange_of(scope: Scope) -> Exchange:
    found: Exchange = cast(dict[str, Any], scope)[KEY]
    return found


def _check_type(content_type: bytes) -> None:
    kind = content_type.partition(b";")[0].strip().lower()
    if kind not in _ACCEPTED and not kind.endswith(b"+json"):
        told = kind.decode("latin-1")
        raise refused(415, f"The body must be JSON, 'Content-Type: application/json', not {told!r}.")
