"""UpdateItem of an item in a table that nothing follows, without an answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sortkey.engine import write
from sortkey.engine.core import Core
from sortkey.engine.fast.fast_answer import NOTHING, UNREADABLE, FastAnswer, FastWork, metered
from sortkey.engine.operations.update_item import update_item as update_unusual
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import AttributeMap, NameBindings, Shape, TableName
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.item_keys import check_scalar_keys
from sortkey.engine.write_batch import WriteBatch
from sortkey.expressions import Bindings, condition, update
from sortkey.values.capacity_units import write_units


class FastUpdate(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    key: AttributeMap
    update_expression: str
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values: Literal["NONE"] | None = None
    return_consumed_capacity: Literal["NONE"] | None = None


_decode = msgspec.json.Decoder(FastUpdate).decode


def update_item(core: Core, body: bytes) -> FastWork | None:
    try:
        request = _decode(body)
        name = table_name_of(request.table_name)
        known = core.catalog.last_seen(name)
        if known is None or known.followed:
            return None
        key = request.key
        place = known.fast_row_key(key)
        if place is None:
            return None
        bindings = Bindings(request.expression_attribute_names, request.expression_attribute_values)
        change = update(request.update_expression, bindings)
        text = request.condition_expression
        test = None if text is None else condition(text, bindings, "ConditionExpression")
        bindings.check_all_used()
        write.check_update(known, change)
        check_scalar_keys(known, change, test)
    except UNREADABLE:
        return None

    def work(batch: WriteBatch) -> FastAnswer | dict[str, Any]:
        table = core.catalog.require(batch.transaction, name)
        if table is not known:
            # It may be another since a moment ago.
            return update_unusual(core, metered("UpdateItem", body))(batch)
        found = write.Found(table, place, batch.get(place))
        if test is not None:
            write.check_condition(found, test, None)
        new = write.updated(found, key, change)
        batch.put(place, stored_item.encode(*new))
        before = found.size
        batch.count(table.space, found.row is None, new.size - before)
        return FastAnswer(NOTHING, {name: write_units(max(before, new.size))})

    return work
