"""Goals: a batch of 1,000,000 persons on DuckDB and on Spark; reads alone and during a load; an event until it is seen

The batch is `sortkey batch goals`, from the start of the process to its end, on generated gold with three goals and
about four contributions a person, into a synced folder. Reads are of random persons: in the process one after the
other, and over HTTP (`sortkey serve goals`) by wrk with 8 connections, as fast as they are answered, and again with a
request of each connection every 10 ms. The load beside them is another process. The last row goes through Kafka and
`sortkey worker goals`, and ends with the answer of an HTTP read that shows the event.

SORTKEY_BENCH_PERSONS=10000 makes it small.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import uvloop

from benchmarks import _wrk
from benchmarks._goals import BatchProcess, Inputs, Latencies, Loaded, events_until_visible, read_in_process, serving
from benchmarks._peers import working_folder
from benchmarks._results import Result
from benchmarks._wrk import Measured
from tests.kafka.broker import running
from tests.maven import Unavailable

PERSONS: Final = int(os.environ.get("SORTKEY_BENCH_PERSONS", "1000000"))
CONNECTIONS: Final = 8
PACE: Final = 10
"""Milliseconds between two requests of a connection, when they are paced."""


class Sizes(NamedTuple):
    persons: int
    pending: int
    """Deposits that are pending while persons are read."""
    reads: int
    seconds: int
    """Of each measurement over HTTP."""
    events: int


class Read(NamedTuple):
    """A request for `_wrk`."""

    operation: str
    body: bytes = b""


def run() -> Iterator[Result]:
    yield from measured(Sizes(PERSONS, pending=2_000, reads=20_000, seconds=10, events=200))


def measured(sizes: Sizes) -> Iterator[Result]:
    _wrk.require()
    with TemporaryDirectory(dir=working_folder()) as name:
        folder = Path(name)
        inputs = Inputs(folder, sizes.persons)
        yield from _batch("DuckDB", sizes, inputs.start_batch(0).wait())
        yield from _on_spark(inputs, sizes)
        yield from _reads(inputs, sizes)
        try:
            (folder / "kafka").mkdir()
            with running(folder / "kafka") as broker:
                seen = events_until_visible(broker, inputs, sizes.events)
        except Unavailable as error:
            print(f"goals: an event until it is seen is left out, {error}")
        else:
            yield from _percentiles("event until seen, through Kafka", seen)


def _on_spark(inputs: Inputs, sizes: Sizes) -> Iterator[Result]:
    if shutil.which("java") is None:
        print("goals: Spark is left out, there is no java")
        return
    # A store of its own, so that both engines load into an empty one.
    store = inputs.folder / "spark-data"
    yield from _batch("Spark", sizes, inputs.start_batch(0, "--engine", "spark", store=store).wait())
    shutil.rmtree(store)


def _batch(engine: str, sizes: Sizes, loaded: Loaded) -> Iterator[Result]:
    name = f"batch of {sizes.persons:,} persons on {engine}"
    yield Result(name, loaded.seconds, "s")
    yield Result(f"{name}, rows", sizes.persons / loaded.seconds, "/s")
    if engine == "DuckDB":
        yield Result(f"{name}, memory", loaded.megabytes, "MB")


def _reads(inputs: Inputs, sizes: Sizes) -> Iterator[Result]:
    requests = inputs.folder / "requests"
    draw = Random(19)
    _wrk.write_requests(requests, [Read(f"/goals/{inputs.person(draw)}") for _ in range(10_000)])
    alone, units = uvloop.run(read_in_process(inputs, sizes.pending, lambda made, _: made < sizes.reads, lambda: None))
    yield from _percentiles("read in the process", alone)
    yield Result("read, capacity units", units, "units")
    with serving(inputs.store) as url:

        def fast() -> Measured:
            return _checked(_wrk.run(url, requests, CONNECTIONS, sizes.seconds))

        def paced() -> Measured:
            return _checked(_wrk.run(url, requests, CONNECTIONS, sizes.seconds, PACE))

        fast()
        calm = {"fast": fast(), "paced": paced()}
        yield Result(f"reads over HTTP, {CONNECTIONS} connections", calm["fast"].rate, "/s")
        yield from _percentiles(f"read over HTTP, {CONNECTIONS} connections", _of_wrk(calm["fast"]))
        load = inputs.start_batch(1)
        try:
            yield from _during(load, inputs, sizes, alone, calm, {"fast": fast, "paced": paced})
            took = load.wait()
        finally:
            load.end()
    yield Result("the load meanwhile, rows", sizes.persons / took.seconds, "/s")


def _during(
    load: BatchProcess,
    inputs: Inputs,
    sizes: Sizes,
    alone: Latencies,
    calm: dict[str, Measured],
    again: dict[str, Callable[[], Measured]],
) -> Iterator[Result]:
    """Beside what was measured without a load."""
    load.wait_until_writing()
    busy, _ = uvloop.run(
        read_in_process(inputs, 0, lambda _, seconds: seconds < sizes.seconds, lambda: time.sleep(0.001))
    )
    yield from _percentiles("read in the process during a load", busy, alone)
    for kind, name in (("fast", ""), ("paced", f", paced by {PACE} ms")):
        found = _of_wrk(again[kind]())
        yield from _percentiles(f"read over HTTP during a load{name}", found, _of_wrk(calm[kind]))


def _of_wrk(found: Measured) -> Latencies:
    return Latencies(found.p50, found.p99, found.requests)


def _checked(found: Measured) -> Measured:
    if found.error is not None:
        raise RuntimeError(found.error)
    return found


def _percentiles(name: str, found: Latencies, alone: Latencies | None = None) -> Iterator[Result]:
    for label, value, before in (
        ("p50", found.p50, alone and alone.p50),
        ("p99", found.p99, alone and alone.p99),
    ):
        yield Result(f"{name}, {label}", value, "ms", peers={} if before is None else {"without a load": before})
