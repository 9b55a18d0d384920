"""The app on sockets: requests of a connection to the middleware, and its answers as bytes."""

from __future__ import annotations

import asyncio
import logging
from time import time
from typing import Final
from urllib.parse import unquote_to_bytes

from sortkey.http.connection import Defer, PendingAnswer
from sortkey.http.pages import PREFIX, Pages
from sortkey.http.request_parser import BODY_BYTES, Request, RequestError
from sortkey.http.response import RETRY_AFTER, ResponseWriter
from sortkey.http.server import HttpServer
from sortkey.server.errors import CODES, INVALID, ErrorAnswer, internal_error
from sortkey.server.exchange import JSON_TYPE, Exchange
from sortkey.server.metrics import Metrics
from sortkey.server.middleware import Middleware

NOT_A_PATH: Final = "The request's target is not a path."
NOT_UTF8: Final = "The request's target has bytes that are not UTF-8."
"""Decoded with replacements, different names would be one."""

_logger = logging.getLogger(__name__)


class AppServer(HttpServer):
    """Serves until `stop`; then every request that has begun is answered."""

    metrics: Metrics

    def __init__(self, middleware: Middleware, metrics: Metrics) -> None:
        super().__init__(metrics)
        self._middleware = middleware
        self.pages: Pages | None = None
        """Are shown to browsers, besides what the services have."""
        self._responses = ResponseWriter(time())

    def handler_for(self, peer: str) -> AppRequestHandler:
        return AppRequestHandler(self._middleware, self._responses, peer, self.pages)

    def each_second(self) -> None:
        self._responses.tick(time())


class AppRequestHandler:
    """Answers the requests of one connection."""

    def __init__(
        self, middleware: Middleware, responses: ResponseWriter, peer: str, pages: Pages | None = None
    ) -> None:
        self._middleware = middleware
        self._responses = responses
        self._peer = peer
        self._pages = pages
        self._task: asyncio.Task[None] | None = None
        """Answers the newest request. There is one at a time, and asyncio keeps no reference to it."""

    def begin(self, request: Request, defer: Defer) -> bytes | None:
        target = request.target
        if self._pages is not None and (target == b"/" or target.startswith(PREFIX)) and self._pages.serves(request):
            return self._pages.begin(request, self._peer, defer)
        try:
            exchange = exchange_for(request, self._peer)
        except RequestError as error:
            return self._reject_last(request, error)
        pending = defer()
        exchange.gone = pending.is_unread
        self._task = asyncio.create_task(self._answer(exchange, request, pending))
        return None

    async def _answer(self, exchange: Exchange, request: Request, pending: PendingAnswer) -> None:
        try:
            await self._middleware.answer(exchange)
            answer = self._whole(exchange, request)
        except Exception:
            # The requests behind this one wait for its answer.
            _logger.exception("request %s failed", exchange.id)
            exchange.answer_error(internal_error(exchange.id))
            answer = self._whole(exchange, request)
        pending.send(answer)

    def _whole(self, exchange: Exchange, request: Request) -> bytes:
        headers = b"%bx-request-id: %b\r\n" % (_lines(exchange.answer_headers), exchange.id.encode())
        return self._responses.whole(request, exchange.status, headers, exchange.answer_body)

    def _reject_last(self, request: Request, error: RequestError) -> bytes:
        """Reject a request and end its connection."""
        request.keep_alive = False
        return self.reject(error)

    def reject(self, error: RequestError) -> bytes:
        answer = ErrorAnswer(error.status, CODES.get(error.status, INVALID), error.message)
        headers = _lines([JSON_TYPE]) + (RETRY_AFTER if error.status == 503 else b"")
        return self._responses.whole(None, answer.status, headers, answer.json())

    def body_limit(self, _headers: dict[bytes, bytes]) -> int:
        """The largest: routes have limits of their own."""
        return BODY_BYTES

    def may_overlap(self, _request: Request) -> bool:
        """Never: requests of one connection are answered one after the other."""
        return False


def exchange_for(request: Request, client: str) -> Exchange:
    """Raises RequestError for a target that is not a path."""
    raw_path, _, query = request.target.partition(b"?")
    if raw_path[:4].lower() == b"http":
        # A whole URL, as clients send it to a proxy.
        raw_path = b"/" + raw_path.partition(b"://")[2].partition(b"/")[2]
    if not raw_path.startswith(b"/") or not raw_path.isascii():
        raise RequestError(400, NOT_A_PATH)
    try:
        path = _text(raw_path)
        _text(query)
    except UnicodeDecodeError:
        raise RequestError(400, NOT_UTF8) from None
    return Exchange(request, raw_path, path, query, client)


def _text(quoted: bytes) -> str:
    """A part of the target without percent-encoding. Raises UnicodeDecodeError."""
    return (unquote_to_bytes(quoted) if b"%" in quoted else quoted).decode()


def _lines(headers: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])
