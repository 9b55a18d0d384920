"""An approximate index of the vectors in memory: a graph (HNSW, of usearch), in which a search visits a few thousand.

It is made when an index has too many vectors to compare with each, by a thread of its own, while searches go on as
before. A search takes candidates from it and looks at every vector that it does not have yet; all of them are then
compared exactly, by the rows of the snapshot. So a new vector is found at once, and one that was changed or removed is
never found by what it was. Only among old ones a neighbour may be missed.

The graph is kept in files beside the store, so that a process that opens it again need not make it again. They are
derived, and may be older than the store: a row that has another seal than the one in the files was changed later, and
counts as not in the graph. Files that are damaged or of another index are made again.

    vectors/SPACE.json       names of the other two, their checksums
    vectors/SPACE-*.graph    usearch's
    vectors/SPACE-*.rows     for each number in the graph the row key without the space, and the row's seal; zeros for
                             one that is gone
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from math import isqrt
from pathlib import Path
from threading import Lock
from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from sortkey.engine.rows.records import OWNER_BYTES, PARTITION_BYTES
from sortkey.engine.vectors.scores import COSINE, DOT_PRODUCT, EUCLIDEAN
from sortkey.storage import SEAL_BYTES

FOLDER: Final = "vectors"
KEY_BYTES: Final = PARTITION_BYTES + OWNER_BYTES
ROW_BYTES: Final = KEY_BYTES + SEAL_BYTES
GONE: Final = bytes(ROW_BYTES)
METRICS: Final = {COSINE: ("cos", "i8"), EUCLIDEAN: ("l2sq", "bf16"), DOT_PRODUCT: ("ip", "bf16")}
"""Of usearch, and the numbers that it keeps: the exact scores come from the rows."""
EXPANSION: Final = 64
"""How many vectors an insert considers at once, and a search at least; more find more, and take longer."""
SPARE: Final = 4
"""Candidates for each result that is wanted."""

_logger = logging.getLogger(__name__)


class Kept(msgspec.Struct):
    """What SPACE.json has."""

    graph: str
    rows: str
    checksums: tuple[int, int]
    function: str
    dimensions: int


def is_available() -> bool:
    return find_spec("usearch") is not None


class Graph:
    def __init__(self, function: str, dimensions: int) -> None:
        self._function = function
        self._dimensions = dimensions
        self._lock = Lock()
        """usearch grows while it is added to; a search must not run then."""
        metric, kind = METRICS[function]
        self._index: Any = import_module("usearch.index").Index(
            ndim=dimensions, metric=metric, dtype=kind, expansion_add=EXPANSION, expansion_search=EXPANSION
        )

    def add(self, start: int, vectors: NDArray[np.float32]) -> None:
        with self._lock:
            self._index.add(np.arange(start, start + len(vectors)), vectors, threads=1)

    def near(self, vector: NDArray[np.float32], wanted: int) -> list[int]:
        """The numbers of vectors that may be the nearest."""
        with self._lock:
            self._index.expansion_search = considered(len(self._index))
            found: list[int] = self._index.search(vector, wanted * SPARE + EXPANSION).keys.tolist()
        return found

    def save(self, folder: Path, space: str, rows: Sequence[bytes]) -> None:
        """Keep the graph, and a row of ROW_BYTES for each number in it."""
        folder.mkdir(exist_ok=True)
        mark = secrets.token_hex(4)
        graph, named = folder / f"{space}-{mark}.graph", folder / f"{space}-{mark}.rows"
        with self._lock:
            self._index.save(str(graph))
        named.write_bytes(b"".join(rows))
        checksums = (_synced_checksum(graph), _synced_checksum(named))
        kept = Kept(graph.name, named.name, checksums, self._function, self._dimensions)
        new = folder / f"{space}-{mark}.json"
        new.write_bytes(msgspec.json.encode(kept))
        _synced_checksum(new)
        new.replace(folder / f"{space}.json")
        for old in folder.glob(f"{space}-*"):
            if old.name not in (graph.name, named.name):
                old.unlink(missing_ok=True)

    def restore(self, folder: Path, space: str) -> list[bytes] | None:
        """The rows that were saved; None if there is nothing, or nothing that can be used."""
        try:
            kept = msgspec.json.decode((folder / f"{space}.json").read_bytes(), type=Kept)
            if (kept.function, kept.dimensions) != (self._function, self._dimensions):
                return None
            if (_checksum(folder / kept.graph), _checksum(folder / kept.rows)) != kept.checksums:
                return None
            self._index.load(str(folder / kept.graph))
            joined = (folder / kept.rows).read_bytes()
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RuntimeError, msgspec.DecodeError) as error:
            _logger.warning("the graph of vector index %s cannot be read, and is made again: %s", space, error)
            return None
        rows = [joined[start : start + ROW_BYTES] for start in range(0, len(joined), ROW_BYTES)]
        return rows if len(rows) == len(self._index) else None


def considered(vectors: int) -> int:
    """How many of them a search considers at least. In 1,000,000 with 50 around each centre, 104 find 0.93 of the
    nearest ten, 256 0.96 and 384 0.97; in 100,000, 104 find all."""
    return max(EXPANSION, isqrt(vectors) // 3)


def forget(folder: Path, spaces: set[str]) -> None:
    """Remove the files of other indexes than these."""
    for file in folder.glob("*"):
        if file.stem.partition("-")[0] not in spaces:
            file.unlink(missing_ok=True)


def _checksum(file: Path) -> int:
    checksum = 0
    with file.open("rb") as opened:
        while part := opened.read(1 << 20):
            checksum = crc32(part, checksum)
    return checksum


def _synced_checksum(file: Path) -> int:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())
    return _checksum(file)
