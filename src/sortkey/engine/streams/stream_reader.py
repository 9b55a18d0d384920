"""Reads streams: which streams and shards exist, a shard's records in order, and a reader's position among them.

Records, shards and streams older than a day are invisible at once, whether or not the janitor has removed them.

A shard iterator is a reader's position, as opaque text:

    <stream's ARN>|1|base64 of:  space(4) shard(4) sequence(8) millisecond(8) checksum(8)

It has everything that a read needs, so it survives a restart and works in other processes. `sequence` is the first
sequence number to read, or 0 for the oldest record that exists at the time of the read. `millisecond` is when the
iterator was issued. The checksum detects a damaged iterator.

A consumer that waits for records need not poll: commits of this process wake it at once (`StreamSignal`). Other
processes cannot signal their commits, so a waiter also polls the store ten times a second.
"""

from __future__ import annotations

import asyncio
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Final, NamedTuple

from sortkey.clock import SystemClock, monotonic
from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import ShardEntry, StreamEntry
from sortkey.engine.rows.records import SPACE_BYTES, space_bytes
from sortkey.engine.streams.stream_writer import BINARY, HEADER, RECORD_KEY
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.table import Table
from sortkey.errors import (
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from sortkey.limits import STREAM_ITERATOR_SECONDS, STREAM_RETENTION_SECONDS
from sortkey.storage import Transaction, after_prefix, ascending, descending

TRIM_HORIZON: Final = 0

_FIELDS: Final = struct.Struct(">IIQQ")
_CHECKSUM_BYTES: Final = 8
_VERSION: Final = "1"

TRIM_MARK: Final = 0
"""Sequence numbers begin with 1, so a shard's mark is stored under the number 0."""

POLL_SECONDS: Final = 0.1


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
        return records.read_number(self._transaction, self.key(TRIM_MARK))

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


class ShardIterator(NamedTuple):
    arn: str
    space: int
    shard: int
    sequence: int
    issued: float

    def text(self) -> str:
        fields = _FIELDS.pack(self.space, self.shard, self.sequence, int(self.issued * 1000))
        return "|".join((self.arn, _VERSION, b64encode(fields + _checksum(self.arn, fields)).decode()))

    def check_age(self, now: float) -> None:
        if now - self.issued > STREAM_ITERATOR_SECONDS:
            raise ExpiredIteratorException("Shard iterator has expired")


def parse_iterator(text: str) -> ShardIterator:
    try:
        arn, version, encoded = text.split("|")
        content = b64decode(encoded, validate=True)
        fields, checksum = content[: _FIELDS.size], content[_FIELDS.size :]
        space, shard, sequence, millisecond = _FIELDS.unpack(fields)
    except (ValueError, struct.error):
        raise _invalid_iterator() from None
    if version != _VERSION or checksum != _checksum(arn, fields):
        raise _invalid_iterator()
    return ShardIterator(arn, space, shard, sequence, millisecond / 1000)


def _checksum(arn: str, fields: bytes) -> bytes:
    return blake2b(arn.encode() + fields, digest_size=_CHECKSUM_BYTES).digest()


def _invalid_iterator() -> ValidationException:
    return ValidationException("Invalid ShardIterator")


def wait_for_records(core: Core, iterator: str, timeout: float) -> bool:
    """Block until GetRecords has an answer for this iterator: records, or the end of the shard.

    Returns False after the timeout.
    """
    position = parse_iterator(iterator)
    space = space_bytes(position.space)
    deadline = monotonic() + timeout
    while True:
        seen = core.signal.version(space)
        if _has_news(core, position):
            return True
        left = deadline - monotonic()
        if left <= 0:
            return False
        core.signal.wait(space, seen, min(POLL_SECONDS, left))


async def wait_for_records_async(core: Core, iterator: str, timeout: float) -> bool:
    """The same without blocking the event loop."""
    position = parse_iterator(iterator)
    space = space_bytes(position.space)
    loop = asyncio.get_running_loop()
    written = asyncio.Event()

    def on_commit(streams: set[bytes]) -> None:
        if space in streams:
            # A commit that was under way when the waiter stopped may find the loop closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(written.set)

    deadline, clock = monotonic() + timeout, SystemClock()
    stop_listening = core.signal.listen(on_commit)
    try:
        while not _has_news(core, position):
            left = deadline - monotonic()
            if left <= 0:
                return False
            await clock.wait(written, min(POLL_SECONDS, left))
            written.clear()
        return True
    finally:
        stop_listening()


def _has_news(core: Core, position: ShardIterator) -> bool:
    with core.read() as snapshot:
        shard = shard_of_iterator(core, snapshot, position)
        return shard.is_closed or next(shard.records_from(position.sequence), None) is not None
