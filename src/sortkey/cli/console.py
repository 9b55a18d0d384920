"""The console of `sortkey db`, which is loaded with its first request.

Most endpoints are never opened in a browser: for them the console costs neither time at the start nor memory. It needs
no other packages than the endpoint does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from sortkey.http.connection import Defer, PendingAnswer
from sortkey.http.pages import PREFIX, Pages
from sortkey.http.request_parser import Request
from sortkey.wire.server import Serving

_MODULE: Final = "sortkey.server.console.of_endpoint"
_HTML: Final = b"text/html"


@dataclass(frozen=True)
class EndpointConsole:
    """Opens the console of an endpoint; workers get it by pickling."""

    workers: int = 1

    def __call__(self, serving: Serving) -> Any:
        return self._opened(serving)

    @asynccontextmanager
    async def _opened(self, serving: Serving) -> AsyncIterator[Pages]:
        pages = PagesOnDemand(serving, self.workers)
        try:
            yield pages
        finally:
            await pages.close()


class PagesOnDemand:
    def __init__(self, serving: Serving, workers: int) -> None:
        self._serving = serving
        self._workers = workers
        self._pages: Pages | None = None
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def serves(self, request: Request) -> bool:
        if self._pages is not None:
            return self._pages.serves(request)
        is_page = request.target == b"/" and _HTML in request.headers.get(b"accept", b"")
        return request.target.startswith(PREFIX) or (is_page and request.method in (b"GET", b"HEAD"))

    def begin(self, request: Request, peer: str, defer: Defer) -> bytes | None:
        if self._pages is not None:
            return self._pages.begin(request, peer, defer)
        pending = defer()
        pending.overlaps = False
        task = asyncio.create_task(self._load_and_begin(request, peer, pending))
        # The loop keeps no reference to it.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None

    async def _load_and_begin(self, request: Request, peer: str, pending: PendingAnswer) -> None:
        async with self._opening:
            if self._pages is None:
                self._pages = await self._load()
        answer = self._pages.begin(request, peer, lambda: pending)
        if answer is not None:
            pending.send(answer)

    async def _load(self) -> Pages:
        """On a thread: requests of SDKs go on meanwhile."""
        module = await asyncio.to_thread(import_module, _MODULE)
        pages: Pages = await self._stack.enter_async_context(module.endpoint_console(self._serving, self._workers))
        return pages

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await self._stack.aclose()
