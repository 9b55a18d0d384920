"""Vector search: recall at 10 and latency of 384 dimensions, beside exact numpy and Chroma

The vectors have structure: each is near one of many centres, as those of texts are. The recall is measured against
exact search. Sortkey and Chroma are embedded, and keep the vectors in a folder; numpy has them in memory, and
multiplies by `@`, in as many threads as it likes. Processor time is that of all threads; a machine that is busy changes
it less. Memory is what the process has, without pages of files and numpy's vectors.

`SIZES=1000000` measures other numbers than 10,000 and 100,000; it needs 20 GB of disk. With `FOLDER=DIR`, the vectors
stay there, and those that an earlier run has put are not put again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import enumerate as enumerate_threads
from time import perf_counter, process_time, thread_time
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

import sortkey as sk
from benchmarks._peers import Unavailable, cache_folder, install_once, working_folder
from benchmarks._results import Result
from sortkey.engine.vectors.vector_memory import BUILDER, FOLDER, GRAPH_FROM

DIMENSIONS: Final = 384
SIZES: Final = (10_000, 100_000)
QUERIES: Final = 200
TOP: Final = 10
MEMBERS: Final = 50
"""Vectors around a centre, on average."""
DRAWN: Final = 10_000
"""Vectors that are drawn at a time."""
CHROMA_UP_TO: Final = 100_000
"""More take it hours."""
SEED: Final = 25
CHROMA: Final = "1.5.9"
PEER: Final = Path(__file__).with_name("_vectors_chroma.py")

Floats = NDArray[np.float32]
Query = TypeVar("Query")


class Text(sk.Item, table="bench-vectors"):
    number: int
    vector: sk.Vector

    key = sk.Key("TEXT#{number}")
    near = sk.VectorIndex("near", "vector", dimensions=DIMENSIONS, projection="KEYS_ONLY")


class Spent(NamedTuple):
    seconds: float
    processor: float
    """Seconds of processor time."""


class Searches(NamedTuple):
    found: list[list[int]]
    latencies: list[float]
    """In milliseconds."""
    processor: float
    """Milliseconds of processor time that one takes."""


class Measured(NamedTuple):
    searches: Searches
    puts: int
    """How many vectors were put."""
    putting: Spent
    opening: Spent
    """The first search of a process."""


class MeasuredGraph(NamedTuple):
    exact: Searches
    """Before there was one."""
    making: Spent
    opening: Spent
    """The first search of a later process, and until it has the graph again."""
    megabytes: float
    """Of memory, with all vectors."""
    file_megabytes: float


def run() -> Iterator[Result]:
    sizes = [int(size) for size in os.environ.get("SIZES", "").split(",") if size] or SIZES
    for size in sizes:
        vectors, queries = made(size)
        bare = by_numpy(vectors, queries)
        with store_folder(size) as folder:
            ours, graph = by_sortkey(folder, vectors, queries)
        peers = {}
        try:
            if size <= CHROMA_UP_TO:
                peers["Chroma"] = by_chroma(vectors, queries)
        except Unavailable as error:
            sys.stderr.write(f"Chroma: {error}\n")
        yield from compared(size, bare, ours, peers)
        if graph is not None:
            yield from of_graph(size, graph, bare)


@contextmanager
def store_folder(size: int) -> Iterator[Path]:
    kept = os.environ.get("FOLDER")
    if kept is None:
        with TemporaryDirectory(dir=working_folder()) as folder:
            yield Path(folder)
    else:
        yield Path(kept) / str(size)


def made(size: int) -> tuple[Floats, Floats]:
    """The vectors, and those to search for: near some of them."""
    draw = np.random.default_rng(SEED)
    centres = draw.normal(size=(max(size // MEMBERS, 1), DIMENSIONS)).astype(np.float32)
    vectors = centres[draw.integers(0, len(centres), size)]
    for start in range(0, size, DRAWN):
        part = vectors[start : start + DRAWN]
        part += 0.6 * draw.normal(size=part.shape).astype(np.float32)
    chosen = vectors[draw.integers(0, size, QUERIES)]
    return vectors, chosen + (0.2 * draw.normal(size=chosen.shape)).astype(np.float32)


def by_numpy(vectors: Floats, queries: Floats) -> Searches:
    """The exact neighbours, and how long a search takes that only multiplies."""
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]

    def search(query: Floats) -> list[int]:
        products = units @ query
        best = np.argpartition(products, -TOP)[-TOP:]
        found: list[int] = best[np.argsort(-products[best])].tolist()
        return found

    return timed(search, list(queries), process_time)


def by_sortkey(folder: Path, vectors: Floats, queries: Floats) -> tuple[Measured, MeasuredGraph | None]:
    wanted: list[list[float]] = queries.tolist()
    puts, putting = put_all(folder, vectors)
    rmtree(folder / FOLDER, ignore_errors=True)
    # Opened again: nothing is in memory but what the system keeps of the file.
    with sk.connect(folder, tables=[Text]) as db:
        search = partial(nearest, db)
        opening = spent(lambda: search(wanted[0]))
        searches = timed(search, wanted, thread_time)
        if len(vectors) < GRAPH_FROM:
            return Measured(searches, puts, putting, opening), None
        # Meanwhile a thread makes the graph, and keeps it at the end.
        making = spent(wait_for_graph)
        exact, searches = searches, timed(search, wanted, thread_time)
        megabytes = memory() - vectors.nbytes / 2**20
    file_megabytes = sum(file.stat().st_size for file in (folder / FOLDER).iterdir()) / 1e6
    with sk.connect(folder, tables=[Text]) as db:
        opening_again = spent(partial(open_with_graph, db, wanted[0]))
    graph = MeasuredGraph(exact, making, opening_again, megabytes, file_megabytes)
    return Measured(searches, puts, putting, opening), graph


def put_all(folder: Path, vectors: Floats) -> tuple[int, Spent]:
    """Put what is not there yet; returns how many were put."""
    with sk.connect(folder, tables=[Text]) as db:
        db.create_tables()
        # They are put in order.
        first = db.client.describe_table(TableName="bench-vectors")["Table"]["ItemCount"]
        left = enumerate(vectors[first:], first)
        putting = spent(lambda: db.load(Text(number=number, vector=vector.tolist()) for number, vector in left))
    return len(vectors) - first, putting


def nearest(db: sk.Session, query: list[float]) -> list[int]:
    return [each.item.number for each in db.nearest(Text.near(), query, TOP)]


def open_with_graph(db: sk.Session, query: list[float]) -> None:
    nearest(db, query)
    wait_for_graph()


def wait_for_graph() -> None:
    """Until the thread that makes a graph has ended."""
    for thread in enumerate_threads():
        if thread.name == BUILDER:
            thread.join()


def memory() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon:"))


def spent(work: Callable[[], object]) -> Spent:
    started, processor = perf_counter(), process_time()
    work()
    return Spent(perf_counter() - started, process_time() - processor)


def timed(search: Callable[[Query], list[int]], queries: Sequence[Query], clock: Callable[[], float]) -> Searches:
    """`clock` is the processor's, of what works on a search."""
    found, latencies = [], []
    processor = clock()
    for query in queries:
        started = perf_counter()
        found.append(search(query))
        latencies.append((perf_counter() - started) * 1000)
    return Searches(found, latencies, (clock() - processor) * 1000 / len(queries))


