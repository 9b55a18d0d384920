"""Shards: how a stream is divided into slices of the hash space, and how their number changes.

Each shard has the records of the items whose partition hash (its first eight bytes, as a number) is in its slice, so
all changes of one item are in one shard, in order. When the number of shards changes, the open ones are closed and each
gets children that divide its slice. A reader that finishes a parent before its children sees every item's changes in
order.
"""

from __future__ import annotations

from typing import Final

import msgspec

from sortkey.engine.core import Core
from sortkey.engine.rows.spaces import SPACE_BYTES
from sortkey.engine.tables.catalog_entries import ShardEntry, StreamEntry
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch

_HASH_BYTES: Final = 8
_LAST_HASH: Final = (1 << 8 * _HASH_BYTES) - 1


def first_shards(batch: WriteBatch, count: int) -> list[ShardEntry]:
    """The shards of a new stream."""
    return _slices(batch, count, 0, 0, _LAST_HASH, parent=None)


def shard_of(stream: StreamEntry, row_key: bytes) -> ShardEntry:
    """The open shard that an item's records go to."""
    return next(shard for shard in open_shards(stream) if slice_holds(shard, row_key))


def slice_holds(shard: ShardEntry, row_key: bytes) -> bool:
    """Whether the item of a table row belongs to the shard's slice."""
    return shard.low <= int.from_bytes(row_key[SPACE_BYTES : SPACE_BYTES + _HASH_BYTES], "big") <= shard.high


def open_shards(stream: StreamEntry) -> list[ShardEntry]:
    return [shard for shard in stream.shards if shard.last_sequence is None]


def close(batch: WriteBatch, stream: StreamEntry) -> list[ShardEntry]:
    """The stream's shards, all closed."""
    return _closed(batch, stream, open_shards(stream))


def _closed(batch: WriteBatch, stream: StreamEntry, closing: list[ShardEntry]) -> list[ShardEntry]:
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
