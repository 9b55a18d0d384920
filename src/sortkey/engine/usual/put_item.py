"""PutItem without conditions, into a table that nothing follows: no index, no stream, no expiry."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sortkey.engine import stored
from sortkey.engine.batch import WriteBatch
from sortkey.engine.core import Core
from sortkey.engine.keys import place_in
from sortkey.engine.operations.put_item import put_item as put_unusual
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import AttributeMap, Shape, TableName
from sortkey.engine.usual.answered import NOTHING, UNREADABLE, Answered, UsualWork, metered
from sortkey.limits import ITEM_BYTES
from sortkey.values.attribute import normalise_item
from sortkey.values.capacity import write_units


class UsualPut(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    item: AttributeMap
    return_values: Literal["NONE"] | None = None
    return_consumed_capacity: Literal["NONE"] | None = None


_decode = msgspec.json.Decoder(UsualPut).decode


def put_item(core: Core, body: bytes) -> UsualWork | None:
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
    row = stored.encode(item, size, binary)

    def work(batch: WriteBatch) -> Answered | dict[str, Any]:
        table = core.catalog.require(batch.transaction, name)
        if table.followed:
            # Since a moment ago.
            return put_unusual(core, metered("PutItem", body))(batch)
        place = place_in(table, item)
        old = batch.get(place)
        before = 0 if old is None else stored.size(old)
        batch.put(place, row)
        batch.count(table.space, old is None, size - before)
        return Answered(NOTHING, {name: write_units(max(before, size))})

    return work
