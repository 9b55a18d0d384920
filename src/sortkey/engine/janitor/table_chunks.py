"""One table's work in chunks: look for it in a snapshot, then do one chunk per write transaction.

The table may be dropped between the two, so each finds it anew.
"""

from __future__ import annotations

from collections.abc import Callable

from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.table import Table
from sortkey.storage import Transaction

Look = Callable[[Transaction, Table, float], bool]
"""Whether there is work in a table, as a snapshot shows it, at a time."""

Chunk = Callable[[Core, WriteBatch, Table], None]
"""One transaction's work on a table. It checks again whether there is any: another process may have done it."""


def has_work(core: Core, table_name: str, look: Look) -> bool:
    with core.read() as snapshot:
        table = core.catalog.find(snapshot, table_name)
        return table is not None and look(snapshot, table, core.clock.now())


def write_chunk(core: Core, table_name: str, chunk: Chunk) -> None:
    def work(batch: WriteBatch) -> None:
        table = core.catalog.find(batch.transaction, table_name)
        if table is not None:
            chunk(core, batch, table)

    core.store.write(work)
