"""Bulk work on stores that are some milliseconds away, beside the least requests that it needs

A store is on loopback, behind a proxy that adds latency. `by hand` is boto3, with as many requests in flight, which
sends the least requests that leave the same rows, and decides nothing. A ratio is that of the times, or of the
requests; `most in flight` has the limit beside it. SORTKEY_REMOTE_ROWS, _PERSONS, _PRICES, _CHANGES and _TIMERS set the
sizes, SORTKEY_REMOTE_LATENCIES=1,10 the milliseconds, SORTKEY_REMOTE_STORES=endpoint,local which stores.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

import sortkey as sk
from benchmarks._latency_proxy import delayed
from benchmarks._remote_calls import Bare, CountedClient, Stopwatch
from benchmarks._remote_work import Row, Work, aggregate, goals, loading, price_changes, timers
from benchmarks._results import Result
from sortkey.client.stores import IN_FLIGHT
from tests.maven import Unavailable
from tests.oracle.endpoint import Endpoint
from tests.oracle.local import DynamoDBLocal
from tests.wire.serving import ServerProcess

NAMESPACE: Final = "sortkey"
PROXY_CALLS: Final = 50
_NUMBERS: Final = count(1)
STORES: Final = {"endpoint": "our endpoint", "local": "DynamoDB Local"}


class Sizes(NamedTuple):
    rows: int = 20_000
    persons: int = 20_000
    prices: int = 10_000
    changes: int = 20_000
    timers: int = 2_000
    latencies: tuple[float, ...] = (1.0, 10.0)
    """In milliseconds."""
    stores: tuple[str, ...] = tuple(STORES)

    @classmethod
    def from_environment(cls, given: Mapping[str, str] = os.environ) -> Sizes:
        found = {name: given[key] for name in cls._fields if (key := f"SORTKEY_REMOTE_{name.upper()}") in given}
        sizes: dict[str, Any] = {name: int(text) for name, text in found.items() if name not in ("latencies", "stores")}
        if "latencies" in found:
            sizes["latencies"] = tuple(map(float, found["latencies"].split(",")))
        if "stores" in found:
            sizes["stores"] = tuple(found["stores"].split(","))
        return cls(**sizes)


class Measured(NamedTuple):
    ours: float
    """Seconds."""
    bare: float
    requests: int
    needed: int
    most_in_flight: int


def run() -> Iterator[Result]:
    yield from measure(Sizes.from_environment())


def measure(sizes: Sizes) -> Iterator[Result]:
    with TemporaryDirectory() as folder:
        works = [
            goals(sizes.persons, Path(folder)),
            price_changes(sizes.prices),
            aggregate(sizes.changes),
            loading(sizes.rows),
            timers(sizes.timers),
        ]
        for name in sizes.stores:
            with _store(name, Path(folder)) as url:
                for latency in sizes.latencies:
                    yield from _at_latency(name, url, latency, works)


def _at_latency(name: str, url: str, latency: float, works: Sequence[Work]) -> Iterator[Result]:
    where = f"{STORES[name]}, {latency:g} ms"
    with delayed(url, latency / 1000) as far:
        yield Result(
            f"{where}: one request", 1000 * _one_request(far), "ms", peers={"direct": 1000 * _one_request(url)}
        )
        for work in works:
            found = _measured(work, far, url)
            yield Result(f"{where}: {work.name}", found.ours, "s", found.bare)
            yield Result("  requests", found.requests, "", found.needed)
            yield Result("  most in flight", found.most_in_flight, "", IN_FLIGHT)


@contextmanager
def _store(name: str, folder: Path) -> Iterator[str]:
    if name == "local":
        try:
            local = DynamoDBLocal(folder / "dynamodb-local.log")
        except Unavailable as error:
            raise RuntimeError(f"no DynamoDB Local: {error}") from error
        yield local.url
        local.close()
    else:
        server = ServerProcess("--memory")
        yield server.url
        server.stop()


def _one_request(url: str) -> float:
    """The median time of a ListTables: what the proxy adds, and what it costs."""
    endpoint = Endpoint(url, NAMESPACE)
    taken = []
    for _ in range(PROXY_CALLS):
        began = perf_counter()
        endpoint.call("ListTables", {"Limit": 1})
        taken.append(perf_counter() - began)
    endpoint.close()
    return sorted(taken)[len(taken) // 2]


def _measured(work: Work, far: str, url: str) -> Measured:
    """Preparing and looking goes past the proxy."""
    # A table with the name of one that was deleted has the stream of that one, too.
    number = next(_NUMBERS)
    ours, bare = f"ours-{number}-", f"bare-{number}-"
    watch, calls = asyncio.run(_by_sortkey(work, f"{far}?prefix={ours}"))
    left = {table.name: list(_rows(f"{url}?prefix={ours}", table)) for table in work.tables}
    with sk.connect(f"{url}?prefix={bare}", timeout=None) as session:
        session.create_tables(*work.tables)
    boto = Bare(far, bare, IN_FLIGHT)
    watched = Stopwatch(boto.operations)
    work.bare(boto, watched, left)
    boto.close()
    endpoint = Endpoint(url, NAMESPACE)
    endpoint.drop(endpoint.call("ListTables", {})["TableNames"])
    endpoint.close()
    return Measured(watch.seconds, watched.seconds, watch.requests, watched.requests, calls.most_in_flight)


def _rows(url: str, table: sk.Table) -> Iterator[Row]:
    with sk.connect(url, timeout=None) as session:
        yield from session.scan_rows(table, consistent=True)


async def _by_sortkey(work: Work, url: str) -> tuple[Stopwatch, CountedClient]:
    async with sk.async_connect(url, tables=work.tables, timeout=None) as session:
        await session.create_tables()
        counted = session.client = CountedClient(session.client)
        watch = Stopwatch(counted.operations)
        await work.ours(session, watch)
    return watch, counted
