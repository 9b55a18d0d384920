"""PutItem without conditions, into a table that nothing follows: no index, no stream, no expiry."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sortkey.engine.core import Core
from sortkey.engine.fast.fast_answer import NOTHING, UNREADABLE, FastAnswer, FastWork, metered
from sortkey.engine.operations.put_item import put_item as put_unusual
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import AttributeMap, Shape, TableName
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.item_keys import row_key_in_item
from sortkey.engine.write_batch import WriteBatch
from sortkey.limits import ITEM_BYTES
from sortkey.values.attribute import normalise_item
from sortkey.values.capacity_units import write_units


class FastPut(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    item: AttributeMap
    return_values: Literal["NONE"] | None = None
    return_consumed_capacity: Literal["NONE"] | None = None


_decode = msgspec.json.Decoder(FastPut).decode


def put_item(core: Core, body: bytes) -> FastWork | None:
    try:
        request = _decode(body)
        name = table_name_of(request.table_name)
        known = core.catalog.last_seen(name)
        if known is None or known.followed:
            return None
        item, size, binary = normalise_item(request.item)
    except UNREADABLE:
        return None
    if size > ITEM_BYTES:
        return None
    row = stored_item.encode(item, size, binary)

    def work(batch: WriteBatch) -> FastAnswer | dict[str, Any]:
        table = core.catalog.require(batch.transaction, name)
        if table.followed:
            # Since a moment ago.
            return put_unusual(core, metered("PutItem", body))(batch)
        place = row_key_in_item(table, item)
        old = batch.get(place)
        before = 0 if old is None else stored_item.size(old)
        batch.put(place, row)
        batch.count(table.space, old is None, size - before)
        return FastAnswer(NOTHING, {name: write_units(max(before, size))})

    return work
