"""Pricing over HTTP, with wrk on 8 connections, and PostgreSQL with pgbench on 8 connections.

wrk and pgbench are both in C, each on one thread beside its server. REST and GraphQL answer with JSON for a browser,
PostgreSQL with rows.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from benchmarks import _wrk
from benchmarks._prices_postgres import BY_PRODUCT, BY_STORE, ONE, UPCOMING
from benchmarks._pricing_calls import BY_PRODUCT as PAGE_BY_PRODUCT
from benchmarks._pricing_calls import BY_STORE as PAGE_BY_STORE
from benchmarks._pricing_calls import ONE as ONE_PRICE
from benchmarks._pricing_calls import UPCOMING as UPCOMING_CHANGES
from benchmarks._pricing_calls import Timed, timed
from benchmarks._pricing_market import UPCOMING_CHANNEL, UPCOMING_STORES, Questions, Sizes
from tests.postgres.server import programs

CONNECTIONS: Final = 8
REQUESTS: Final = 1000
GRAPHQL: Final = "GraphQL, 64 edges"
QUERY: Final = """query Prices($store: ID!) { basePrices(store: $store, first: 64) {
edges { cursor node { product amount currency effectiveFrom } } pageInfo { hasNextPage endCursor } } }""".replace(
    "\n", " "
)
ANSWER_SECONDS: Final = 60
"""Processor time between two looks of a process that has nothing to do."""


class Rate(NamedTuple):
    rate: float
    """Requests a second."""
    timed: Timed


class Asked(NamedTuple):
    """A request for wrk: without a body, it is a GET."""

    operation: str
    body: bytes = b""


def questions(sizes: Sizes, stores: int) -> dict[str, Callable[[], Asked]]:
    asked = Questions(sizes, stores)
    return {
        PAGE_BY_STORE: lambda: Asked(f"/pricing/stores/{asked.store()}/prices"),
        PAGE_BY_PRODUCT: lambda: Asked(f"/pricing/products/{asked.product()}/prices"),
        ONE_PRICE: lambda: Asked(f"/pricing/stores/{asked.store()}/products/{asked.product()}"),
        UPCOMING_CHANGES: lambda: Asked(
            f"/pricing/stores/{asked.store_with_changes()}/changes?channel={UPCOMING_CHANNEL}"
        ),
        GRAPHQL: lambda: Asked(
            "/graphql", msgspec.json.encode({"query": QUERY, "variables": {"store": asked.store()}})
        ),
    }


class Served(NamedTuple):
    url: str
    pid: int


@contextmanager
def served(store: Path, *, follows: bool = False) -> Iterator[Served]:
    """`sortkey serve pricing`; mostly without what follows changes, which would disturb the reads."""
    command = [sys.executable, "-m", "sortkey", "serve", "pricing", "--store", str(store), "--port", "0"]
    command += ["--access-log", "off", *(() if follows else ("--no-follow",))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError(f"sortkey serve did not start: {line!r}")
        yield Served(line.split()[1], process.pid)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def over_http(url: str, sizes: Sizes, stores: int) -> dict[str, Rate]:
    found = {}
    with TemporaryDirectory() as folder:
        for name, question in questions(sizes, stores).items():
            asked = [question() for _ in range(REQUESTS)]
            _require_answers(url, name, asked[0])
            file = Path(folder) / "requests"
            _wrk.write_requests(file, asked)
            _wrk.run(url, file, CONNECTIONS, 1)
            measured = _wrk.run(url, file, CONNECTIONS, sizes.seconds)
            if measured.error is not None:
                raise RuntimeError(f"{name}: {measured.error}")
            found[name] = Rate(measured.rate, Timed(measured.p50, measured.p95, measured.p99))
    return found


def _require_answers(url: str, name: str, asked: Asked) -> None:
    """GraphQL answers 200 to a query that fails, which would look fast."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_SECONDS)
    headers = {"Content-Type": "application/json"} if asked.body else {}
    connection.request("POST" if asked.body else "GET", asked.operation, asked.body or None, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status != 200 or b'"errors"' in text:
        raise RuntimeError(f"{name} was answered with {answer.status}: {text[:300]!r}")


STATEMENTS: Final[Mapping[str, str]] = {
    PAGE_BY_STORE: BY_STORE % ("lpad((:store)::text, 5, '0')", "''"),
    PAGE_BY_PRODUCT: BY_PRODUCT % ("'P' || lpad((:product)::text, 4, '0')", "''"),
    ONE_PRICE: ONE % ("lpad((:store)::text, 5, '0')", "'P' || lpad((:product)::text, 4, '0')"),
    UPCOMING_CHANGES: UPCOMING % ("lpad((:changed)::text, 5, '0')",),
}


def over_pgbench(url: str, sizes: Sizes, stores: int) -> dict[str, Rate]:
    with TemporaryDirectory() as folder:
        return {name: _pgbench(url, sizes, stores, text, Path(folder)) for name, text in STATEMENTS.items()}


def _pgbench(url: str, sizes: Sizes, stores: int, statement: str, folder: Path) -> Rate:
    changed = min(UPCOMING_STORES, sizes.few_stores)
    script = folder / "script.sql"
    script.write_text(
        f"\\set store random(0, {stores - 1})\n\\set product random(0, {sizes.products - 1})\n"
        f"\\set changed random(0, {changed - 1})\n{' '.join(statement.split())};\n"
    )
    for log in folder.glob("log*"):
        log.unlink()
    program = [str(programs() / "pgbench"), "--no-vacuum", "--protocol=prepared", f"--client={CONNECTIONS}", "--jobs=1"]
    run = [*program, f"--time={sizes.seconds}", f"--file={script}", "--log", f"--log-prefix={folder / 'log'}", url]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"pgbench failed: {done.stderr.strip()[-500:]}")
    taken = list(_latencies(folder))
    return Rate(len(taken) / sizes.seconds, timed(taken))


def _latencies(folder: Path) -> Iterator[float]:
    """Milliseconds of each transaction: the third column of pgbench's log is microseconds."""
    for log in folder.glob("log*"):
        with log.open() as lines:
            for line in lines:
                yield int(line.split()[2]) / 1000
