"""Bulk work on stores that are some milliseconds away, beside the least requests that it needs

A store is on loopback, behind a proxy that adds latency. `by hand` is boto3, with as many requests in flight, which
sends the least requests that leave the same rows, and decides nothing. A ratio is that of the times, of the requests,
of how many were in flight on average, or of this process's processor time. SORTKEY_REMOTE_ROWS, _PERSONS, _PRICES,
_CHANGES and _TIMERS set the sizes, SORTKEY_REMOTE_LATENCIES=1,10 the milliseconds,
SORTKEY_REMOTE_STORES=endpoint,local,dynoxide which stores, and SORTKEY_REMOTE_WORKS=goals,timers which works.
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
from tests.dynoxide import Dynoxide
from tests.maven import Unavailable
from tests.oracle.endpoint import Endpoint
from tests.oracle.local import DynamoDBLocal
from tests.wire.serving import ServerProcess

NAMESPACE: Final = "sortkey"
PROXY_CALLS: Final = 50
_NUMBERS: Final = count(1)
STORES: Final = {"endpoint": "our endpoint", "local": "DynamoDB Local", "dynoxide": "Dynoxide"}
WORKS: Final = ("goals", "prices", "changes", "rows", "timers")


class Sizes(NamedTuple):
    rows: int = 20_000
    persons: int = 20_000
    prices: int = 10_000
    changes: int = 20_000
    timers: int = 2_000
    latencies: tuple[float, ...] = (1.0, 10.0)
    """In milliseconds."""
    stores: tuple[str, ...] = tuple(STORES)
    works: tuple[str, ...] = WORKS

    @classmethod
    def from_environment(cls, given: Mapping[str, str] = os.environ) -> Sizes:
        found = {name: given[key] for name in cls._fields if (key := f"SORTKEY_REMOTE_{name.upper()}") in given}
        several = {"latencies": float, "stores": str, "works": str}
        sizes: dict[str, Any] = {
            name: tuple(map(several[name], text.split(","))) if name in several else int(text)
            for name, text in found.items()
        }
        return cls(**sizes)


class Measured(NamedTuple):
    ours: Stopwatch
    bare: Stopwatch
    most_in_flight: int


def run() -> Iterator[Result]:
    yield from measure(Sizes.from_environment())


def measure(sizes: Sizes) -> Iterator[Result]:
    with TemporaryDirectory() as folder:
        all_works = {
            "goals": goals(sizes.persons, Path(folder)),
            "prices": price_changes(sizes.prices),
            "changes": aggregate(sizes.changes),
            "rows": loading(sizes.rows),
            "timers": timers(sizes.timers),
        }
        works = [all_works[name] for name in sizes.works]
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
            yield Result(f"{where}: {work.name}", found.ours.seconds, "s", found.bare.seconds)
            yield Result("  requests", found.ours.requests, "", found.bare.requests)
            yield Result("  in flight on average", found.ours.in_flight, "", found.bare.in_flight)
            yield Result("  most in flight", found.most_in_flight, "", IN_FLIGHT)
            yield Result("  processor time", found.ours.processor, "s", found.bare.processor)


@contextmanager
def _store(name: str, folder: Path) -> Iterator[str]:
    if name == "endpoint":
        server = ServerProcess("--memory")
        yield server.url
        server.stop()
        return
    try:
        log = folder / f"{name}.log"
        running = DynamoDBLocal(log) if name == "local" else Dynoxide(log, optimised=True)
    except Unavailable as error:
        raise RuntimeError(f"no {STORES[name]}: {error}") from error
    yield running.url
    running.close()


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
    watched = Stopwatch(boto.requests)
    work.bare(boto, watched, left)
    boto.close()
    endpoint = Endpoint(url, NAMESPACE)
    endpoint.drop(endpoint.call("ListTables", {})["TableNames"])
    endpoint.close()
    return Measured(watch, watched, calls.requests.most_in_flight)


def _rows(url: str, table: sk.Table) -> Iterator[Row]:
    with sk.connect(url, timeout=None) as session:
        yield from session.scan_rows(table, consistent=True)


async def _by_sortkey(work: Work, url: str) -> tuple[Stopwatch, CountedClient]:
    async with sk.async_connect(url, tables=work.tables, timeout=None) as session:
        await session.create_tables()
        counted = session.client = CountedClient(session.client)
        watch = Stopwatch(counted.requests)
        await work.ours(session, watch)
    return watch, counted
