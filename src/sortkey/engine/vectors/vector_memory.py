"""The vectors of an index in memory, in blocks that numpy multiplies at once: a thousand times as fast as row by row.

The memory belongs to one process. It is made of the rows when the index is first searched, and follows the index's
change log, so it has what any process wrote. It is never an authority: a search takes from it only which rows may be
among the best, and reads those in its snapshot.

Products of 32-bit numbers are inexact. Each score therefore has a bound of its error, and all rows that may be among
the best by it are candidates, whose scores are then computed from the rows in 64 bits. So the search is exact.

The products are taken by `vecdot`, in one thread: `@` starts several, which wait for one another on a busy machine
(30 ms at worst for a block, instead of 0.2).

A vector is never overwritten: its row in the block is marked as dead, and the new one is appended. So a search can
leave the lock, and the loop of an endpoint, between two blocks, and still sees the index as it was when it began.

An index with GRAPH_FROM vectors or more gets a `Graph`, for searches of the whole index. A search of a partition, or
with a filter, compares with each vector that it is about.

    block       BLOCK_ROWS vectors, their lengths, and for each attribute of the search schema the number of its value
    places      row key without its space → block and row
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from threading import Lock, Thread
from typing import Final, NamedTuple

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from sortkey.engine.rows import records
from sortkey.engine.rows.records import PARTITION_BYTES, SPACE_BYTES
from sortkey.engine.tables.vector_index import LARGEST, VectorIndex
from sortkey.engine.tables.vector_rows import KEPT_CHANGES, changes_after, last_change, text_in, vector_in
from sortkey.engine.vectors.graph import FOLDER, GONE, KEY_BYTES, Graph, forget, is_available
from sortkey.engine.vectors.scores import COSINE, DOT_PRODUCT, EUCLIDEAN, Scope
from sortkey.storage import SEAL_BYTES, Transaction, after_prefix, ascending, is_sound

BLOCK_ROWS: Final = 4096
ROWS_A_STEP: Final = 256
"""Rows that are read in a slice of a loop's turn."""
ROUNDING: Final = 2.0**-24
"""The largest relative error of one operation on 32-bit numbers."""
ABSENT: Final = -1
"""The number of the value of an attribute that an item does not have, or that no item has."""
DENSE: Final = 4
"""A block is multiplied as a whole if one row of this many is wanted."""

GRAPH_FROM: Final = 20_000
"""Exact, a search of so many vectors of 384 dimensions takes 1.6 ms, of 50,000 3.3 ms, of 100,000 7.7 ms; with a graph,
1.1 to 1.3 ms."""
MOST_UNCOVERED: Final = 20_000
"""A graph that lacks more vectors, and more than one of four, is not used yet."""
BUILDER: Final = "sortkey-vectors"
"""The name of the thread that makes a graph."""
ADDED_FROM: Final = 2048
"""So many new vectors are added; fewer are compared with each time."""
ADDED_AT_ONCE: Final = 64
"""A search waits until these are added."""
SAVED_FROM: Final = 5_000
"""A graph is not saved for fewer new vectors. Each time all of it is written, so more are needed for a large one:"""
SAVED_GROWING: Final = 4
"""one of so many while there are more to add, so that four times its size is written at most until it is complete;"""
SAVED_COMPLETE: Final = 16
"""and one of so many when it has all. A process that opens it later adds the others again."""

__all__ = ["BUILDER", "FOLDER", "GRAPH_FROM", "Search", "VectorMemory", "forget"]

_logger = logging.getLogger(__name__)

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class Best(NamedTuple):
    """Rows of a block that may be among the best, by ranks that grow from the best to the worst."""

    lowest: Doubles
    highest: Doubles
    keys: list[bytes]
    """Their row keys, without the space."""