def by_chroma(vectors: Floats, queries: Floats) -> Measured:
    """In a process of its own, with its own packages."""
    python = _install_chroma()
    with TemporaryDirectory(dir=working_folder()) as folder:
        for name, array in (("vectors", vectors), ("queries", queries)):
            np.save(Path(folder) / f"{name}.npy", array)
        done = subprocess.run([python, str(PEER), folder, str(TOP)], capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(done.stderr.strip().rpartition("\n")[2])
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    putting, opening = Spent(*answer["putting"]), Spent(*answer["opening"])
    return Measured(Searches(**answer["searches"]), len(vectors), putting, opening)


def _install_chroma() -> str:
    folder = cache_folder(f"chroma-{CHROMA}")
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install_once(folder, [sys.executable, "-m", "venv", str(folder)], [*pip, f"chromadb=={CHROMA}", "numpy"])
    return python


def compared(size: int, bare: Searches, ours: Measured, peers: dict[str, Measured]) -> Iterator[Result]:
    def beside(name: str, unit: str, value_of: Callable[[Measured], float], exact: float | None = None) -> Result:
        return Result(name, value_of(ours), unit, exact, {peer: value_of(each) for peer, each in peers.items()})

    def latency(name: str, share: float) -> Result:
        exact = quantile(bare.latencies, share)
        return beside(f"search of {size:,}, {name}", "ms", lambda each: quantile(each.searches.latencies, share), exact)

    yield beside(f"search of {size:,}, processor time", "ms", lambda each: each.searches.processor, bare.processor)
    yield latency("shortest", 0.0)
    yield latency("p50", 0.5)
    yield latency("p99", 0.99)
    yield beside(f"recall at {TOP} of {size:,}", "", lambda each: recall(bare.found, each.searches.found), 1.0)
    if ours.puts:
        yield beside(f"puts of {size:,}", "/s", lambda each: each.puts / each.putting.seconds)
        yield beside(f"a put of {size:,}, processor time", "ms", lambda each: each.putting.processor * 1000 / each.puts)
    yield beside(f"first search of {size:,}", "s", lambda each: each.opening.seconds)
    yield beside(f"first search of {size:,}, processor time", "s", lambda each: each.opening.processor)


def of_graph(size: int, graph: MeasuredGraph, bare: Searches) -> Iterator[Result]:
    exact = graph.exact
    yield Result(f"search of {size:,} before the graph, processor time", exact.processor, "ms", bare.processor)
    yield Result(f"search of {size:,} before the graph, p50", quantile(exact.latencies, 0.5), "ms")
    for name, found in (("graph", graph.making), ("first search and graph, opened again,", graph.opening)):
        yield Result(f"{name} of {size:,}", found.seconds, "s")
        yield Result(f"{name} of {size:,}, processor time", found.processor, "s")
    yield Result(f"memory of {size:,}", graph.megabytes, "MB")
    yield Result(f"files of the graph of {size:,}", graph.file_megabytes, "MB")


def quantile(latencies: Sequence[float], share: float) -> float:
    return sorted(latencies)[min(int(len(latencies) * share), len(latencies) - 1)]


def recall(exact: list[list[int]], found: list[list[int]]) -> float:
    return sum(len({*one} & {*other}) for one, other in zip(exact, found, strict=True)) / (TOP * len(exact))
