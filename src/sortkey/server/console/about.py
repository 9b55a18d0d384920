"""What the page asks first: what this server is and has, and what its viewer may do."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import version
from urllib.parse import urlsplit, urlunsplit

from sortkey.client import stores
from sortkey.limits import ITEM_BYTES, PAGE_BYTES, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from sortkey.model.costs.explain import (
    AS_OF,
    DOLLARS_PER_MILLION_READ_UNITS,
    DOLLARS_PER_MILLION_WRITE_UNITS,
    REGION,
)
from sortkey.model.costs.monthly_cost import DOLLARS_PER_GIGABYTE
from sortkey.server.console.access import Seen, Viewer
from sortkey.server.console.routes import Message, Nothing, Route, Routes, instant
from sortkey.server.console.sources import Sources


class StoreAbout(Message):
    kind: str
    url: str


class ProcessAbout(Message):
    pid: int
    started: str
    workers: int


class ServiceAbout(Message):
    name: str
    summary: str
    demo: bool


class You(Message):
    name: str | None
    read: Seen
    write: Seen


class Has(Message):
    data: bool
    paths: bool
    heat: bool
    changes: bool
    feeds: bool
    timers: bool
    stories: bool
    designer: bool


class Limits(Message):
    partition_read_units: int = PARTITION_READ_UNITS
    partition_write_units: int = PARTITION_WRITE_UNITS
    page_bytes: int = PAGE_BYTES
    item_bytes: int = ITEM_BYTES


class Prices(Message):
    region: str = REGION
    as_of: str = AS_OF
    per_million_read_units: float = DOLLARS_PER_MILLION_READ_UNITS
    per_million_write_units: float = DOLLARS_PER_MILLION_WRITE_UNITS
    per_gigabyte_month: float = DOLLARS_PER_GIGABYTE


class About(Message):
    version: str
    command: str
    store: StoreAbout
    process: ProcessAbout
    services: list[ServiceAbout]
    endpoint: str | None
    you: You
    has: Has
    limits: Limits
    prices: Prices


class AboutThis:
    def __init__(self, sources: Sources, has: Has) -> None:
        self._sources = sources
        self._has = has
        self._started = sources.clock.now()

    def routes(self) -> Routes:
        return {"about": Route(Nothing, self.about)}

    async def about(self, viewer: Viewer, _: Nothing) -> About:
        sources = self._sources
        services = [
            ServiceAbout(each.name, each.summary, each.demo)
            for each in sources.services
            if viewer.sees_service(each.name)
        ]
        return About(
            _version(),
            sources.command,
            StoreAbout(_kind(sources), shown_url(sources.url)),
            ProcessAbout(os.getpid(), instant(self._started), sources.workers),
            services,
            sources.endpoint_url,
            You(viewer.name, viewer.read, viewer.write),
            self._has,
            Limits(),
            Prices(),
        )


@cache
def _version() -> str:
    return version("sortkey")


def _kind(sources: Sources) -> str:
    if sources.database is None:
        return "remote"
    return "memory" if sources.folder is None else "folder"


def shown_url(url: str) -> str:
    """Without a name and a password."""
    if stores.parse(url).remote is None:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
