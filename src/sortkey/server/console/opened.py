"""Puts a console together from what a server has, and runs its sampler as long as the server serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Protocol

from sortkey.client import stores
from sortkey.engine.tables.core import Settings
from sortkey.feeds.timers.timers import Timers
from sortkey.server.access_log import AccessLog
from sortkey.server.console.about import AboutThis, Has
from sortkey.server.console.access import Access
from sortkey.server.console.console import Console
from sortkey.server.console.data.code import CodeWriter
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.data.edits import Edits
from sortkey.server.console.data.paths import PathBrowser
from sortkey.server.console.data.raw import RawRequests
from sortkey.server.console.data.tables import TableBook
from sortkey.server.console.designer.designer import Designer
from sortkey.server.console.feeds import FeedBook
from sortkey.server.console.findings import Findings
from sortkey.server.console.live.broadcast import Broadcast, Parts
from sortkey.server.console.live.changes import StreamTail
from sortkey.server.console.live.heat import HeatRecorder, counted_by
from sortkey.server.console.live.overview import OverviewSampler
from sortkey.server.console.live.path_use import PathUses
from sortkey.server.console.routes import Routes
from sortkey.server.console.sources import Sources
from sortkey.server.console.store import StoreRequests

MakeAccess = Callable[[Declared], Access]


class Part(Protocol):
    """Of the API."""

    def routes(self) -> Routes: ...


MakeParts = Callable[[Declared], Sequence[Part]]


def _no_parts(_: Declared) -> Sequence[Part]:
    return ()


@asynccontextmanager
async def open_console(
    sources: Sources,
    access: MakeAccess,
    log: AccessLog | None = None,
    further: MakeParts = _no_parts,
    *,
    browsers_only: bool = False,
) -> AsyncIterator[Console]:
    """The pages of a console, for a server; `further` makes parts that this server has besides."""
    declared = Declared({service.name: service.tables for service in sources.services})
    client = None if sources.session is None else sources.session.client
    store = StoreRequests(sources.database, client, stores.parse(sources.url).prefix)
    tables = TableBook(store, declared)
    findings = Findings(sources)
    feeds = None if sources.session is None else FeedBook(sources, sources.session)
    overview = OverviewSampler(sources, feeds, findings)
    paths = None if sources.session is None else PathUses(sources, sources.session.meter, declared)
    counted = counted_by(sources)
    heat = None if counted is None else HeatRecorder(sources, counted, declared, findings)
    parts = Parts(overview, paths, heat, feeds, partial(StreamTail, store, declared, tables))
    routes: Routes = AboutThis(sources, _has(sources, parts)).routes()
    always: list[Part] = [
        overview,
        findings,
        tables,
        declared,
        RawRequests(store, declared, tables),
        Designer(),
        Edits(store, declared, tables),
        CodeWriter(sources.url, sources.endpoint_url or _remote_endpoint(sources), _region(sources), declared),
    ]
    for part in (*always, *further(declared), paths, heat, feeds):
        if part is not None:
            routes |= part.routes()
    if sources.session is not None:
        routes |= PathBrowser(store, sources.session, declared, tables).routes()
    broadcast = Broadcast(parts)
    console = Console(access(declared), routes, broadcast, log, browsers_only=browsers_only)
    sampling = asyncio.create_task(broadcast.run())
    try:
        yield console
    finally:
        sampling.cancel()
        with suppress(asyncio.CancelledError):
            await sampling
        await console.close()
        # It waits for what threads do, which may wait for the disk.
        await asyncio.to_thread(store.close)


def _has(sources: Sources, parts: Parts) -> Has:
    feeds = [feed for service in sources.services for feed in service.feeds]
    return Has(
        data=True,
        paths=parts.paths is not None,
        heat=parts.heat is not None,
        changes=True,
        feeds=bool(feeds),
        timers=any(isinstance(feed, Timers) for feed in feeds),
        stories=bool(sources.services),
        designer=True,
    )


def _remote_endpoint(sources: Sources) -> str | None:
    """That of a remote store; None for AWS, and for a store that no other program reaches."""
    remote = stores.parse(sources.url).remote
    return None if remote is None else remote.endpoint


def _region(sources: Sources) -> str:
    remote = stores.parse(sources.url).remote
    return (None if remote is None else remote.region) or Settings().region