class _Block:
    __slots__ = ("alive", "codes", "covered", "keys", "lengths", "seals", "uncovered", "used", "vectors")

    def __init__(self, dimensions: int, fields: int) -> None:
        self.vectors: Floats = np.empty((BLOCK_ROWS, dimensions), np.float32)
        self.lengths: Doubles = np.empty(BLOCK_ROWS, np.float64)
        self.codes: NDArray[np.int32] = np.full((fields, BLOCK_ROWS), ABSENT, np.int32)
        self.alive: NDArray[np.bool_] = np.zeros(BLOCK_ROWS, np.bool_)
        self.covered: NDArray[np.bool_] = np.zeros(BLOCK_ROWS, np.bool_)
        """Those that are in the graph."""
        self.uncovered = 0
        self.keys: list[bytes] = []
        self.seals: list[bytes] = []
        """Of the rows. They tell whether a row is the one that was in the graph when it was saved."""
        self.used = 0


class VectorMemory:
    def __init__(self, index: VectorIndex, folder: Path | None) -> None:
        """`folder` has the files of graphs."""
        self.lock = Lock()
        """Held while the memory is read or changed, but not while it is multiplied."""
        self._index = index
        self._folder = folder
        self._builder: Thread | None = None
        self._closing = False
        self._start()

    def close(self) -> None:
        """Stop the thread that makes a graph."""
        self._closing = True
        builder = self._builder
        if builder is not None:
            builder.join()

    def _start(self) -> None:
        self._blocks: list[_Block] = []
        self._places: dict[bytes, tuple[_Block, int]] = {}
        # The first field is the partition.
        self._numbers: list[dict[bytes, int]] = [{} for _ in range(len(self._index.filters) + 1)]
        self._current_to: int | None = None
        self._position: bytes | None = self._index.space
        self._graph: Graph | None = None
        self._slots: list[tuple[_Block, int] | None] = []
        """Where the vector with each number in the graph is."""
        self._saved = 0
        """How many of them are in the files."""

    def __len__(self) -> int:
        return len(self._places)

    def advance(self, snapshot: Transaction) -> bool:
        """Read some of what the snapshot has and the memory has not; returns whether that was all."""
        last = last_change(snapshot, self._index.log)
        if self._current_to is None:
            self._current_to = last
        elif not 0 <= last - self._current_to <= KEPT_CHANGES or self._wastes():
            self._start()
            self._current_to = last
        if self._position is not None:
            self._position = self._load(snapshot, self._position)
        elif self._current_to < last:
            self._current_to = self._follow(snapshot, self._current_to)
        return self._position is None and self._current_to == last

    def _wastes(self) -> bool:
        """Whether most rows of many blocks are dead."""
        return len(self._blocks) > 2 * (len(self._places) // BLOCK_ROWS + 2)

    def _load(self, snapshot: Transaction, position: bytes) -> bytes | None:
        """Read the next rows; returns where those after them begin."""
        space = self._index.space
        rows = list(islice(ascending(snapshot, position, after_prefix(space)), ROWS_A_STEP))
        self._append(snapshot, rows)
        return rows[-1][0] + b"\0" if len(rows) == ROWS_A_STEP else None

    def _follow(self, snapshot: Transaction, current_to: int) -> int:
        """Take over the next changes; returns the last one's number. What a row is now is read from the snapshot, so a
        change may be taken over twice."""
        changes = list(islice(changes_after(snapshot, self._index.log, current_to), ROWS_A_STEP))
        keys = {key for _, key in changes}
        rows = []
        for key in keys:
            self._kill(key)
            row = snapshot.get(self._index.space + key)
            if row is not None:
                rows.append((self._index.space + key, row))
        self._append(snapshot, rows)
        return changes[-1][0]

    def _kill(self, key: bytes) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            block, row = place
            block.alive[row] = False
            if not block.covered[row]:
                block.uncovered -= 1

    def _append(self, snapshot: Transaction, rows: list[tuple[bytes, bytes]]) -> None:
        index = self._index
        for key, row in rows:
            if not is_sound(row):
                raise records.damaged(snapshot, key)
            # A load that began before a change can meet a row that is there already.
            self._kill(key[SPACE_BYTES:])
        while rows:
            block = self._block_with_room()
            start = block.used
            taken, rows = rows[: BLOCK_ROWS - start], rows[BLOCK_ROWS - start :]
            end = start + len(taken)
            joined = b"".join([vector_in(index, row) for _, row in taken])
            vectors = np.frombuffer(joined, "<f4").reshape(len(taken), index.dimensions)
            self._put_vectors(block, start, end, vectors)
            keys = [key[SPACE_BYTES:] for key, _ in taken]
            block.keys += keys
            block.seals += [row[-SEAL_BYTES:] for _, row in taken]
            self._number(block, start, keys, [row for _, row in taken])
            block.alive[start:end] = True
            block.uncovered += end - start
            block.used = end
            self._places.update(zip(keys, ((block, row) for row in range(start, end)), strict=True))

    def _block_with_room(self) -> _Block:
        if not self._blocks or self._blocks[-1].used == BLOCK_ROWS:
            self._blocks.append(_Block(self._index.dimensions, len(self._numbers)))
        return self._blocks[-1]

    def _put_vectors(self, block: _Block, start: int, end: int, vectors: Floats) -> None:
        doubles = vectors.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", doubles, doubles))
        block.lengths[start:end] = lengths
        if self._index.entry.function == COSINE:
            # Unit vectors: the products of small or large ones would be beyond 32 bits.
            block.vectors[start:end] = doubles / np.where(lengths == 0.0, 1.0, lengths)[:, None]
        else:
            block.vectors[start:end] = vectors

    def _number(self, block: _Block, start: int, keys: list[bytes], rows: list[bytes]) -> None:
        if self._index.partition is not None:
            numbers = self._numbers[0]
            found = [numbers.setdefault(key[:PARTITION_BYTES], len(numbers)) for key in keys]
            block.codes[0, start : start + len(keys)] = found
        if not self._index.filters:
            return
        for position, row in enumerate(rows, start):
            item = orjson.loads(text_in(self._index, row))
            for field, (name, _) in enumerate(self._index.filters, 1):
                value = item.get(name)
                if value is not None:
                    numbers = self._numbers[field]
                    block.codes[field, position] = numbers.setdefault(_kept(value), len(numbers))

    def search(self, scope: Scope, vector: bytes, wanted: int) -> Search:
        """A search of the memory as it is; its blocks are compared without the lock."""
        fields = self._wanted(scope)
        search = Search(self._index, vector, wanted)
        if not fields and len(self) >= GRAPH_FROM:
            self._start_builder()
            near = self._near(search.single, wanted)
            if near is not None:
                search.near = near
                search.views = [
                    BlockView(block, block.used, block.alive & ~block.covered, fields)
                    for block in self._blocks
                    if block.uncovered
                ]
                return search
        search.views = [BlockView(block, block.used, block.alive.copy(), fields) for block in self._blocks]
        return search

    def _near(self, vector: Floats, wanted: int) -> list[bytes] | None:
        """The keys of candidates; None if there is no graph, or too little in it."""
        if self._graph is None or self._uncovered() > max(MOST_UNCOVERED, len(self) // 4):
            return None
        slots, found = self._slots, []
        for number in self._graph.near(vector, wanted):
            # One that is just being added counts as not in the graph.
            slot = slots[number] if number < len(slots) else None
            if slot is not None and slot[0].alive[slot[1]]:
                found.append(slot[0].keys[slot[1]])
        return found if len(found) >= min(wanted, len(self)) else None

    def _uncovered(self) -> int:
        """How many vectors are not in the graph."""
        return sum(block.uncovered for block in self._blocks)

    def _start_builder(self) -> None:
        if self._builder is not None or self._closing or not is_available():
            return
        if self._graph is None or self._uncovered() >= ADDED_FROM:
            self._builder = Thread(target=self._build, name=BUILDER, daemon=True)
            self._builder.start()

    def _build(self) -> None:
        """Add what the graph lacks, and save it. Runs in a thread of its own."""
        try:
            with self.lock:
                if self._graph is not None and len(self._slots) > 2 * len(self):
                    self._drop_graph()
                graph = self._graph
            if graph is None:
                graph = self._restored()
            while not self._closing and self._add_some(graph):
                self._save(graph, SAVED_GROWING)
            self._save(graph, SAVED_COMPLETE)
        except Exception:
            # As in the janitor: a thread that nobody waits for. Searches go on without the graph.
            _logger.exception("the graph of vector index %s was not made; searches compare with all", self._index.name)
        finally:
            self._builder = None

    def _drop_graph(self) -> None:
        """Begin a new one: most of what it has is gone."""
        self._graph = None
        self._slots = []
        self._saved = 0
        for block in self._blocks:
            block.covered[:] = False
            block.uncovered = int(block.alive.sum())

    def _restored(self) -> Graph:
        """The graph that was saved, or an empty one."""
        with self.lock:
            blocks = self._blocks
        graph = Graph(self._index.entry.function, self._index.dimensions)
        found = None if self._folder is None else graph.restore(self._folder, self._index.space.hex())
        if found is None:
            # Half of one may have been read.
            graph = Graph(self._index.entry.function, self._index.dimensions)
        else:
            for start in range(0, len(found), ROWS_A_STEP):
                self._cover(blocks, found[start : start + ROWS_A_STEP])
        with self.lock:
            if self._blocks is blocks:
                self._graph, self._saved = graph, len(self._slots)
        return graph

    def _cover(self, blocks: list[_Block], saved: list[bytes]) -> None:
        """Find the vectors of the next numbers; those that were changed since have none."""
        with self.lock:
            if self._blocks is not blocks:
                return
            for each in saved:
                place = self._places.get(each[:KEY_BYTES])
                if place is not None:
                    block, row = place
                    if block.seals[row] == each[KEY_BYTES:]:
                        block.covered[row] = True
                        block.uncovered -= 1
                    else:
                        place = None
                self._slots.append(place)

    def _add_some(self, graph: Graph) -> bool:
        """Add the next vectors; returns whether there may be more."""
        with self.lock:
            block = next((each for each in self._blocks if each.uncovered), None)
            if self._graph is not graph or block is None:
                return False
            rows = np.flatnonzero(block.alive & ~block.covered)[:ADDED_AT_ONCE]
            start = len(self._slots)
            vectors = block.vectors[rows]
        graph.add(start, vectors)
        with self.lock:
            if self._graph is not graph:
                return False
            self._slots += [(block, row) for row in rows.tolist()]
            block.covered[rows] = True
            block.uncovered -= int(block.alive[rows].sum())
        return True

    def _save(self, graph: Graph, share: int) -> None:
        """Keep the graph in files if one of so many of its vectors is new."""
        folder = self._folder
        if folder is None or len(self._slots) - self._saved < max(SAVED_FROM, len(self._slots) // share):
            return
        with self.lock:
            if self._graph is not graph:
                return
            slots = list(self._slots)
            alive = {id(block): block.alive.copy() for block in self._blocks}
        rows = []
        for slot in slots:
            if slot is not None and alive[id(slot[0])][slot[1]]:
                block, row = slot
                rows.append(block.keys[row] + block.seals[row])
            else:
                rows.append(GONE)
        graph.save(folder, self._index.space.hex(), rows)
        self._saved = len(slots)

    def _wanted(self, scope: Scope) -> list[tuple[int, int]]:
        """The fields to compare, and the numbers of their values."""
        wanted = []
        if self._index.partition is not None:
            wanted.append((0, self._numbers[0].get(scope.partition, ABSENT)))
        for field, (name, _) in enumerate(self._index.filters, 1):
            if name in scope.filters:
                wanted.append((field, self._numbers[field].get(_kept(scope.filters[name]), ABSENT)))
        return wanted


class BlockView(NamedTuple):
    block: _Block
    used: int
    alive: NDArray[np.bool_]
    wanted: list[tuple[int, int]]

    def rows(self) -> NDArray[np.intp]:
        chosen = self.alive[: self.used]
        for field, number in self.wanted:
            if number == ABSENT:
                return np.empty(0, np.intp)
            chosen = chosen & (self.block.codes[field, : self.used] == number)
        return np.flatnonzero(chosen)


class Search:
    """One search, block by block."""

    def __init__(self, index: VectorIndex, vector: bytes, wanted: int) -> None:
        self._function = index.entry.function
        self.wanted = wanted
        self.views: list[BlockView] = []
        """What to compare with each."""
        self.near: list[bytes] = []
        """The row keys of candidates from the graph, without the space."""
        self._query: Doubles = np.frombuffer(vector, "<f4").astype(np.float64)
        self._vector = self._query
        length = float(np.sqrt(np.vecdot(self._vector, self._vector)))
        if self._function == COSINE and length:
            self._vector = self._query / length
            length = 1.0
        self._length = length
        self.single = self._vector.astype(np.float32)
        # Of a sum of products, whose factors may have been rounded.
        self._error = (index.dimensions + 4) * ROUNDING
        self._found: list[Best] = []

    def block(self, view: BlockView) -> None:
        rows = view.rows()
        if not len(rows):
            return
        ranks, errors = self._ranks(view, rows)
        lowest, highest = ranks - errors, ranks + errors
        if len(rows) > self.wanted:
            worst = np.partition(highest, self.wanted - 1)[self.wanted - 1]
            kept = np.flatnonzero(lowest <= worst)
            rows, lowest, highest = rows[kept], lowest[kept], highest[kept]
        self._found.append(Best(lowest, highest, [view.block.keys[row] for row in rows.tolist()]))

    def _ranks(self, view: BlockView, rows: NDArray[np.intp]) -> tuple[Doubles, Doubles]:
        vectors, lengths = view.block.vectors, view.block.lengths[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            if len(rows) * DENSE >= view.used:
                products = np.vecdot(vectors[: view.used], self.single)[rows]
            else:
                products = np.vecdot(vectors[rows], self.single)
        doubles = products.astype(np.float64)
        if not np.isfinite(doubles).all():
            doubles = np.vecdot(vectors[rows].astype(np.float64), self._vector)
        if self._function == COSINE:
            return -doubles, np.full(len(rows), self._error)
        # Products that are too small for 32 bits are lost: each has an error of the smallest number.
        errors = self._error * lengths * self._length + vectors.shape[1] * float(np.finfo(np.float32).tiny)
        if self._function == DOT_PRODUCT:
            return -doubles, errors
        squares = lengths**2 + self._length**2
        return squares - 2.0 * doubles, 2.0 * errors + 1e-12 * squares

    def candidates(self) -> Iterator[bytes]:
        """The row keys, without the space, of all rows that may be among the best."""
        yield from self.near
        if not self._found:
            return
        highest = np.concatenate([best.highest for best in self._found])
        worst = np.inf if len(highest) <= self.wanted else np.partition(highest, self.wanted - 1)[self.wanted - 1]
        for best in self._found:
            for place in np.flatnonzero(best.lowest <= worst).tolist():
                yield best.keys[place]

    def scores(self, vectors: Iterable[bytes]) -> list[float]:
        """The exact scores of stored vectors."""
        found = np.frombuffer(b"".join(vectors), "<f4").reshape(-1, len(self._query)).astype(np.float64)
        if self._function == EUCLIDEAN:
            values = np.sqrt(((found - self._query) ** 2).sum(axis=1))
        else:
            values = np.vecdot(found, self._query)
            if self._function == COSINE:
                values = _cosine_distances(found, self._query, values)
        bounded: list[float] = np.clip(values, -LARGEST, LARGEST).tolist()
        return bounded


def _cosine_distances(found: Doubles, query: Doubles, products: Doubles) -> Doubles:
    lengths = np.sqrt((found**2).sum(axis=1)) * np.sqrt((query**2).sum())
    cosines = products / np.where(lengths == 0.0, 1.0, lengths)
    distances: Doubles = np.where(lengths == 0.0, 1.0, np.clip(1.0 - cosines, 0.0, 2.0))
    distances[(found == query).all(axis=1) & (lengths > 0.0)] = 0.0
    return distances


def _kept(value: object) -> bytes:
    """A filter's value. There may be a million, and bytes that orjson made would keep its buffer, 4 KB each."""
    return msgspec.json.encode(value)
