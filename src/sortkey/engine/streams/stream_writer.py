"""Writes streams: one record for each change of an item, in the transaction of the change.

A record is stored as the JSON that GetRecords answers with (without `awsRegion`, which the reader adds), and has the
item's images spliced in as they are stored. Sequence numbers are one sequence over all tables and processes, assigned
inside the write transaction, so their order is the order of commits, and a reader that has seen number n has seen all
before it.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, Protocol

import msgspec
import orjson

from sortkey.engine.core import Settings
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.spaces import space_bytes
from sortkey.engine.streams import shards
from sortkey.engine.tables.catalog import new_space
from sortkey.engine.tables.catalog_entries import StreamEntry
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.values.attribute import Item
from sortkey.values.size import item_size

HEADER: Final = struct.Struct(">Q")
BINARY: Final = 1 << 63
RECORD_KEY: Final = struct.Struct(">IQ")
"""Shard number and sequence number, which follow the space in the row key of a stream record."""

_NEW_IMAGE: Final = frozenset({"NEW_IMAGE", "NEW_AND_OLD_IMAGES"})
_OLD_IMAGE: Final = frozenset({"OLD_IMAGE", "NEW_AND_OLD_IMAGES"})

_RECORD: Final = (
    b'{"eventID":"%s","eventName":"%s","eventVersion":"1.1","eventSource":"aws:dynamodb",'
    b'"dynamodb":{"ApproximateCreationDateTime":%d.0,"Keys":%s%s,"SequenceNumber":"%021d","SizeBytes":%d,'
    b'"StreamViewType":"%s"}%s}'
)


class FoundRow(Protocol):
    """The row before a change, as `write.Found` has it."""

    @property
    def key(self) -> bytes: ...

    @property
    def row(self) -> bytes | None: ...

    @property
    def item(self) -> Item: ...


def new_stream(
    batch: WriteBatch, settings: Settings, view_type: str, earlier: list[StreamEntry] | None = None
) -> StreamEntry:
    """A new, enabled stream. Its label differs from those of the table's earlier streams, even within a millisecond."""
    created = datetime.fromtimestamp(batch.now, UTC)
    taken = {stream.label for stream in earlier or ()}
    while (label := _label(created)) in taken:
        created += timedelta(milliseconds=1)
    return StreamEntry(
        space=new_space(batch),
        label=label,
        view_type=view_type,
        created=round(batch.now, 3),
        shards=shards.first_shards(batch, settings.stream_shards),
    )


def _label(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")


def close_stream(batch: WriteBatch, entry: StreamEntry) -> StreamEntry:
    """The stream, disabled: it gets no more records, and those that it has can be read for a day."""
    batch.streams_written.add(space_bytes(entry.space))
    return msgspec.structs.replace(entry, shards=shards.close(batch, entry), disabled=batch.now)


def write_record(
    batch: WriteBatch,
    table: Table,
    stream: StreamEntry,
    found: FoundRow,
    new: Item | None,
    new_row: bytes | None,
    identity: dict[str, Any] | None,
) -> None:
    """Write the record of a change from the found row to the new one; none if the item did not change."""
    old_row = found.row
    if _same(found, new, new_row):
        return
    keys = table.key_of(found.item if new is None else new)
    images, size = _images(stream.view_type, old_row, new_row)
    sequence = batch.next_sequence()
    text = _RECORD % (
        _event_id(table, sequence),
        b"INSERT" if old_row is None else b"REMOVE" if new_row is None else b"MODIFY",
        int(batch.now),
        orjson.dumps(keys),
        b"".join(b',"%s":%s' % (name, stored_item.text(row)) for name, row in images),
        sequence,
        item_size(keys) + size,
        stream.view_type.encode(),
        b"" if identity is None else b',"userIdentity":' + orjson.dumps(identity),
    )
    binary = any("B" in value for value in keys.values()) or any(stored_item.has_binary(row) for _, row in images)
    space = space_bytes(stream.space)
    key = space + RECORD_KEY.pack(shards.shard_of(stream, found.key).number, sequence)
    batch.put_record(key, HEADER.pack(int(batch.now * 1000) | (BINARY if binary else 0)) + text)
    batch.streams_written.add(space)


def _same(found: FoundRow, new: Item | None, new_row: bytes | None) -> bool:
    """Whether the items are equal. Equal items are equal JSON, except for the order of attributes."""
    old_row = found.row
    if old_row == new_row:
        return True
    return old_row is not None and new_row is not None and len(old_row) == len(new_row) and found.item == new


def _images(view_type: str, old_row: bytes | None, new_row: bytes | None) -> tuple[list[tuple[bytes, bytes]], int]:
    images = []
    if new_row is not None and view_type in _NEW_IMAGE:
        images.append((b"NewImage", new_row))
    if old_row is not None and view_type in _OLD_IMAGE:
        images.append((b"OldImage", old_row))
    return images, sum(stored_item.size(row) for _, row in images)


def _event_id(table: Table, sequence: int) -> bytes:
    return blake2b(f"{table.entry.id}/{sequence}".encode(), digest_size=16).hexdigest().encode()
