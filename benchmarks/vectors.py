"""Vector search: recall at 10 and latency of 384 dimensions, beside exact numpy and Chroma

The vectors have structure: each is near one of many centres, as those of texts are. The recall is measured against
exact search. Sortkey and Chroma are embedded, and keep the vectors in a folder; numpy has them in memory, and
multiplies by `@`, in as many threads as it likes. Memory is what the process has without pages of files, numpy's own
vectors among it. `SIZES=1000000` measures other numbers than 10,000 and 100,000; it needs 20 GB of disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import enumerate as enumerate_threads
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sortkey as sk
from benchmarks._peers import Unavailable, cache_folder, install_once, working_folder
from benchmarks._results import Result
from sortkey.engine.vectors.vector_memory import BUILDER, GRAPH_FROM

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


class Text(sk.Item, table="bench-vectors"):
    number: int
    vector: sk.Vector

    key = sk.Key("TEXT#{number}")
    near = sk.VectorIndex("near", "vector", dimensions=DIMENSIONS, projection="KEYS_ONLY")


class Measured(NamedTuple):
    latencies: list[float]
    """Of each search, in milliseconds."""
    found: list[list[int]]
    puts: float
    """A second."""
    opened: float
    """Seconds of the first search of a process."""
    exact: list[float] | None = None
    """The latencies before there was a graph, if it has one now."""
    made: float = 0.0
    """Seconds until there was."""
    restored: float = 0.0
    """Seconds until there was again, in a process that opens the folder later."""
    megabytes: float = 0.0


def run() -> Iterator[Result]:
    sizes = [int(size) for size in os.environ.get("SIZES", "").split(",") if size] or SIZES
    for size in sizes:
        vectors, queries = made(size)
        exact, bare = by_numpy(vectors, queries)
        ours = by_sortkey(vectors, queries)
        peers = {}
        try:
            if size <= CHROMA_UP_TO:
                peers["Chroma"] = by_chroma(vectors, queries)
        except Unavailable as error:
            sys.stderr.write(f"Chroma: {error}\n")
        yield from compared(size, exact, bare, ours, peers)


def made(size: int) -> tuple[Floats, Floats]:
    """The vectors, and those to search for: near some of them."""
    draw = np.random.default_rng(SEED)
    centres = draw.normal(size=(max(size // MEMBERS, 1), DIMENSIONS)).astype(np.float32)
    vectors = centres[draw.integers(0, len(centres), size)]
    for start in range(0, size, DRAWN):
        part = vectors[start : start + DRAWN]
        part += 0.6 * draw.normal(size=part.shape).astype(np.float32)
    chosen = vectors[draw.integers(0, size, QUERIES)]
    return vectors, chosen + 0.2 * draw.normal(size=chosen.shape).astype(np.float32)


def by_numpy(vectors: Floats, queries: Floats) -> tuple[list[list[int]], list[float]]:
    """The exact neighbours, and how long a search takes that only multiplies."""
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    found, latencies = [], []
    for query in queries:
        started = perf_counter()
        products = units @ query
        best = np.argpartition(products, -TOP)[-TOP:]
        latencies.append((perf_counter() - started) * 1000)
        found.append([int(each) for each in best[np.argsort(-products[best])]])
    return found, latencies


def by_sortkey(vectors: Floats, queries: Floats) -> Measured:
    with TemporaryDirectory(dir=working_folder()) as folder:
        with sk.connect(folder, tables=[Text]) as db:
            db.create_tables()
            started = perf_counter()
            db.load(Text(number=number, vector=vector.tolist()) for number, vector in enumerate(vectors))
            puts = len(vectors) / (perf_counter() - started)
        # Opened again: nothing is in memory but what the system keeps of the file.
        with sk.connect(folder, tables=[Text]) as db:
            started = perf_counter()
            db.nearest(Text.near(), queries[0].tolist(), TOP)
            opened = perf_counter() - started

            def search(query: Sequence[float]) -> list[int]:
                return [each.item.number for each in db.nearest(Text.near(), query, TOP)]

            found, latencies = timed(search, queries)
            if len(vectors) < GRAPH_FROM:
                return Measured(latencies, found, puts, opened)
            # Meanwhile a thread makes the graph, and keeps it at the end.
            made = waited_for_graph()
            found, approximate = timed(search, queries)
            megabytes = memory()
        with sk.connect(folder, tables=[Text]) as db:
            started = perf_counter()
            db.nearest(Text.near(), queries[0].tolist(), TOP)
            waited_for_graph()
            restored = perf_counter() - started
    return Measured(approximate, found, puts, opened, latencies, made, restored, megabytes)


def waited_for_graph() -> float:
    """The seconds until the thread that makes a graph has ended."""
    started = perf_counter()
    for thread in enumerate_threads():
        if thread.name == BUILDER:
            thread.join()
    return perf_counter() - started


def memory() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon:"))


def timed(search: Callable[[list[float]], list[int]], queries: Floats) -> tuple[list[list[int]], list[float]]:
    found, latencies = [], []
    for query in queries:
        wanted = query.tolist()
        started = perf_counter()
        found.append(search(wanted))
        latencies.append((perf_counter() - started) * 1000)
    return found, latencies


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
    return Measured(answer["latencies"], answer["found"], answer["puts"], answer["opened"])


def _install_chroma() -> str:
    folder = cache_folder(f"chroma-{CHROMA}")
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install_once(folder, [sys.executable, "-m", "venv", str(folder)], [*pip, f"chromadb=={CHROMA}", "numpy"])
    return python


def compared(
    size: int, exact: list[list[int]], bare: list[float], ours: Measured, peers: dict[str, Measured]
) -> Iterator[Result]:
    for part, name in ((0.5, "p50"), (0.99, "p99")):
        others = {peer: quantile(each.latencies, part) for peer, each in peers.items()}
        yield Result(
            f"search of {size:,}, {name}", quantile(ours.latencies, part), "ms", quantile(bare, part), peers=others
        )
    recalls = {peer: recall(exact, each.found) for peer, each in peers.items()}
    yield Result(f"recall at {TOP} of {size:,}", recall(exact, ours.found), "", 1.0, peers=recalls)
    yield Result(f"puts of {size:,}", ours.puts, "/s", peers={peer: each.puts for peer, each in peers.items()})
    if ours.exact is not None:
        yield Result(f"search of {size:,} before the graph, p50", quantile(ours.exact, 0.5), "ms", quantile(bare, 0.5))
        yield Result(f"graph of {size:,}", ours.made, "s")
        yield Result(f"graph of {size:,}, opened again", ours.restored, "s")
        yield Result(f"memory with the graph of {size:,}", ours.megabytes, "MB")
    opened = {peer: each.opened for peer, each in peers.items()}
    yield Result(f"first search of {size:,}", ours.opened, "s", peers=opened)


def quantile(latencies: Sequence[float], share: float) -> float:
    return sorted(latencies)[min(int(len(latencies) * share), len(latencies) - 1)]


def recall(exact: list[list[int]], found: list[list[int]]) -> float:
    return sum(len({*one} & {*other}) for one, other in zip(exact, found, strict=True)) / (TOP * len(exact))
