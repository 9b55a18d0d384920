"""Boosts over HTTP: lookups of 50 partners beside the bare framework that answers a constant of the same size.

`sortkey serve boosts` on a data folder with the benchmark's market, and Litestar on uvicorn by itself; one process
each, wrk with 8 connections, turn by turn.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from benchmarks import _wrk
from benchmarks._boosts_market import TENANT, body, load, pages, service
from benchmarks._results import Result, Section
from benchmarks._wrk import Measured
from sortkey.model.sessions.connect import async_connect
from sortkey_services.boosts.service import TABLES

PARTNERS: Final = 11_000
CONNECTIONS: Final = 8
SECONDS: Final = 1
ROUNDS: Final = 15
BODIES: Final = 1000
START_SECONDS: Final = 60
PATH: Final = f"/boosts/{TENANT}/lookup"


class Lookup(NamedTuple):
    """A request for `_wrk`."""

    operation: str
    body: bytes


async def fill(folder: Path) -> None:
    async with async_connect(folder, tables=TABLES["v2"]) as session:
        await load(service(session, "v2"), PARTNERS)


@contextmanager
def serving(command: Sequence[str], port: int) -> Iterator[str]:
    """Runs a process that serves on the port, and stops it at the end."""
    process = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.02)  # a port that opens sends no signal
        else:
            raise RuntimeError(f"{command[0]} did not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answer_size(url: str, asked: bytes) -> int:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=START_SECONDS)
    connection.request("POST", PATH, asked, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"the lookup was answered with {answer.status}")
    return size


def take_turns(urls: Sequence[str], requests: Path) -> list[list[Measured]]:
    for url in urls:
        _wrk.run(url, requests, CONNECTIONS, 1)
    rounds = [[_wrk.run(url, requests, CONNECTIONS, SECONDS) for url in urls] for _ in range(ROUNDS)]
    for measured in (each for turn in rounds for each in turn):
        if measured.error is not None:
            raise RuntimeError(measured.error)
    return [list(of_url) for of_url in zip(*rounds, strict=True)]


def run() -> Iterator[Result | Section]:
    _wrk.require()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(fill(folder / "data"))
        bodies = [body(page) for page in islice(pages(PARTNERS, seed=11), BODIES)]
        _wrk.write_requests(folder / "requests", [Lookup(PATH, each) for each in bodies])
        (folder / "config.toml").write_text(
            f'[boosts.tenants.{TENANT}]\nareas = "wildcard"\ntimezone = "Europe/Istanbul"\n', encoding="utf-8"
        )
        ours, bare = free_port(), free_port()
        settings = ["--config", str(folder / "config.toml"), "--access-log", "off"]
        command = ["sortkey", "serve", "boosts", "--store", str(folder / "data"), "--port", str(ours), *settings]
        with serving(command, ours) as url:
            size = answer_size(url, bodies[0])
            with serving(["benchmarks._bare_framework", str(bare), str(size)], bare) as bare_url:
                constant = answer_size(bare_url, bodies[0])
                lookups, constants = take_turns([url, bare_url], folder / "requests")
    found = {
        "rate": median(each.rate for each in lookups),
        "bare_rate": median(each.rate for each in constants),
        "share": median(mine.rate / theirs.rate for mine, theirs in zip(lookups, constants, strict=True)),
        "p50_ms": median(each.p50 for each in lookups),
        "p99_ms": median(each.p99 for each in lookups),
        "bare_p99_ms": median(each.p99 for each in constants),
        "answer_bytes": size,
        "bare_answer_bytes": constant,
    }
    yield Result("lookups of 50", found["rate"], "/s", bare=found["bare_rate"])
    yield Result("p50", found["p50_ms"], "ms")
    yield Result("p99", found["p99_ms"], "ms", bare=found["bare_p99_ms"])
    yield Section(found)
