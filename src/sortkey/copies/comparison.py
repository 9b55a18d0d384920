"""Whether a table and its copy have the same rows, while both are in use.

The key space is cut into slices by a hash of the key, and each slice of each store has the sum of its rows' hashes,
which does not depend on their order. Slices whose sums differ are read again, row by row. A row that differs may have
been changed between the two reads, so it is read once more from both stores.

Rows whose TTL is over do not count: each store deletes them when it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, NamedTuple

from sortkey.client.boto3_shapes import parse_items
from sortkey.client.interface import Client
from sortkey.copies.row_form import Row, RowForm, fingerprint
from sortkey.copies.row_reads import pages, rows_of
from sortkey.copies.row_writer import chunks

ROWS_OF_A_SLICE: Final = 16
FEWEST_SLICES: Final = 1024
MOST_SLICES: Final = 1 << 20
SLICES_AT_ONCE: Final = 1 << 16
"""That are read again in one pass. Their rows are in memory if the stores keep different orders."""
SCANS: Final = 2
"""Of each store, at once."""
ROWS_AT_ONCE: Final = 1000
"""That are read by their keys."""
SHOWN: Final = 10

HASH_BYTES: Final = 16

_MODULUS: Final = 1 << 8 * HASH_BYTES


class Difference(NamedTuple):
    key: Row
    what: str

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={next(iter(value.values()))!r}" for name, value in self.key.items())
        return f"{shown}: {self.what}"


class _Sums(NamedTuple):
    rows: int
    of_slices: list[int]


class Comparison:
    def __init__(self, source: Client, target: Client, table: str, form: RowForm, rows: int) -> None:
        """`rows` is about how many there are."""
        self.rows = 0
        """Those of the source that were compared."""
        self._source = source
        self._target = target
        self._table = table
        self._form = form
        self._slices = max(FEWEST_SLICES, min(MOST_SLICES, rows // ROWS_OF_A_SLICE))

    def suspects(self, on_rows: Callable[[int], None]) -> set[bytes]:
        """The fingerprints of the keys of rows that differ, or differed for a moment. `on_rows` is called with numbers
        of rows read."""
        with ThreadPoolExecutor(2 * SCANS, "sortkey-copy-compare") as pool:
            work = [
                [pool.submit(self._sums, is_source, number, on_rows) for number in range(SCANS)]
                for is_source in (True, False)
            ]
            source, target = ([each.result() for each in segments] for segments in work)
            self.rows = sum(each.rows for each in source)
            totals = [self._total(source), self._total(target)]
            differ = [number for number, (ours, theirs) in enumerate(zip(*totals, strict=True)) if ours != theirs]
            found: set[bytes] = set()
            for some in chunks(differ, SLICES_AT_ONCE):
                found |= self._unequal(pool, frozenset(some))
        return found

    def differences(self, identities: Iterable[bytes]) -> list[Difference]:
        """Those of these rows that differ now, by the fingerprints of their keys."""
        return [found for some in chunks(sorted(identities), ROWS_AT_ONCE) for found in self._differences(some)]

    def _differences(self, identities: Sequence[bytes]) -> list[Difference]:
        keys = [_parsed(identity) for identity in identities]
        ours, theirs = rows_of(self._source, self._table, keys), rows_of(self._target, self._table, keys)
        now = datetime.now(UTC).timestamp()
        found = []
        for identity, key in zip(identities, keys, strict=True):
            row, copied = ours.get(identity), theirs.get(identity)
            expired = any(self._form.has_expired(each, now) for each in (row, copied) if each is not None)
            formed = None if row is None else self._form.of(row)
            what = None if expired else _difference(formed, copied)
            if what is not None:
                found.append(Difference(key, what))
        return found

    def _total(self, segments: Iterable[_Sums]) -> list[int]:
        return [sum(each) % _MODULUS for each in zip(*(one.of_slices for one in segments), strict=True)]

    def _rows(self, is_source: bool, segment: int, segments: int) -> Iterator[list[tuple[bytes, int, Row]]]:
        """Pages of rows, each with its key's fingerprint and its slice."""
        now = datetime.now(UTC).timestamp()
        for page in pages(self._source if is_source else self._target, self._table, segment, segments):
            formed = map(self._form.of, page.rows) if is_source else page.rows
            kept = [row for row in formed if row is not None and not self._form.has_expired(row, now)]
            yield [(key, self._slice(key), row) for row in kept for key in [fingerprint(self._form.key_of(row))]]

    def _slice(self, key: bytes) -> int:
        return int.from_bytes(blake2b(key, digest_size=8).digest()) % self._slices

    def _sums(self, is_source: bool, segment: int, on_rows: Callable[[int], None]) -> _Sums:
        sums, count = [0] * self._slices, 0
        for page in self._rows(is_source, segment, SCANS):
            for _, number, row in page:
                sums[number] = (sums[number] + int.from_bytes(_hash(row))) % _MODULUS
            count += len(page)
            on_rows(len(page))
        return _Sums(count, sums)

    def _unequal(self, pool: Executor, chosen: frozenset[int]) -> set[bytes]:
        """The fingerprints of the keys whose rows differ, of the chosen slices.

        Both stores are read in step, and a row is kept until the other store's equal one comes: stores that keep the
        same order hold few rows here, and others at most the chosen slices."""
        stores = [self._rows(is_source, 0, 1) for is_source in (True, False)]
        unequal: set[bytes] = set()
        while read := [page for page in pool.map(next, stores, (None, None)) if page is not None]:
            for page in read:
                unequal ^= {key + _hash(row) for key, number, row in page if number in chosen}
        return {each[:-HASH_BYTES] for each in unequal}


def _hash(row: Row) -> bytes:
    return blake2b(fingerprint(row), digest_size=HASH_BYTES).digest()


def _parsed(key: bytes) -> Row:
    row: Row = parse_items(key, binary=True)
    return row


def _difference(row: Row | None, copied: Row | None) -> str | None:
    if row is None:
        return None if copied is None else "only in the target"
    if copied is None:
        return "only in the source"
    if fingerprint(row) == fingerprint(copied):
        return None
    names = sorted(
        name
        for name in row.keys() | copied.keys()
        if name not in row or name not in copied or _value(row[name]) != _value(copied[name])
    )
    return f"differs in {', '.join(names[:SHOWN])}"


def _value(value: Row) -> bytes:
    return fingerprint({"value": value})
