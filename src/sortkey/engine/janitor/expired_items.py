"""Removes expired items, found by the expiry index, a few hundred per transaction.

A removal takes the same path as every write, so indexes, counts and streams follow. Its stream record has the service's
identity, by which a consumer distinguishes it from a user's write. Each item is checked again inside the transaction,
so an item that was prolonged meanwhile stays, and two processes that sweep at once remove an item once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sortkey.engine import write
from sortkey.engine.core import Core
from sortkey.engine.janitor.table_chunks import has_work, write_chunk
from sortkey.engine.rows import expiry_index
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.storage import Transaction

CHUNK: Final = 250
SERVICE: Final[dict[str, Any]] = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}


def expire_items(core: Core) -> Iterator[None]:
    """Remove all items that have expired by now, chunk by chunk."""
    with core.read() as snapshot:
        names = [table.name for table in core.catalog.tables(snapshot).values() if table.ttl_attribute is not None]
    for name in names:
        while has_work(core, name, _has_expired_items):
            write_chunk(core, name, _remove_items)
            yield


def _has_expired_items(snapshot: Transaction, table: Table, now: float) -> bool:
    return table.ttl_attribute is not None and bool(expiry_index.due(snapshot, table, now, limit=1))


def _remove_items(_core: Core, batch: WriteBatch, table: Table) -> None:
    if table.ttl_attribute is None:
        return
    for entry, row_key in expiry_index.due(batch.transaction, table, batch.now, CHUNK):
        found = write.Found(table, row_key, batch.get(row_key))
        if expiry_index.entry_of(table, row_key, found.item) == entry:
            write.replace(batch, found, None, SERVICE)
        else:
            # No write leaves such an entry. If there is one, delete it, or the sweep would find it for ever.
            batch.delete(entry)
