"""Reads streams: which streams and shards exist, and a shard's records in order.

Records, shards and streams older than a day are invisible at once, whether or not the janitor has removed them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sortkey.engine.core import Core
from sortkey.engine.rows import records
from sortkey.engine.rows.spaces import SPACE_BYTES, space_bytes
from sortkey.engine.streams.shard_iterator import TRIM_HORIZON, ShardIterator
from sortkey.engine.streams.stream_writer import BINARY, HEADER, RECORD_KEY
from sortkey.engine.tables.catalog_entries import ShardEntry, StreamEntry
from sortkey.engine.tables.table import Table
from sortkey.errors import ResourceNotFoundException, TrimmedDataAccessException
from sortkey.limits import STREAM_RETENTION_SECONDS
from sortkey.storage import Transaction, after_prefix, ascending, descending

TRIM_MARK: Final = 0
"""Sequence numbers begin with 1, so a shard's mark is stored under the number 0."""


class Stream(NamedTuple):
    """A stream of a table, with its ARN."""

    arn: str
    table: Table
    entry: StreamEntry

    def shards(self, now: float) -> list[ShardEntry]:
        """In the order of their ids."""
        kept = (shard for shard in self.entry.shards if not is_expired(shard.closed, now))
        return sorted(kept, key=lambda shard: shard.id)


def streams(core: Core, transaction: Transaction) -> list[Stream]:
    """All streams that can be read, in the order of their ARNs."""
    tables = core.catalog.tables(transaction).values()
    return sorted((stream for table in tables for stream in _streams_of(core, table)), key=lambda stream: stream.arn)


def _streams_of(core: Core, table: Table) -> Iterator[Stream]:
    now = core.clock.now()
    for entry in table.entry.streams:
        if not is_expired(entry.disabled, now):
            yield Stream(f"{core.table_arn(table.name)}/stream/{entry.label}", table, entry)


def find(core: Core, transaction: Transaction, arn: str) -> Stream:
    name = arn.removeprefix(core.table_arn("")).partition("/")[0]
    table = core.catalog.find(transaction, name)
    for stream in () if table is None else _streams_of(core, table):
        if stream.arn == arn:
            return stream
    raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")


def is_expired(moment: float | None, now: float) -> bool:
    """Whether a shard or stream that ended then is past its retention."""
    return moment is not None and moment < now - STREAM_RETENTION_SECONDS


class Shard:
    """One shard in a snapshot."""

    __slots__ = ("_horizon", "_transaction", "entry", "prefix")

    def __init__(self, transaction: Transaction, stream: StreamEntry, entry: ShardEntry, now: float) -> None:
        self.entry = entry
        self.prefix = space_bytes(stream.space) + space_bytes(entry.number)
        self._transaction = transaction
        self._horizon = int((now - STREAM_RETENTION_SECONDS) * 1000)

    @property
    def is_closed(self) -> bool:
        return self.entry.last_sequence is not None

    def key(self, sequence: int) -> bytes:
        return self.prefix + sequence.to_bytes(8, "big")

    def trimmed_to(self) -> int:
        """The last sequence number that the janitor has removed; 0 if none."""
        mark = records.read(self._transaction, self.key(TRIM_MARK))
        return 0 if mark is None else int.from_bytes(mark, "big")

    def all_records_from(self, sequence: int) -> Iterator[tuple[int, bytes]]:
        """Stored sequence numbers and records from there on, expired ones too."""
        start = self.key(max(sequence, TRIM_MARK + 1))
        for key, value in ascending(self._transaction, start, after_prefix(self.prefix)):
            yield RECORD_KEY.unpack_from(key, SPACE_BYTES)[1], records.opened(self._transaction, key, value)

    def records_from(self, sequence: int) -> Iterator[tuple[int, bytes]]:
        """What a reader sees from there on; raises TrimmedDataAccessException if the first one has expired."""
        if sequence != TRIM_HORIZON and sequence <= self.trimmed_to():
            raise _trimmed()
        for number, value in self.all_records_from(sequence):
            if self.is_old(value):
                if sequence != TRIM_HORIZON:
                    raise _trimmed()
                continue
            yield number, value

    def newest_records_before(self, sequence: int) -> Iterator[tuple[int, bytes]]:
        """What a reader has seen before there, newest first."""
        low, high = self.key(TRIM_MARK + 1), self.key(max(sequence, TRIM_MARK + 1))
        for key, value in descending(self._transaction, low, high):
            record = records.opened(self._transaction, key, value)
            if self.is_old(record):
                return
            yield RECORD_KEY.unpack_from(key, SPACE_BYTES)[1], record

    def is_old(self, value: bytes) -> bool:
        header: int = HEADER.unpack_from(value)[0]
        return header & ~BINARY < self._horizon


def shard_of_iterator(core: Core, transaction: Transaction, iterator: ShardIterator) -> Shard:
    """The shard that an iterator points to."""
    now = core.clock.now()
    stream = find(core, transaction, iterator.arn)
    for entry in stream.shards(now):
        if entry.number == iterator.shard and stream.entry.space == iterator.space:
            return Shard(transaction, stream.entry, entry, now)
    raise no_such_shard()


def sequence_text(sequence: int) -> str:
    """A sequence number in AWS's form, padded so that it also compares as text."""
    return f"{sequence:021}"


def no_such_shard() -> ResourceNotFoundException:
    return ResourceNotFoundException("Requested resource not found: Shard does not exist")


def _trimmed() -> TrimmedDataAccessException:
    return TrimmedDataAccessException("The data you are trying to access has been trimmed")
