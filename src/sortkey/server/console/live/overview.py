"""The overview: each service's rates and percentiles, the store, feeds, timers, loads, and what is wrong.

Counters are looked at by one sampler, whatever the number of open pages. What needs the store, such as timers that are
due, is read every few seconds, and only while somebody looks.
"""

from __future__ import annotations

import os
import resource
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from sortkey.clock import monotonic
from sortkey.feeds.timers.timers import Timers
from sortkey.http.metrics import Samples
from sortkey.model.costs.explain import read_dollars_per_million, write_dollars_per_million
from sortkey.model.costs.monthly_cost import DAYS
from sortkey.model.errors import ModelError
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import unmetered
from sortkey.patterns.generation.pointer import Pointer
from sortkey.server.console.access import Viewer
from sortkey.server.console.feeds import FeedBook
from sortkey.server.console.findings import Findings, FindingShown
from sortkey.server.console.live.rates import Counts, counts_by, total
from sortkey.server.console.routes import Message, Nothing, Route, Routes, instant, instant_text
from sortkey.server.console.sources import Sources

ENDPOINT: Final = "dynamodb"
"""In the place of a service: the DynamoDB endpoint."""
OWN_TABLES: Final = "sortkey"
"""The same: the framework."""
OWN: Final = "server"
"""The same: the server's own routes."""
HISTORY_SECONDS: Final = 5.0
HISTORY: Final = 120
"""Ten minutes."""
SLOW_SECONDS: Final = 5.0
"""Between two reads of the store."""
MONTH_SECONDS: Final = DAYS * 24 * 3600
_MILLION: Final = 1_000_000
_MEMORY: Final = "/proc/self/statm"


class ServiceRates(Message):
    name: str
    requests_per_second: float
    errors_per_second: float
    rejected_per_second: float
    p50: float | None
    p99: float | None
    requests: float
    errors: float


class StoreShown(Message):
    kind: str
    bytes: int | None
    commits: int | None
    commits_per_second: float | None
    sync_seconds: float | None
    queued_writes: int | None
    read_units_per_second: float
    write_units_per_second: float
    dollars_per_month: float


class FeedLag(Message):
    name: str
    service: str
    lag_seconds: float | None
    lag_text: str
    blocked: str | None
    unfollowed: int
    dead_letters: int


class ScheduleDue(Message):
    schedule: str
    service: str
    overdue: int
    next: str | None


class BatchLoad(Message):
    service: str
    what: str
    at: str
    text: str


class Overview(Message):
    at: str
    of: str
    seconds: float
    services: list[ServiceRates]
    store: StoreShown
    memory: int
    connections: int
    consoles: int
    feeds: list[FeedLag]
    timers: list[ScheduleDue]
    batches: list[BatchLoad]
    findings: list[FindingShown]


class HistoryRates(Message):
    requests_per_second: float
    errors_per_second: float
    p50: float | None
    p99: float | None


class HistorySample(Message):
    at: str
    services: dict[str, HistoryRates]
    read_units_per_second: float
    write_units_per_second: float


class OverviewHistory(Message):
    samples: list[HistorySample]


class Sample(NamedTuple):
    """One look at the counters."""

    at: float
    """By the monotonic clock."""
    counts: Mapping[str, Counts]
    """By service."""
    read_units: float
    write_units: float
    commits: int
    connections: float


NO_SAMPLE: Final = Sample(0.0, {}, 0.0, 0.0, 0, 0.0)


class Slow(msgspec.Struct):
    """What was read from the store."""

    at: float = -SLOW_SECONDS
    feeds: list[FeedLag] = []
    timers: list[ScheduleDue] = []
    batches: list[BatchLoad] = []


