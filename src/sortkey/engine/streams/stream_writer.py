"""Writes streams: one record for each change of an item, in the transaction of the change.

A record is stored as the JSON that GetRecords answers with (without `awsRegion`, which the reader adds), and has the
item's images spliced in as they are stored. Sequence numbers are one sequence over all tables and processes, assigned
inside the write transaction, so their order is the order of commits, and a reader that has seen number n has seen all
before it.

A stream is divided into shards, which are slices of the hash space. Each shard has the records of the items whose
partition hash (its first eight bytes, as a number) is in its slice, so all changes of one item are in one shard, in
order. When the number of shards changes, the open ones are closed and each gets children that divide its slice. A
reader that finishes a parent before its children sees every item's changes in order.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, Protocol

import msgspec
import orjson

from sortkey.engine.rows import stored_item
from sortkey.engine.rows.catalog_entries import ShardEntry, StreamEntry
from sortkey.engine.rows.records import SPACE_BYTES, space_bytes
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Core, Settings, new_space
from sortkey.engine.tables.table import SLICED_BYTES, RecordedStream, Table
from sortkey.values.attribute import Item
from sortkey.values.size import item_size

_LAST_HASH: Final = (1 << 8 * SLICED_BYTES) - 1

HEADER: Final = struct.Struct(">Q")
BINARY: Final = 1 << 63
RECORD_KEY: Final = struct.Struct(">IQ")
"""Shard number and sequence number, which follow the space in the row key of a stream record."""
_SEQUENCE: Final = struct.Struct(">Q")

_RECORD: Final = (
    b'{"eventID":"%b","eventName":"%b","eventVersion":"1.1","eventSource":"aws:dynamodb",'
    b'"dynamodb":{"ApproximateCreationDateTime":%d.0,"Keys":%b%b,"SequenceNumber":"%021d","SizeBytes":%d,'
    b'"StreamViewType":"%b"}%b}'
)


class FoundRow(Protocol):
    """The row before a change, as `write.Found` has it."""

    @property
    def key(self) -> bytes: ...

    @property
    def row(self) -> bytes | None: ...

    @property
    def item(self) -> Item: ...


def write_record(
    batch: WriteBatch,
    table: Table,
    stream: RecordedStream,
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
    images, size, binary = b"", item_size(keys), table.has_binary_key
    if new_row is not None and stream.has_new_images:
        images = b',"NewImage":%b' % stored_item.text(new_row)
        size += stored_item.size(new_row)
        binary = binary or stored_item.has_binary(new_row)
    if old_row is not None and stream.has_old_images:
        images += b',"OldImage":%b' % stored_item.text(old_row)
        size += stored_item.size(old_row)
        binary = binary or stored_item.has_binary(old_row)
    sequence = batch.next_sequence()
    text = _RECORD % (
        _event_id(table, sequence),
        b"INSERT" if old_row is None else b"REMOVE" if new_row is None else b"MODIFY",
        int(batch.now),
        orjson.dumps(keys),
        images,
        sequence,
        size,
        stream.view_type,
        b"" if identity is None else b',"userIdentity":' + orjson.dumps(identity),
    )
    key = stream.shard_prefix(found.key) + _SEQUENCE.pack(sequence)
    batch.put_record(key, HEADER.pack(int(batch.now * 1000) | (BINARY if binary else 0)) + text)
    batch.streams_written.add(stream.space)


def _same(found: FoundRow, new: Item | None, new_row: bytes | None) -> bool:
    """Whether the items are equal. Equal items are equal JSON, except for the order of attributes."""
    old_row = found.row
    if old_row == new_row:
        return True
    return old_row is not None and new_row is not None and len(old_row) == len(new_row) and found.item == new


def _event_id(table: Table, sequence: int) -> bytes:
    return blake2b(f"{table.entry.id}/{sequence}".encode(), digest_size=16).hexdigest().encode()


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
        shards=first_shards(batch, settings.stream_shards),
    )


def destination_stream(batch: WriteBatch, name: str) -> StreamEntry:
    """The changes for a Kinesis stream of this name. One shard has them all, in order."""
    return StreamEntry(
        space=new_space(batch),
        label=f"kinesis/{name}",
        view_type="NEW_AND_OLD_IMAGES",
        created=round(batch.now, 3),
        shards=first_shards(batch, 1),
    )


def _label(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")


def close_stream(batch: WriteBatch, entry: StreamEntry) -> StreamEntry:
    """The stream, disabled: it gets no more records, and those that it has can be read for a day."""
    batch.streams_written.add(space_bytes(entry.space))
    return msgspec.structs.replace(entry, shards=_closed(batch, entry, open_shards(entry)), disabled=batch.now)


def first_shards(batch: WriteBatch, count: int) -> list[ShardEntry]:
    """The shards of a new stream."""
    return _slices(batch, count, 0, 0, _LAST_HASH, parent=None)


def slice_holds(shard: ShardEntry, row_key: bytes) -> bool:
    """Whether the item of a table row belongs to the shard's slice."""
    return shard.low <= int.from_bytes(row_key[SPACE_BYTES : SPACE_BYTES + SLICED_BYTES], "big") <= shard.high


