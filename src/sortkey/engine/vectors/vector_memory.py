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

    block       BLOCK_ROWS vectors, their lengths, and for each attribute of the search schema the number of its value
    places      row key without its space → block and row
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from sortkey.engine.rows import records
from sortkey.engine.rows.records import PARTITION_BYTES, SPACE_BYTES
from sortkey.engine.tables.vector_index import LARGEST, VectorIndex
from sortkey.engine.tables.vector_rows import KEPT_CHANGES, changes_after, last_change, text_in, vector_in
from sortkey.engine.vectors.scores import COSINE, DOT_PRODUCT, EUCLIDEAN, Scope
from sortkey.storage import Transaction, after_prefix, ascending, is_sound

BLOCK_ROWS: Final = 4096
ROWS_A_STEP: Final = 256
"""Rows that are read in a slice of a loop's turn."""
ROUNDING: Final = 2.0**-24
"""The largest relative error of one operation on 32-bit numbers."""
ABSENT: Final = -1
"""The number of the value of an attribute that an item does not have, or that no item has."""
DENSE: Final = 4
"""A block is multiplied as a whole if one row of this many is wanted."""

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class Best(NamedTuple):
    """Rows of a block that may be among the best, by ranks that grow from the best to the worst."""

    lowest: Doubles
    highest: Doubles
    keys: list[bytes]
    """Their row keys, without the space."""


class _Block:
    __slots__ = ("alive", "codes", "keys", "lengths", "used", "vectors")

    def __init__(self, dimensions: int, fields: int) -> None:
        self.vectors: Floats = np.empty((BLOCK_ROWS, dimensions), np.float32)
        self.lengths: Doubles = np.empty(BLOCK_ROWS, np.float64)
        self.codes: NDArray[np.int32] = np.full((fields, BLOCK_ROWS), ABSENT, np.int32)
        self.alive: NDArray[np.bool_] = np.zeros(BLOCK_ROWS, np.bool_)
        self.keys: list[bytes] = []
        self.used = 0


class VectorMemory:
    def __init__(self, index: VectorIndex) -> None:
        self.lock = Lock()
        """Held while the memory is read or changed, but not while it is multiplied."""
        self._index = index
        self._start()

    def _start(self) -> None:
        self._blocks: list[_Block] = []
        self._places: dict[bytes, tuple[_Block, int]] = {}
        # The first field is the partition.
        self._numbers: list[dict[bytes, int]] = [{} for _ in range(len(self._index.filters) + 1)]
        self._current_to: int | None = None
        self._position: bytes | None = self._index.space

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
            self._number(block, start, keys, [row for _, row in taken])
            block.alive[start:end] = True
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
                    block.codes[field, position] = numbers.setdefault(orjson.dumps(value), len(numbers))

    def view(self, scope: Scope) -> list[BlockView]:
        """The blocks as they are, for a search without the lock."""
        wanted = self._wanted(scope)
        return [BlockView(block, block.used, block.alive.copy(), wanted) for block in self._blocks]

    def search(self, vector: bytes, wanted: int) -> Search:
        return Search(self._index, vector, wanted)

    def _wanted(self, scope: Scope) -> list[tuple[int, int]]:
        """The fields to compare, and the numbers of their values."""
        wanted = []
        if self._index.partition is not None:
            wanted.append((0, self._numbers[0].get(scope.partition, ABSENT)))
        for field, (name, _) in enumerate(self._index.filters, 1):
            if name in scope.filters:
                wanted.append((field, self._numbers[field].get(orjson.dumps(scope.filters[name]), ABSENT)))
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
        self._wanted = wanted
        self._query: Doubles = np.frombuffer(vector, "<f4").astype(np.float64)
        self._vector = self._query
        length = float(np.sqrt(np.vecdot(self._vector, self._vector)))
        if self._function == COSINE and length:
            self._vector = self._query / length
            length = 1.0
        self._length = length
        self._single = self._vector.astype(np.float32)
        # Of a sum of products, whose factors may have been rounded.
        self._error = (index.dimensions + 4) * ROUNDING
        self._found: list[Best] = []

    def block(self, view: BlockView) -> None:
        rows = view.rows()
        if not len(rows):
            return
        ranks, errors = self._ranks(view, rows)
        lowest, highest = ranks - errors, ranks + errors
        if len(rows) > self._wanted:
            worst = np.partition(highest, self._wanted - 1)[self._wanted - 1]
            kept = np.flatnonzero(lowest <= worst)
            rows, lowest, highest = rows[kept], lowest[kept], highest[kept]
        self._found.append(Best(lowest, highest, [view.block.keys[row] for row in rows.tolist()]))

    def _ranks(self, view: BlockView, rows: NDArray[np.intp]) -> tuple[Doubles, Doubles]:
        vectors, lengths = view.block.vectors, view.block.lengths[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            if len(rows) * DENSE >= view.used:
                products = np.vecdot(vectors[: view.used], self._single)[rows]
            else:
                products = np.vecdot(vectors[rows], self._single)
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
        if not self._found:
            return
        highest = np.concatenate([best.highest for best in self._found])
        worst = np.inf if len(highest) <= self._wanted else np.partition(highest, self._wanted - 1)[self._wanted - 1]
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
