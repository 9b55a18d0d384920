"""A server from start to stop: opens the store, starts services, loads demonstration data, serves, and closes."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.engine.database import Database
from sortkey.feeds.follower import Follower
from sortkey.http import process
from sortkey.http.metrics import Samples
from sortkey.http.pages import Pages
from sortkey.http.server import HttpServer
from sortkey.model.errors import ModelError
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect
from sortkey.server.access_log import AccessLog
from sortkey.server.app import app_of
from sortkey.server.app_server import AppServer
from sortkey.server.idempotency import Idempotency
from sortkey.server.metrics import Metrics, path_samples
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import Tokens
from sortkey.services.interface import BadSettings, Demonstrated, Maintained, Progress, Service, ServiceDefinition
from sortkey.storage import StorageError
from sortkey.wire.authentication import Authentication
from sortkey.wire.metrics import NoOtherWorkers
from sortkey.wire.server import Server

PAUSE_SECONDS: Final = 5.0
"""Of a demonstration's visitors, after an error of the store."""

_logger = logging.getLogger(__name__)


class CannotStart(Exception):
    """The server cannot start; the message says why, in one line."""


@dataclass(frozen=True)
class Endpoint:
    """A DynamoDB endpoint on the same store."""

    listening: socket.socket
    authentication: Authentication


@dataclass(frozen=True)
class Plan:
    store: str
    services: Sequence[tuple[ServiceDefinition, Mapping[str, Any]]]
    """Each with its settings."""
    listening: socket.socket
    tokens: Tokens
    log: AccessLog
    ready: Callable[[], None]
    """Called once all servers accept requests."""
    demo: Callable[[str], Progress] | None = None
    """Returns the progress display for loading a service's demonstration data; None loads no data."""
    endpoint: Endpoint | None = None
    follow: bool = True
    """Whether to run the services' change feeds and maintenance."""
    make_pages: Callable[[Running], AbstractAsyncContextManager[Pages]] | None = None
    """Opens the pages that browsers see, besides the services' own."""


@dataclass(frozen=True)
class Running:
    """A server that is about to serve."""

    plan: Plan
    session: AsyncSession
    services: Sequence[Service]
    """Those of the plan, in its order."""
    follower: Follower | None
    metrics: Metrics
    middleware: Middleware
    endpoint: Server | None


def run(plan: Plan) -> None:
    """Serve until SIGTERM or SIGINT; then everything that was answered is stored. Raises CannotStart."""
    # A signal before it serves cancels it.
    with suppress(asyncio.CancelledError):
        process.run(_Lifecycle(plan).run())


class _Lifecycle:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._servers: list[HttpServer] = []
        self._unready = 0

    async def run(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        process.on_stop_signal(partial(self._stop, task))
        session = await self._open()
        try:
            services = await self._start(session)
            await self._serve_and_follow(session, services)
        finally:
            await session.close()

    def _stop(self, task: asyncio.Task[None]) -> None:
        for server in self._servers:
            server.stop()
        if not self._servers:
            task.cancel()

    async def _open(self) -> AsyncSession:
        plan = self._plan
        try:
            tables = [table for service, settings in plan.services for table in service.tables(settings)]
            return await async_connect(plan.store, tables=tables)
        except (BadSettings, StorageError, ModelError, ClientError, BotoCoreError) as error:
            raise _cannot_start(error) from error

    async def _start(self, session: AsyncSession) -> list[Service]:
        demo = self._plan.demo
        try:
            services = [definition.service(session, settings) for definition, settings in self._plan.services]
            await Idempotency(session).start()
            for service in services:
                await service.start()
                if demo is not None and isinstance(service, Demonstrated):
                    await service.load_demo(demo(service.name))
        except (BadSettings, StorageError, ModelError, ClientError, BotoCoreError) as error:
            raise _cannot_start(error) from error
        return services

    async def _serve_and_follow(self, session: AsyncSession, services: Sequence[Service]) -> None:
        feeds = [feed for service in services for feed in service.feeds] if self._plan.follow else []
        if not feeds:
            await self._serve(session, services, None)
            return
        follower = Follower(session, feeds)
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(follower)
            except (ModelError, ClientError, BotoCoreError) as error:
                raise _cannot_start(error) from error
            serving = asyncio.create_task(self._serve(session, services, follower))
            following = asyncio.create_task(follower.ended())
            await asyncio.wait({serving, following}, return_when=asyncio.FIRST_COMPLETED)
            # A feed that failed ends the server, too: nobody would notice otherwise. Leaving this block raises it.
            self._stop(serving)
            await serving
            following.cancel()

    async def _serve(self, session: AsyncSession, services: Sequence[Service], follower: Follower | None) -> None:
        plan, metrics = self._plan, Metrics()
        feed_samples: Callable[[], Samples] = dict if follower is None else follower.samples
        middleware = app_of(
            services,
            lambda: path_samples(session.meter.readings()) | feed_samples(),
            plan.tokens,
            plan.log,
            metrics=metrics,
            idempotency=Idempotency(session),
        )
        http = AppServer(middleware, metrics)
        serving = [http.serve(plan.listening, self._one_is_ready)]
        self._servers.append(http)
        endpoint: Server | None = None
        if plan.endpoint is not None:
            # On the same loop: a thread of its own would compete with this one for the interpreter's lock. A lookup
            # beside a busy endpoint then took 29 ms at p99 instead of 12 (medians of six alternating runs).
            endpoint = Server(_database(session), plan.endpoint.authentication, NoOtherWorkers())
            serving.append(endpoint.serve(plan.endpoint.listening, self._one_is_ready))
            self._servers.append(endpoint)
        self._unready = len(serving)
        process.tune_interpreter()
        async with AsyncExitStack() as stack:
            if plan.make_pages is not None:
                running = Running(plan, session, services, follower, metrics, middleware, endpoint)
                http.pages = await stack.enter_async_context(plan.make_pages(running))
            for service in services:
                if plan.follow and isinstance(service, Maintained):
                    await stack.enter_async_context(service.maintenance())
            await stack.enter_async_context(demo_visitors(services if plan.demo is not None else ()))
            await asyncio.gather(*serving)

    def _one_is_ready(self) -> None:
        self._unready -= 1
        if not self._unready:
            self._plan.ready()


def _database(session: AsyncSession) -> Database:
    database = session.client.database
    if database is None:
        raise CannotStart("a remote store has an endpoint of its own; none can be served here")
    return database


def _cannot_start(error: Exception) -> CannotStart:
    return CannotStart(" ".join(str(error).split()))


@asynccontextmanager
async def demo_visitors(services: Sequence[Service]) -> AsyncIterator[None]:
    """Lets the visitors of the demonstrations in, and sends them away at the end."""
    visits = [asyncio.create_task(_visit(each, each.name)) for each in services if isinstance(each, Demonstrated)]
    try:
        yield
    finally:
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


async def _visit(service: Demonstrated, name: str) -> None:
    while True:
        try:
            await service.run_demo()
        except (ClientError, BotoCoreError, ModelError) as error:
            _logger.warning("the demonstration of %s pauses: %s", name, error)
            await asyncio.sleep(PAUSE_SECONDS)
        else:
            return