def open_shards(stream: StreamEntry) -> list[ShardEntry]:
    return [shard for shard in stream.shards if shard.last_sequence is None]


def _closed(batch: WriteBatch, stream: StreamEntry, closing: list[ShardEntry]) -> list[ShardEntry]:
    """The stream's shards, some of them closed."""
    # Take a sequence number, so that the range of a shard without records is not empty.
    last = batch.next_sequence()
    return [
        msgspec.structs.replace(shard, last_sequence=last, closed=batch.now) if shard in closing else shard
        for shard in stream.shards
    ]


def reshard(core: Core, table_name: str, count: int) -> None:
    """Divide the open shards of the table's stream, so that `count` shards are open.

    A shard has only one parent, so `count` must be a multiple of the current number.
    """

    def work(batch: WriteBatch) -> None:
        table = core.catalog.require_named(batch.transaction, table_name)
        if table.stream is None:
            raise ValueError(f"table {table_name} has no stream")
        present = len(open_shards(table.stream))
        if count < present or count % present:
            raise ValueError(f"{present} shards cannot become {count}: the number must be a multiple of {present}")
        divide(core, batch, table, open_shards(table.stream), count // present)

    core.store.write(work)


def divide(core: Core, batch: WriteBatch, table: Table, parents: list[ShardEntry], parts: int) -> None:
    """Close these open shards of the table's stream, each of which gets as many children."""
    assert table.stream is not None
    stream = msgspec.structs.replace(table.stream, shards=_divided(batch, table.stream, parents, parts))
    core.catalog.save(batch, msgspec.structs.replace(table.entry, streams=[*table.entry.streams[:-1], stream]))
    # A reader that waits at the end of a closed shard should continue with its children.
    batch.streams_written.add(stream.space.to_bytes(SPACE_BYTES, "big"))


def _divided(batch: WriteBatch, stream: StreamEntry, parents: list[ShardEntry], parts: int) -> list[ShardEntry]:
    number = stream.shards[-1].number + 1
    divided = _closed(batch, stream, parents)
    for parent in parents:
        divided += _slices(batch, parts, number, parent.low, parent.high, parent.id)
        number += parts
    return divided


def _slices(batch: WriteBatch, count: int, number: int, low: int, high: int, parent: str | None) -> list[ShardEntry]:
    bounds = [low + (high - low + 1) * at // count for at in range(count + 1)]
    return [
        ShardEntry(
            number=number + at,
            id=_shard_id(batch.now, number + at),
            parent=parent,
            low=bounds[at],
            high=bounds[at + 1] - 1,
            first_sequence=batch.last_sequence() + 1,
        )
        for at in range(count)
    ]


def _shard_id(now: float, number: int) -> str:
    """In AWS's form, and in the order of creation."""
    return f"shardId-{int(now * 1000):020}-{number:08x}"
