"""Runs: rows of one partition that are put in the order of their keys, as a load in key order puts them.

LMDB fills a page if each new key is the last one of its page. If others follow, it splits the page in its middle each
time, and a run leaves pages that are 61 % full. So what follows a run in its page is taken out before it, and put again
behind it. Then its pages are 87 % full, for a tenth of a microsecond a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sortkey.engine.rows.records import PARTITION_END, SPACE_BYTES
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.storage import Transaction

SHORTEST: Final = 100
"""A run of twice as many rows is always found, one of fewer never: looking at each row would take too long."""
PAGE_BYTES: Final = 4096
"""What is taken out: at least the rest of a page."""


def long_runs(keys: Sequence[bytes]) -> Iterator[range]:
    """The places of row keys that follow one another in a partition, in ascending order."""
    end = 0
    for place in range(0, len(keys) - SHORTEST, SHORTEST):
        if place < end or keys[place][:PARTITION_END] != keys[place + SHORTEST][:PARTITION_END]:
            continue
        start = place
        while start > end and _follows(keys[start], keys[start - 1]):
            start -= 1
        end = place + 1
        while end < len(keys) and _follows(keys[end], keys[end - 1]):
            end += 1
        if end - start >= SHORTEST:
            yield range(start, end)


def _follows(key: bytes, before: bytes) -> bool:
    return key > before and key[:PARTITION_END] == before[:PARTITION_END]


@contextmanager
def at_the_end_of_a_page(batch: WriteBatch, first: bytes, last: bytes) -> Iterator[None]:
    """Put the rows from the first key to the last one inside the block, and nothing else in their space.

    If the block raises, the queue aborts the transaction, because the batch has written.
    """
    behind = list(_rows_behind(batch.transaction, first, last))
    for key, _ in behind:
        batch.delete(key)
    yield
    for key, row in behind:
        batch.put(key, row)


def _rows_behind(transaction: Transaction, first: bytes, last: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The next rows of the space, if there are none between the two keys: rows that are replaced split no page."""
    cursor = transaction.cursor()
    if not cursor.set_range(first) or cursor.key() <= last:
        return
    taken = 0
    for key, row in cursor.iternext():
        if taken >= PAGE_BYTES or key[:SPACE_BYTES] != first[:SPACE_BYTES]:
            return
        taken += len(key) + len(row)
        yield key, row
