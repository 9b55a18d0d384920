"""What open pages of the console cost a server: the processor time of a lookup of 50 partners, with 0, 1 and 10 pages.

`sortkey up` on a data folder with the benchmark's market; wrk with 8 connections. The pages show the overview, whose
numbers come each second. The rounds take turns, and processor time is the server's own: wrk and the pages have what it
leaves. The last rows are what the same pages cost without requests.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from benchmarks import _wrk
from benchmarks._boosts_market import TENANT, body, pages
from benchmarks._folder_check import processor_seconds
from benchmarks._results import Result, Section
from benchmarks.boosts_http import CONNECTIONS, PARTNERS, PATH, Lookup, fill, free_port, serving

CONSOLES: Final = (0, 1, 10)
SECONDS: Final = 4
ROUNDS: Final = 7
BODIES: Final = 1000
ANSWER_SECONDS: Final = 60
_HEADERS: Final = {"Content-Type": "application/json"}


class Costs(NamedTuple):
    """Of one round."""

    rate: float
    per_request: float
    """Microseconds of the server's processor time."""
    idle: float
    """Milliseconds of it in each second without requests."""


@contextmanager
def open_pages(url: str, number: int) -> Iterator[None]:
    """So many pages that show the overview, each of which has had its first numbers."""
    with ExitStack() as stack:
        for _ in range(number):
            connection = HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_SECONDS)
            connection.request("POST", "/console/api/live", '{"topics": ["overview"]}', _HEADERS)
            # The answer has no length, so it keeps the connection.
            answer = connection.getresponse()
            reader = Thread(target=_read_all, args=[answer], daemon=True)
            while not answer.readline().startswith(b"event: overview"):
                pass
            stack.callback(reader.join)
            stack.callback(_end, answer)
            reader.start()
        yield


def _read_all(answer: Any) -> None:
    while answer.readline():
        pass


def _end(answer: Any) -> None:
    """The reader's thread sees the end of the stream."""
    answer.fp.raw._sock.shutdown(2)


def process_of(url: str) -> int:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_SECONDS)
    connection.request("POST", "/console/api/about", "{}", _HEADERS)
    pid: int = json.load(connection.getresponse())["process"]["pid"]
    connection.close()
    return pid


def measure(url: str, pid: int, requests: Path, consoles: int) -> Costs:
    with open_pages(url, consoles):
        before = processor_seconds(pid)
        time.sleep(SECONDS)
        idle = (processor_seconds(pid) - before) / SECONDS
        before = processor_seconds(pid)
        measured = _wrk.run(url, requests, CONNECTIONS, SECONDS)
        used = processor_seconds(pid) - before
    if measured.error is not None:
        raise RuntimeError(measured.error)
    return Costs(measured.rate, used * 1e6 / measured.requests, idle * 1000)


def run() -> Iterator[Result | Section]:
    _wrk.require()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(fill(folder / "data"))
        asked = [body(page) for page in islice(pages(PARTNERS, seed=11), BODIES)]
        _wrk.write_requests(folder / "requests", [Lookup(PATH, each) for each in asked])
        (folder / "config.toml").write_text(
            f'[boosts.tenants.{TENANT}]\nareas = "wildcard"\ntimezone = "Europe/Istanbul"\n', encoding="utf-8"
        )
        port = free_port()
        settings = ["--config", str(folder / "config.toml"), "--access-log", "off", "--no-demo"]
        ports = ["--port", str(port), "--db-port", "0"]
        with serving(["sortkey", "up", "--store", str(folder / "data"), *ports, *settings], port) as url:
            pid = process_of(url)
            _wrk.run(url, folder / "requests", CONNECTIONS, SECONDS)
            rounds = [[measure(url, pid, folder / "requests", each) for each in CONSOLES] for _ in range(ROUNDS)]
    by_number = dict(zip(CONSOLES, zip(*rounds, strict=True), strict=True))
    found = {number: summary(costs, by_number[0]) for number, costs in by_number.items()}
    for number, each in found.items():
        bare = found[0]["per_request_us"] if number else None
        yield Result(f"a lookup, {number} pages open", each["per_request_us"], "µs", bare=bare)
    for number, each in found.items():
        yield Result(f"a second without requests, {number} pages open", each["idle_ms"], "ms")
    yield Section({str(number): each for number, each in found.items()})


def summary(costs: Sequence[Costs], none: Sequence[Costs]) -> dict[str, float]:
    """`none` are the costs in the same rounds without a page: a noisy moment is on both sides."""
    more = [each.per_request / other.per_request - 1 for each, other in zip(costs, none, strict=True)]
    return {
        "rate": median(each.rate for each in costs),
        "per_request_us": median(each.per_request for each in costs),
        "more_percent": median(more) * 100,
        "idle_ms": median(each.idle for each in costs),
    }
