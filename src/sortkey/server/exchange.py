"""One request, who sent it, and its answer, while the server works on them.

A request is complete before it begins, and an answer is complete before it is sent. So an error in the middle leaves no
half-sent answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, cast

import litestar
from litestar.di import Provide
from litestar.types import HTTPReceiveMessage, HTTPScope, Message, Scope

from sortkey.http.request_parser import Request
from sortkey.limits import MIB
from sortkey.server.errors import ApiError, ErrorAnswer, api_error, body_error
from sortkey.server.tokens import Right, Tokens

BODY_BYTES: Final = 8 * MIB
NESTING: Final = 256
"""Levels of lists and objects that a body may have. The decoders of Python 3.11 go 1,000 deep, those of newer versions
10,000, where a handler cannot follow."""

JSON_TYPE: Final = (b"content-type", b"application/json")
KEY_METHODS: Final = frozenset({"POST", "PATCH"})
"""Which take an `Idempotency-Key`."""
_ACCEPTED: Final = frozenset({b"application/json", b"application/x-www-form-urlencoded"})
"""The second is what `curl -d '{…}'` sends by default."""
_KEY: Final = "sortkey.exchange"
"""The key of the exchange in an ASGI scope."""
CALLER: Final = "caller"
"""The argument of a handler that asks who sent the request."""
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}

Header = tuple[bytes, bytes]


def _still_there() -> bool:
    return False


class Exchange:
    __slots__ = (
        "_received",
        "answer_body",
        "answer_headers",
        "body_limit",
        "client",
        "code",
        "gone",
        "headers",
        "host",
        "id",
        "method",
        "path",
        "query",
        "raw_path",
        "sent",
        "status",
        "template",
        "tenant",
        "token",
    )

    def __init__(self, request: Request, raw_path: bytes, path: str, query: bytes, client: str) -> None:
        self.method = request.method.decode()
        self.headers = request.headers
        self.host = request.host
        self.sent = request.body
        self.raw_path = raw_path
        self.path = path
        """Without percent-encoding."""
        self.query = query
        self.client = client
        """The client's address."""
        self.id = ""
        self.template = ""
        """The path as the route declares it; empty if there is no route."""
        self.tenant: str | None = None
        """The path's parameter `tenant`; None if its route has none."""
        self.token: str | None = None
        self.status = 0
        self.code: str | None = None
        """The error's code; None if there was no error."""
        self.body_limit = BODY_BYTES
        """In bytes."""
        self.gone: Callable[[], bool] = _still_there
        """Whether the client has closed its connection."""
        self.answer_headers: list[Header] = []
        self.answer_body = b""
        self._received = False

    @property
    def idempotency_key(self) -> bytes | None:
        """Of a request with a method whose repetition is not harmless by itself."""
        return self.headers.get(b"idempotency-key") if self.method in KEY_METHODS else None

    def body(self) -> bytes:
        """The request's body. Raises ApiError if it is too large or not sent as JSON."""
        headers = self.headers
        content_type = headers.get(b"content-type", b"application/json")
        if content_type not in _ACCEPTED:
            _check_type(content_type)
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise api_error(415, "Content-Encoding is not supported; send the body uncompressed.")
        if len(self.sent) > self.body_limit:
            raise api_error(413, f"The body is too large; the limit is {self.body_limit:,} bytes.")
        return self.sent

    def is_deep(self) -> bool:
        """Whether the body has more than `NESTING` levels, which explains an error of the decoder or of a handler."""
        if self.sent.count(b"[") + self.sent.count(b"{") <= NESTING:
            return False
        depth = 0
        for token in _TOKEN.finditer(self.sent):
            depth += _STEPS.get(token[0][0], 0)
            if depth > NESTING:
                return True
        return False

    def answer(self, status: int, body: bytes, headers: list[Header]) -> None:
        """Set the whole answer. `headers` are without the body's length and the request's id."""
        self.status = status
        self.answer_headers = headers
        self.answer_body = body

    def answer_error(self, error: ErrorAnswer) -> None:
        self.code = error.code
        headers = [(name.encode(), value.encode()) for name, value in error.headers]
        self.answer(error.status, error.json(), [JSON_TYPE, *headers])

    # ASGI

    def scope(self) -> HTTPScope:
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": "1.1",
            # A HEAD is handled as a GET; its body is not sent.
            "method": "GET" if self.method == "HEAD" else self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.raw_path,
            "query_string": self.query,
            "root_path": "",
            "headers": list(self.headers.items()),
            "server": None,
            "client": (self.client, 0),
            "state": {},
            _KEY: self,
        }
        return cast(HTTPScope, scope)

    async def receive(self) -> HTTPReceiveMessage:
        if self._received:
            # Nothing more arrives; the connection notices when the client leaves.
            await asyncio.get_running_loop().create_future()
        self._received = True
        body = self.body()
        try:
            # Litestar would answer 500 to a body that is not UTF-8.
            body.decode()
        except UnicodeDecodeError as error:
            raise ApiError(body_error(error)) from None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = (b"content-length", b"x-request-id")
            self.answer_headers = [(name, value) for name, value in message["headers"] if name.lower() not in own]
        elif message["type"] == "http.response.body":
            self.answer_body += message["body"]


def exchange_of(scope: Scope) -> Exchange:
    found: Exchange = cast(dict[str, Any], scope)[_KEY]
    return found


class ExchangeCaller:
    """Who sent a request, for handlers that ask: `sk.services.Caller`."""

    __slots__ = ("_exchange", "_service", "_tokens")

    def __init__(self, exchange: Exchange, tokens: Tokens, service: str) -> None:
        self._exchange = exchange
        self._tokens = tokens
        self._service = service

    @property
    def name(self) -> str | None:
        return self._exchange.token

    @property
    def address(self) -> str:
        return self._exchange.client

    @property
    def gone(self) -> bool:
        return self._exchange.gone()

    def require(self, right: Right) -> None:
        self._tokens.check(self._exchange, f"{self._service}:{right}")


def caller_dependency(tokens: Tokens, service: str) -> Provide:
    """The caller, on Litestar's general path."""

    def caller(request: litestar.Request[Any, Any, Any]) -> ExchangeCaller:
        return ExchangeCaller(exchange_of(request.scope), tokens, service)

    return Provide(caller, sync_to_thread=False)


def _check_type(content_type: bytes) -> None:
    media_type = content_type.partition(b";")[0].strip().lower()
    if media_type not in _ACCEPTED and not media_type.endswith(b"+json"):
        given = media_type.decode("latin-1")
        raise api_error(415, f"The body must be JSON with 'Content-Type: application/json', not {given!r}.")
