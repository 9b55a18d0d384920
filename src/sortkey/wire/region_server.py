"""The endpoints of emulated regions: one process, an address for each region, and a page that cuts and heals links.

    GET  /regions                                        → {"regions", "endpoints", "lag", "cut", "waiting"}
    POST /regions  {"cut": ["eu-west-1", "us-east-1"]}   → the same, afterwards
                   {"heal": []}, {"lag": 0.5}, {"settle": true}

Every address has the page. It is as open as an endpoint without keys: to programs of this machine, and to no web page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from socket import socket
from time import time
from typing import Any, Final

import msgspec

from sortkey.engine.database import Database
from sortkey.engine.regions import Regions
from sortkey.http import process
from sortkey.http.connection import Defer, PendingAnswer
from sortkey.http.listener import url_of
from sortkey.http.pages import Pages
from sortkey.http.request_parser import Request
from sortkey.http.response import ResponseWriter
from sortkey.storage import FolderBusy
from sortkey.wire.authentication import NO_WEB_PAGES, NoAuthentication
from sortkey.wire.messages import CoralError
from sortkey.wire.metrics import NoOtherWorkers
from sortkey.wire.server import MakePages, Options, Server, Serving

PATH: Final = b"/regions"
_JSON: Final = b"Content-Type: application/json\r\n"


class Order(msgspec.Struct, forbid_unknown_fields=True):
    """What a POST asks for: one of these."""

    cut: list[str] | None = None
    heal: list[str] | None = None
    lag: float | None = None
    settle: bool | None = None


class RegionPages:
    """The page of the regions, before the pages of an endpoint."""

    def __init__(
        self, regions: Regions, endpoints: Mapping[str, str], authentication: NoAuthentication, others: Pages | None
    ) -> None:
        self._regions = regions
        self._endpoints = endpoints
        self._authentication = authentication
        self._others = others
        self._tasks: set[asyncio.Task[None]] = set()

    def serves(self, request: Request) -> bool:
        return request.target == PATH or (self._others is not None and self._others.serves(request))

    def begin(self, request: Request, peer: str, defer: Defer) -> bytes | None:
        if request.target != PATH:
            assert self._others is not None
            return self._others.begin(request, peer, defer)
        try:
            self._authentication.check_host(request)
        except CoralError as rejected:
            return _answer(request, rejected.status, {"error": rejected.message})
        if request.method not in (b"GET", b"POST"):
            return _answer(request, HTTPStatus.METHOD_NOT_ALLOWED, {"error": "read by GET, change by POST"})
        order = Order()
        if request.method == b"POST":
            if b"origin" in request.headers:
                return _answer(request, HTTPStatus.FORBIDDEN, {"error": NO_WEB_PAGES})
            try:
                order = msgspec.json.decode(request.body, type=Order)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                return _answer(request, HTTPStatus.BAD_REQUEST, {"error": str(error)})
        pending = defer()
        pending.overlaps = False
        task = asyncio.create_task(self._follow(order, request, pending))
        # The loop keeps no reference to it.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None

    async def _follow(self, order: Order, request: Request, pending: PendingAnswer) -> None:
        try:
            # On a thread: it may have to wait for writes, which the loop answers.
            state = await asyncio.to_thread(self._done, order)
            pending.send(_answer(request, HTTPStatus.OK, state | {"endpoints": dict(self._endpoints)}))
        except ValueError as error:
            pending.send(_answer(request, HTTPStatus.BAD_REQUEST, {"error": str(error)}))
        except FolderBusy as busy:
            pending.send(_answer(request, HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(busy)}))

    def _done(self, order: Order) -> dict[str, Any]:
        regions = self._regions
        if order.cut is not None:
            regions.cut(*order.cut)
        if order.heal is not None:
            regions.heal(*order.heal)
        if order.lag is not None:
            regions.set_lag(order.lag)
        if order.settle:
            regions.settle()
        return regions.state()


def _answer(request: Request, status: int, content: dict[str, Any]) -> bytes:
    return ResponseWriter(time()).whole(request, status, _JSON, msgspec.json.encode(content) + b"\n")


def serve_regions(
    options: Options,
    authentication: NoAuthentication,
    regions: Regions,
    listening: Mapping[str, socket],
    ready: Callable[[], None],
    make_pages: MakePages | None,
) -> None:
    """Serve every region on its socket until a signal. `ready` is called when all of them accept requests."""
    endpoints = {name: url_of(each) for name, each in listening.items()}
    starting = {*endpoints}

    def began(name: str) -> None:
        starting.discard(name)
        if not starting:
            ready()

    async def serve_region(name: str, database: Database, stack: AsyncExitStack, servers: list[Server]) -> None:
        server = Server(database, authentication, NoOtherWorkers(), write_wait=options.write_wait)
        servers.append(server)
        others = None
        if make_pages is not None:
            own = msgspec.structs.replace(options, data=database.path, port=listening[name].getsockname()[1])
            serving = Serving(own, database, authentication, server, listening[name])
            others = await stack.enter_async_context(make_pages(serving))
        server.show(RegionPages(regions, endpoints, authentication, others))
        await server.serve(listening[name], lambda: began(name))

    async def serve_until_stopped() -> None:
        servers: list[Server] = []

        def stop() -> None:
            for server in servers:
                server.stop()

        process.on_stop_signal(stop)
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as serving:
            for name, database in regions.databases.items():
                serving.create_task(serve_region(name, database, stack, servers))

    process.tune_interpreter()
    process.run(serve_until_stopped())
