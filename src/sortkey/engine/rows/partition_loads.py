"""How much each partition is read and written: counted on the way of every request, so it must cost next to nothing.

A partition is known by the first bytes of its row keys, its space and its hash. Its key is looked up when it is shown
(`hot_partitions`).

Counting every request would take 1 or 2 % of its time, so it is done for a sample: one of 16 small requests, which
counts as 16, and one key of each batch read, which counts as all. What costs more than a unit is always counted. The
load of a partition that takes as much as DynamoDB serves is then wrong by less than an eighth in two of three seconds,
and by two hundredths or less over a minute.

Threads may lose a count when two of them count at once. No request waits for a lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import random
from typing import Final

from sortkey.engine.rows.records import PARTITION_END
from sortkey.values.partition_counts import PartitionCounts

SAMPLED: Final = 16
"""One of so many small reads is counted, and of so many small writes."""
SMALL_UNITS: Final = 1.0


class PartitionLoads(PartitionCounts[bytes]):
    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.reads_left_out = SAMPLED
        """How many small reads are not counted before the next that is. Callers count it down themselves, because a
        call would take longer."""
        self.writes_left_out = SAMPLED
        """The same of writes."""

    def count_read(self, row_key: bytes, units: float) -> None:
        """Count a read that cost more than `SMALL_UNITS`, or the next of the sample."""
        times = 1
        if units <= SMALL_UNITS:
            times = SAMPLED
            # At random, or a cycle of keys could meet the sample in step.
            self.reads_left_out = int(random() * (2 * SAMPLED - 1))
        self.reads.add(row_key[:PARTITION_END], units * times, times)

    def count_write(self, row_key: bytes, units: float) -> None:
        """The same of a write."""
        times = 1
        if units <= SMALL_UNITS:
            times = SAMPLED
            self.writes_left_out = int(random() * (2 * SAMPLED - 1))
        self.writes.add(row_key[:PARTITION_END], units * times, times)

    def count_batch(self, row_keys: Sequence[bytes], units: float) -> None:
        """Count one key of a batch read for all of them, which cost so much together."""
        if row_keys:
            chosen = row_keys[int(random() * len(row_keys))]
            self.reads.add(chosen[:PARTITION_END], units, len(row_keys))
