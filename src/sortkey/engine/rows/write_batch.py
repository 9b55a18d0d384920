"""The write batch: one LMDB write transaction, in which the work of many requests runs.

Besides rows, a batch changes values that many writes share: the number of items and bytes of each table and index, the
last sequence number of the streams, and the last moment of the change logs. These are kept here while the work runs,
and written once before the commit.

After a commit that wrote stream records, a `StreamSignal` wakes those who wait for them.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Final

from sortkey.clock import Clock
from sortkey.engine.rows import records
from sortkey.engine.rows.partition_loads import SMALL_UNITS, PartitionLoads
from sortkey.storage import Transaction, is_sound, seal

COUNT: Final = struct.Struct(">qq")


class WriteBatch:
    def __init__(
        self,
        clock: Clock,
        on_records: Callable[[set[bytes]], None],
        partitions: PartitionLoads,
        transaction: Transaction,
    ) -> None:
        self.transaction = transaction
        self.partitions = partitions
        self._get: Callable[[bytes], bytes | None] = transaction.get
        self.catalog_version = transaction.get(records.CATALOG_VERSION)
        self.now = clock.now()
        self.writes = 0
        self.bytes_handled = 0
        self.counts: dict[bytes, list[int]] = {}
        self.last_numbers: dict[bytes, int] = {}
        """The last change of each vector index that this batch has written to, by the space of its log."""
        self.streams_written: set[bytes] = set()
        self._on_records = on_records
        self._sequence: int | None = None
        self._moment: int | None = None
        self._write_time: int | None = None
        self.arriving: tuple[int, bytes] | None = None
        """The time and the region of the write that is being applied, if it comes from another region."""

    def get(self, key: bytes) -> bytes | None:
        """A row; None if there is none."""
        row = self._get(key)
        if row is not None:
            if not is_sound(row):
                raise records.damaged(self.transaction, key)
            self.bytes_handled += len(row)
        return row

    def get_record(self, key: bytes) -> bytes | None:
        """The payload of a record that is not a row; None if there is none."""
        return records.read(self.transaction, key)

    def put_record(self, key: bytes, payload: bytes) -> None:
        self.put(key, seal(key, payload))

    def put(self, key: bytes, value: bytes) -> None:
        """Put a sealed value, such as a row."""
        self.writes += 1
        self.bytes_handled += len(value)
        self.transaction.put(key, value)

    def delete(self, key: bytes) -> bool:
        self.writes += 1
        return self.transaction.delete(key)

    def count(self, space: bytes, items: int, size: int) -> None:
        """Add to the counts of a table or index."""
        counts = self.counts.get(space)
        if counts is None:
            self.counts[space] = [items, size]
        else:
            counts[0] += items
            counts[1] += size

    def charge(self, row_key: bytes, units: float) -> None:
        """Count what a write costs for its partition: one of a sample, if it is small."""
        partitions = self.partitions
        if partitions.writes_left_out and units <= SMALL_UNITS:
            partitions.writes_left_out -= 1
        else:
            partitions.count_write(row_key, units)

    def count_of(self, space: bytes) -> tuple[int, int]:
        """Items and bytes of a table or index, with what this batch has changed."""
        items, size = read_count(self.transaction, space)
        more_items, more_size = self.counts.get(space, (0, 0))
        return items + more_items, size + more_size

    def size_of(self, space: bytes) -> int:
        """The bytes of a table or index, with what this batch has changed."""
        return self.count_of(space)[1]

    def last_sequence(self) -> int:
        if self._sequence is None:
            self._sequence = records.read_number(self.transaction, records.LAST_SEQUENCE)
        return self._sequence

    def next_sequence(self) -> int:
        """Stream records carry numbers that grow in the order of commits, over all tables and processes."""
        self._sequence = number = self.last_sequence() + 1
        return number

    def moment(self) -> int:
        """The moment of the batch's changes, for change logs: nanoseconds, of which the last three digits only tell
        what was before and after in one microsecond. It is never less than that of an earlier batch.
        """
        if self._moment is None:
            last = records.read_number(self.transaction, records.LAST_MOMENT)
            self._moment = max(last, int(self.now * 1_000_000) * 1000)
        return self._moment

    def end_moment(self, moment: int) -> None:
        """Let all later changes be after a moment, also those of this batch."""
        self._moment = max(self.moment(), moment + 1)

    def next_write_time(self) -> int:
        """The time of a write to a replicated table, in microseconds: after that of every write that this store has
        made or received, whatever the clock does."""
        self._write_time = max(self._last_write_time() + 1, int(self.now * 1_000_000))
        return self._write_time

    def saw_write_time(self, time: int) -> None:
        """Let all later writes be after one of another region."""
        self._write_time = max(self._last_write_time(), time)

    def _last_write_time(self) -> int:
        if self._write_time is None:
            self._write_time = records.read_number(self.transaction, records.LAST_WRITE_TIME)
        return self._write_time

    def finish(self) -> None:
        for space, (items, size) in self.counts.items():
            if items or size:
                before = read_count(self.transaction, space)
                self.put_record(records.COUNTS + space, COUNT.pack(before[0] + items, before[1] + size))
        if self._sequence is not None:
            self.put_record(records.LAST_SEQUENCE, self._sequence.to_bytes(8, "big"))
        if self._moment is not None:
            self.put_record(records.LAST_MOMENT, self._moment.to_bytes(8, "big"))
        if self._write_time is not None:
            self.put_record(records.LAST_WRITE_TIME, self._write_time.to_bytes(8, "big"))

    def committed(self) -> None:
        if self.streams_written:
            self._on_records(self.streams_written)


def read_count(transaction: Transaction, space: bytes) -> tuple[int, int]:
    """Items and bytes of a table or index."""
    found = records.read(transaction, records.COUNTS + space)
    if found is None:
        return 0, 0
    items, size = COUNT.unpack(found)
    return items, size


class StreamSignal:
    """Announces the streams of a commit to waiting threads, and to callbacks, which an event loop registers.

    Commits of other processes are not announced, so a waiter also polls.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._versions: dict[bytes, int] = {}
        self._listeners: set[Callable[[set[bytes]], None]] = set()

    def version(self, stream: bytes) -> int:
        """Grows with every commit that wrote to the stream. Read it before looking for records, then wait for more."""
        return self._versions.get(stream, 0)

    def notify(self, streams: set[bytes]) -> None:
        with self._changed:
            for stream in streams:
                self._versions[stream] = self._versions.get(stream, 0) + 1
            self._changed.notify_all()
            listeners = list(self._listeners)
        for listener in listeners:
            listener(streams)

    def wait(self, stream: bytes, seen: int, timeout: float) -> bool:
        """Block until the stream is past the version `seen`; returns False after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self.version(stream) > seen, timeout)

    def listen(self, listener: Callable[[set[bytes]], None]) -> Callable[[], None]:
        """Call the listener, on the committing thread, with each commit's streams; returns a function that stops it."""
        with self._changed:
            self._listeners.add(listener)

        def stop() -> None:
            with self._changed:
                self._listeners.discard(listener)

        return stop
