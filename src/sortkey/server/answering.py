"""A connection's requests brought to the front, and its answers back."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote

from sortkey.server.exchange import Exchange
from sortkey.server.failures import CODES, INVALID, Failure
from sortkey.server.front import Front
from sortkey.server.response import Responses
from sortkey.wire.connection import Expect, Reply
from sortkey.wire.request_parser import Refusal, Request

NO_PATH: Final = Refusal(400, "The request's target is no path.")


class Answering:
    """Of one connection."""

    def __init__(self, front: Front, responses: Responses, peer: str) -> None:
        self._front = front
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
            return self.refuse(NO_PATH)
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
        await self._front.answer(exchange)
        reply(self._responses.whole(request, exchange))

    def refuse(self, refusal: Refusal) -> bytes:
        failure = Failure(refusal.status, CODES.get(refusal.status, INVALID), refusal.message)
        return self._responses.last(failure)

    def writes(self, _request: Request) -> bool:
        """Requests of one connection are answered one after the other."""
        return False
