"""Puts of many items in one piece of work for the write queue, which has one request for them all.

An item is checked and encoded when it is added, on the caller's thread: its row, its row key and its index rows. The
writer's turn then only looks for the old row and puts what is ready, which takes a quarter of the time. If a table has
changed since the items were added, they are prepared again in the writer's turn, before the first one is written.

Items are put in the order in which they were added. The same key may occur twice; the last item remains. All are put or
none: a damaged old row is found only in between, and then the queue aborts the transaction and fails this work alone.
"""

from __future__ import annotations

from sortkey.engine import write
from sortkey.engine.core import Answer, Core
from sortkey.engine.tables.table import Table
from sortkey.engine.write import PreparedPut
from sortkey.engine.write_batch import WriteBatch
from sortkey.values.attribute import Item, normalise_item


class BulkPut:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._tables: dict[str, Table] = {}
        self._puts: list[PreparedPut] = []
        self.bytes = 0
        """The size of the items."""

    def __len__(self) -> int:
        return len(self._puts)

    def add(self, table_name: str, item: Item) -> None:
        """Add a put. Raises the error of a PutItem of this item; the items that were added before are kept."""
        table = self._tables.get(table_name)
        if table is None:
            with self._core.read() as snapshot:
                table = self._tables[table_name] = self._core.catalog.require_named(snapshot, table_name)
        new = normalise_item(item)
        write.check_size(new.size)
        self._puts.append(PreparedPut(table, new))
        self.bytes += new.size

    def work(self, batch: WriteBatch) -> Answer:
        """Put all items, for the write queue."""
        current = {name: self._core.catalog.require_in(batch, name) for name in self._tables}
        puts = self._puts
        if current != self._tables:
            puts = [put.for_table(current[put.table.name]) for put in puts]
        units = 0.0
        for put in puts:
            units += write.put_prepared(batch, put)
        return {"ConsumedCapacity": {"CapacityUnits": units}}
