"""One request and its answer, as everything in the server sees them.

A request is there as a whole before it begins, and an answer before it is sent: either is one piece, and a error_answer
half-way leaves nothing half told.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from litestar.types import HTTPReceiveMessage, HTTPScope, Message, Scope

from sortkey.limits import MIB
from sortkey.server.errors import ApiError, ErrorAnswer, api_error, undecoded

BODY_BYTES: Final = 8 * MIB

JSON_TYPE: Final = (b"content-type", b"application/json")
_ACCEPTED: Final = frozenset({b"application/json", b"application/x-www-form-urlencoded"})
"""The second is what curl says of `-d '{…}'` when it is told nothing else."""
_KEY: Final = "sortkey.exchange"
"""Where a scope keeps its exchange."""
_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}

Header = tuple[bytes, bytes]


class Exchange:
    __slots__ = (
        "_received",
        "answer_body",
        "answer_headers",
        "client",
        "code",
        "headers",
        "id",
        "method",
        "most",
        "path",
        "query",
        "raw_path",
        "sent",
        "status",
        "template",
        "token",
    )

    def __init__(
        self,
        method: str,
        raw_path: bytes,
        path: str,
        query: bytes,
        headers: dict[bytes, bytes],
        body: bytes,
        client: str,
    ) -> None:
        self.method = method
        self.raw_path = raw_path
        self.path = path
        self.query = query
        self.headers = headers
        self.sent = body
        self.client = client
        self.id = ""
        self.template = ""
        """The path as it is declared, if Litestar has found a route."""
        self.token: str | None = None
        self.status = 0
        self.code: str | None = None
        """The error_answer's; None where all went well."""
        self.most = BODY_BYTES
        """The most bytes that its body may have."""
        self.answer_headers: list[Header] = []
        self.answer_body = b""
        self._received = False

    def body(self) -> bytes:
        """Raises ApiError where it is too large or no JSON."""
        headers = self.headers
        content_type = headers.get(b"content-type", b"application/json")
        if content_type not in _ACCEPTED:
            _check_type(content_type)
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise api_error(415, "The body must not be compressed.")
        if len(self.sent) > self.most:
            raise api_error(413, f"The body is too large: at most {self.most:,} bytes.")
        return self.sent

    def answer(self, status: int, body: bytes, headers: list[Header]) -> None:
        """The whole answer; `headers` besides its length and the request's id."""
        self.status = status
        self.answer_headers = headers
        self.answer_body = body

    def fail(self, error_answer: ErrorAnswer) -> None:
        self.code = error_answer.code
        headers = [(name.encode(), value.encode()) for name, value in error_answer.headers]
        self.answer(error_answer.status, error_answer.json(), [JSON_TYPE, *headers])

    # As an ASGI app has it

    def scope(self) -> HTTPScope:
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": "1.1",
            # A HEAD is answered as a GET is; the body is left out of what is sent.
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
            # Nothing more will come; that the client leaves is noticed elsewhere.
            await asyncio.get_running_loop().create_future()
        self._received = True
        body = self.body()
        try:
            # Litestar would take what is no text for a fault of ours.
            body.decode()
        except UnicodeDecodeError as error:
            raise ApiError(undecoded(error)) from None
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


def _check_type(content_type: bytes) -> None:
    kind = content_type.partition(b";")[0].strip().lower()
    if kind not in _ACCEPTED and not kind.endswith(b"+json"):
        told = kind.decode("latin-1")
        raise api_error(415, f"The body must be JSON, 'Content-Type: application/json', not {told!r}.")
