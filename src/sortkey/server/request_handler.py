"""A connection's requests brought to the middleware, and its answers back."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote

from sortkey.http.connection import Expect, Reply
from sortkey.http.request_parser import Request, RequestError
from sortkey.server.errors import CODES, INVALID, ErrorAnswer
from sortkey.server.exchange import Exchange
from sortkey.server.middleware import Middleware
from sortkey.server.response import Responses

NO_PATH: Final = RequestError(400, "The request's target is no path.")


class RequestHandler:
    """Of one connection."""

    def __init__(self, middleware: Middleware, responses: Responses, peer: str) -> None:
        self._middleware = middleware
        self._responses = responses
        self._peer = peer
        self._task: asyncio.Task[None] | None = None
        """What answers the newest request, and would be collected if nobody had it; there is one at a time."""

    def begin(self, request: Request, expect: Expect) -> bytes | None:
        raw_path, _, query = request.target.partition(b"?")
        if raw_path[:4].lower() == b"http":
            # As a proxy would be asked: the whole address.
            raw_path = b"/" + raw_path.partition(b"://")[2].partition(b"/")[2]
        if not raw_path.startswith(b"/") or not raw_path.isascii():
            request.keep_alive = False
            return self.reject(NO_PATH)
        path = raw_path.decode()
        exchange = Exchange(
            request.method.decode(),
            raw_path,
            unquote(path) if "%" in path else path,
            query,
            request.headers,
            request.body,
            self._peer,
        )
        self._task = asyncio.create_task(self._answer(exchange, request, expect()))
        return None

    async def _answer(self, exchange: Exchange, request: Request, reply: Reply) -> None:
        await self._middleware.answer(exchange)
        reply(self._responses.whole(request, exchange))

    def reject(self, error: RequestError) -> bytes:
        error_answer = ErrorAnswer(error.status, CODES.get(error.status, INVALID), error.message)
        return self._responses.last(error_answer)

    def writes(self, _request: Request) -> bool:
        """Requests of one connection are answered one after the other."""
        return False
