"""PutItem without conditions, into a table that is not followed: no index, no stream, no TTL."""

from __future__ import annotations

from typing import Final, Literal

from sortkey.engine import write
from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.fast.fast_path import EMPTY_ANSWER, FastAnswer, FastWork, compile_write
from sortkey.engine.operations.put_item import put_item as general_put_item
from sortkey.engine.requests.items import PutItem
from sortkey.engine.requests.shapes import AttributeMap, Shape, TableName
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.item_keys import row_key_in_item
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.limits import ITEM_BYTES
from sortkey.storage import seal
from sortkey.values.attribute import normalise_item


class FastPut(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    item: AttributeMap
    return_values: Literal["NONE"] | None = None
    return_consumed_capacity: Literal["NONE"] | None = None


def _plan(core: Core, known: Table, request: FastPut) -> FastWork | None:
    name = known.name
    item, size, binary = normalise_item(request.item)
    if size > ITEM_BYTES:
        return None
    payload = stored_item.payload(item, size, binary)

    def work(batch: WriteBatch) -> FastAnswer | Answer:
        table = core.catalog.require_in(batch, name)
        if table.followed:
            return _general(core, request)(batch)
        row_key = row_key_in_item(table, item)
        found = write.Found(table, row_key, batch.get(row_key))
        return FastAnswer(EMPTY_ANSWER, {name: write.put_row(batch, found, seal(row_key, payload), size)})

    return work


def _general(core: Core, request: FastPut) -> Work:
    general = PutItem(table_name=request.table_name, item=request.item, return_consumed_capacity="TOTAL")
    return general_put_item(core, general)


put_item: Final = compile_write(FastPut, _plan, _general)
