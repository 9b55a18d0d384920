"""The console of `sortkey db`: tables, heat and changes. It has no services, so no declared paths and no feeds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sortkey.engine.operations.policies import PolicyBook
from sortkey.http.listener import AllowedHosts, url_of
from sortkey.http.pages import Pages
from sortkey.server.console.access import Access, KeyAccess, OpenAccess
from sortkey.server.console.opened import open_console
from sortkey.server.console.sources import Sources
from sortkey.wire.authentication import KeyAuthentication
from sortkey.wire.server import Serving


@asynccontextmanager
async def endpoint_console(serving: Serving, workers: int) -> AsyncIterator[Pages]:
    options, database = serving.options, serving.database
    sources = Sources(
        "db",
        database.clock,
        "memory:" if options.data is None else str(options.data),
        database,
        endpoint=serving.server.requests_of_all_workers,
        endpoint_url=url_of(serving.listening),
        workers=workers,
    )
    async with open_console(sources, lambda _: _access(serving), browsers_only=True) as console:
        yield console


def _access(serving: Serving) -> Access:
    if isinstance(serving.authentication, KeyAuthentication):
        return KeyAccess(serving.authentication, PolicyBook(serving.database))
    return OpenAccess(AllowedHosts((serving.options.host, *serving.options.allowed_hosts)), "--keys")