class OverviewSampler:
    def __init__(self, sources: Sources, feeds: FeedBook | None, findings: Findings) -> None:
        self._sources = sources
        self._session: AsyncSession | None = None if sources.session is None else unmetered(sources.session)
        self._feeds = feeds
        self._findings = findings
        self._last = self._before = self._look()
        self._slow = Slow()
        self._history: deque[HistorySample] = deque(maxlen=HISTORY)
        self._history_from = self._last
        self.consoles = 0

    def routes(self) -> Routes:
        return {"overview": Route(Nothing, self.overview), "overview/history": Route(Nothing, self.history)}

    def sample(self) -> None:
        """Look again. The rates are those since the look before."""
        self._before, self._last = self._last, self._look()
        if self._last.at - self._history_from.at >= HISTORY_SECONDS:
            self._history.append(self._history_sample(self._history_from, self._last))
            self._history_from = self._last

    def _look(self) -> Sample:
        sources = self._sources
        http = {} if sources.http is None else sources.http()
        endpoint = {} if sources.endpoint is None else sources.endpoint()
        counts = counts_by(http, lambda route: sources.service_of_route(route) or OWN)
        counts |= counts_by(endpoint, lambda _: ENDPOINT)
        for name in (*(each.name for each in sources.services), *((ENDPOINT,) if sources.endpoint else ())):
            counts.setdefault(name, Counts())
        read, write = self._units(endpoint)
        return Sample(monotonic(), counts, read, write, self._commits(), _connections(http) + _connections(endpoint))

    def _units(self, endpoint: Samples) -> tuple[float, float]:
        read = total(endpoint, "sortkey_capacity_units_total", 'kind="read"')
        write = total(endpoint, "sortkey_capacity_units_total", 'kind="write"')
        if self._sources.session is not None:
            for reading in self._sources.session.meter.readings():
                read += reading.read_units
                write += reading.write_units
        return read, write

    def _commits(self) -> int:
        database = self._sources.database
        return 0 if database is None else database.store.queue.commits

    async def overview(self, viewer: Viewer, _: Nothing) -> Overview:
        if monotonic() - self._last.at > 1.0:
            self.sample()
        await self.refresh()
        return self.shown(viewer)

    def shown(self, viewer: Viewer) -> Overview:
        seconds = max(1e-3, self._last.at - self._before.at)
        sees = viewer.sees_service
        return Overview(
            instant(self._sources.clock.now()),
            "workers" if self._sources.workers > 1 else "process",
            seconds,
            [rates for name, rates in self._rates(seconds).items() if sees(_owner(name))],
            self._store(seconds),
            resident_bytes(),
            int(self._last.connections),
            self.consoles,
            [each for each in self._slow.feeds if sees(each.service)],
            [each for each in self._slow.timers if sees(each.service)],
            [each for each in self._slow.batches if sees(each.service)],
            self._findings.wrong() if sees(None) else [],
        )

    def _rates(self, seconds: float) -> dict[str, ServiceRates]:
        found = {}
        for name, counts in self._last.counts.items():
            new = counts.minus(self._before.counts.get(name, Counts()))
            found[name] = ServiceRates(
                name,
                new.requests / seconds,
                new.errors / seconds,
                new.rejected / seconds,
                new.percentile(0.5),
                new.percentile(0.99),
                counts.requests,
                counts.errors,
            )
        return found

    def _store(self, seconds: float) -> StoreShown:
        database = self._sources.database
        read = max(0.0, self._last.read_units - self._before.read_units) / seconds
        write = max(0.0, self._last.write_units - self._before.write_units) / seconds
        a_month = (read_dollars_per_million(read) + write_dollars_per_million(write)) / _MILLION * MONTH_SECONDS
        if database is None:
            return StoreShown("remote", None, None, None, None, None, read, write, a_month)
        queue = database.store.queue
        return StoreShown(
            "memory" if database.store.path is None else "folder",
            database.store.bytes_used(),
            queue.commits,
            max(0, self._last.commits - self._before.commits) / seconds,
            queue.commit_seconds,
            len(queue),
            read,
            write,
            a_month,
        )

    async def refresh(self) -> None:
        """Read what the store has to tell, if it was some seconds ago. An error of the store leaves it as it was: the
        findings tell that it is away."""
        if monotonic() - self._slow.at < SLOW_SECONDS:
            return
        self._slow.at = monotonic()
        try:
            self._slow = await self._read()
        except (ModelError, ClientError, BotoCoreError) as error:
            self._findings.store_is_away(error)
        self._findings.refresh_soon()

    async def _read(self) -> Slow:
        if self._feeds is None or self._session is None:
            return Slow(monotonic())
        feeds = [await self._feeds.shown(service, feed) for service, feed in self._feeds.all]
        lags = [
            FeedLag(
                each.name,
                each.service,
                each.lag_seconds,
                each.lag_text,
                each.blocked,
                each.unfollowed,
                each.dead_letters,
            )
            for each in feeds
        ]
        due = []
        for service, feed in self._feeds.all:
            if isinstance(feed, Timers):
                timers = await self._feeds.due(feed, 2, 100)
                now = self._sources.clock.now()
                late = sum(each.at.timestamp() < now for each in timers)
                following = next((each.at for each in timers if each.at.timestamp() >= now), None)
                due.append(
                    ScheduleDue(feed.name, service.name, late, None if following is None else instant_text(following))
                )
        self._findings.of_feeds(feeds)
        return Slow(monotonic(), lags, due, await self._batches(self._session))

    async def _batches(self, session: AsyncSession) -> list[BatchLoad]:
        """The generations that are served."""
        try:
            pointers = [each async for each in session.scan(Pointer) if each.current is not None]
        except ClientError as error:
            # No batch has loaded anything yet.
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            return []
        return [_load(each, self._service_of_load(each.of)) for each in pointers]

    def _service_of_load(self, of: str) -> str:
        """Loads are named after a class or a table of their service."""
        for service in self._sources.services:
            names = {service.name, *(table.name for table in service.tables)}
            names.update(schema.name for table in service.tables for schema in table.schemas)
            if names.intersection(of.split(".")):
                return service.name
        return OWN_TABLES

    async def history(self, viewer: Viewer, _: Nothing) -> OverviewHistory:
        samples = []
        for sample in self._history:
            services = {name: rates for name, rates in sample.services.items() if viewer.sees_service(_owner(name))}
            samples.append(msgspec.structs.replace(sample, services=services))
        return OverviewHistory(samples)

    def _history_sample(self, before: Sample, now: Sample) -> HistorySample:
        seconds = now.at - before.at
        services = {}
        for name, counts in now.counts.items():
            new = counts.minus(before.counts.get(name, Counts()))
            services[name] = HistoryRates(
                new.requests / seconds, new.errors / seconds, new.percentile(0.5), new.percentile(0.99)
            )
        return HistorySample(
            instant(self._sources.clock.now()),
            services,
            max(0.0, now.read_units - before.read_units) / seconds,
            max(0.0, now.write_units - before.write_units) / seconds,
        )


def _owner(name: str) -> str | None:
    """None, which is the owner's, for what belongs to no service."""
    return None if name in (ENDPOINT, OWN) else name


def _connections(samples: Samples) -> float:
    return sum(samples.get(name, 0.0) for name in ("sortkey_http_connections", "sortkey_connections"))


def _load(pointer: Pointer, service: str) -> BatchLoad:
    served: Any = pointer.current
    as_of: datetime = served.as_of
    text = f"{served.rows:,} rows, complete up to {instant_text(as_of)}"
    return BatchLoad(service, pointer.of, instant_text(served.published), text)


def resident_bytes() -> int:
    """The memory of this process."""
    try:
        with open(_MEMORY, "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        # Not Linux, which alone tells what is resident now; this is the most that ever was.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
