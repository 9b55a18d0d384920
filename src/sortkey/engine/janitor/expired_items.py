"""Removing what has expired, as the service does it: by the expiry index, a few hundred items a transaction.

A removal goes the way of every write, so indexes, counts and streams follow; its stream record bears the service's
identity, by which a consumer tells it from a user's. Each item is looked at again inside the transaction, so one that
was prolonged meanwhile stays, and two processes that sweep at once remove it once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sortkey.engine import write
from sortkey.engine.core import Core
from sortkey.engine.rows import expiry_index
from sortkey.engine.write_batch import WriteBatch

CHUNK: Final = 250
SERVICE: Final[dict[str, Any]] = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}


def expire_items(core: Core) -> Iterator[None]:
    """Remove all items that have expired by now, chunk by chunk."""
    with core.read() as snapshot:
        names = [table.name for table in core.catalog.tables(snapshot).values() if table.ttl_attribute is not None]
    for name in names:
        while _any_due(core, name):
            core.store.write(_Removal(core, name))
            yield


def _any_due(core: Core, name: str) -> bool:
    with core.read() as snapshot:
        table = core.catalog.find(snapshot, name)
        if table is None or table.ttl_attribute is None:
            return False
        return bool(expiry_index.due(snapshot, table, core.clock.now(), limit=1))


class _Removal:
    """One transaction's worth of a table's expired items."""

    def __init__(self, core: Core, table: str) -> None:
        self._catalog = core.catalog
        self._table = table

    def __call__(self, batch: WriteBatch) -> None:
        table = self._catalog.find(batch.transaction, self._table)
        if table is None or table.ttl_attribute is None:
            return
        for entry, row_key in expiry_index.due(batch.transaction, table, batch.now, CHUNK):
            found = write.Found(table, row_key, batch.get(row_key))
            if expiry_index.entry_of(table, row_key, found.item) == entry:
                write.replace(batch, found, None, SERVICE)
            else:
                # No write leaves such an entry behind; if there is one, the sweep must not meet it for ever.
                batch.delete(entry)
