"""The console of `sortkey up` and `sortkey serve`: all that the services and their store have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

from sortkey.http.listener import url_of
from sortkey.http.pages import Pages
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.model.tables.provision import tables_of
from sortkey.server.app import app_of
from sortkey.server.console.access import Access, OpenAccess, TokenAccess
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.opened import open_console
from sortkey.server.console.sources import RunningService, Sources
from sortkey.server.console.trace import Tracer
from sortkey.server.lifecycle import Plan, Running
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import KnownTokens, NoTokens, Tokens
from sortkey.services.interface import Demonstrated


@asynccontextmanager
async def services_console(running: Running, command: Literal["up", "serve"]) -> AsyncIterator[Pages]:
    plan = running.plan
    services = [
        RunningService(
            definition.name,
            definition.summary,
            tables_of(definition.tables(settings)),
            tuple(service.feeds),
            plan.demo is not None and isinstance(service, Demonstrated),
        )
        for (definition, settings), service in zip(plan.services, running.services, strict=True)
    ]
    sources = Sources(
        command,
        context_of(running.session).clock,
        plan.store,
        running.session.client.database,
        running.session,
        services,
        running.follower,
        running.metrics.samples,
        None if running.endpoint is None else running.endpoint.requests_of_all_workers,
        None if plan.endpoint is None else url_of(plan.endpoint.listening),
        service_of_route=running.middleware.service_of_route,
    )

    def further(declared: Declared) -> list[Tracer]:
        return [Tracer(running.session, partial(_app_again, plan), declared)]

    async with open_console(sources, partial(_access, plan.tokens), plan.log, further) as console:
        yield console


async def _app_again(plan: Plan, session: AsyncSession, tokens: Tokens) -> Middleware:
    services = [definition.service(session, settings) for definition, settings in plan.services]
    for service in services:
        await service.start()
    # A tenth of a second, of which other requests would wait for all.
    return await asyncio.to_thread(app_of, services, tokens=tokens, for_console=True)


def _access(tokens: Tokens, declared: Declared) -> Access:
    if isinstance(tokens, KnownTokens):
        return TokenAccess(tokens, declared.service_of)
    if isinstance(tokens, NoTokens):
        return OpenAccess(tokens.hosts, "--tokens")
    raise TypeError(f"the console does not know tokens of {type(tokens).__name__}")
