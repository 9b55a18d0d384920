"""UpdateItem that returns no attributes, in a table that is not followed: no index, no stream, no TTL."""

from __future__ import annotations

from typing import Final, Literal

from sortkey.engine import write
from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.fast.fast_path import EMPTY_ANSWER, FastAnswer, FastWork, compile_write
from sortkey.engine.operations.update_item import update_item as general_update_item
from sortkey.engine.rehearsal import CHEAP_EVALUATIONS
from sortkey.engine.requests.items import UpdateItem
from sortkey.engine.requests.shapes import AttributeMap, NameBindings, Shape, TableName
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.item_keys import check_scalar_keys
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.expressions import Bindings, condition, update


class FastUpdate(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    key: AttributeMap
    update_expression: str
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values: Literal["NONE"] | None = None
    return_consumed_capacity: Literal["NONE"] | None = None


def _plan(core: Core, known: Table, request: FastUpdate) -> FastWork | None:
    name, key = known.name, request.key
    row_key = known.fast_row_key(key)
    if row_key is None:
        return None
    bindings = Bindings(request.expression_attribute_names, request.expression_attribute_values)
    change = update(request.update_expression, bindings)
    text = request.condition_expression
    test = None if text is None else condition(text, bindings, "ConditionExpression")
    if test is not None and test.evaluations >= CHEAP_EVALUATIONS:
        return _general(core, request)
    bindings.check_all_used()
    write.check_update(known, change)
    check_scalar_keys(known, change, test)

    def work(batch: WriteBatch) -> FastAnswer | Answer:
        table = core.catalog.require_in(batch, name)
        if table is not known:
            return _general(core, request)(batch)
        found = write.Found(table, row_key, batch.get(row_key))
        if test is not None:
            write.check_condition(found, test, None)
        new = write.apply_update(found, key, change)
        row = stored_item.encode(row_key, *new)
        return FastAnswer(EMPTY_ANSWER, {name: write.put_row(batch, found, row, new.size)})

    return work


def _general(core: Core, request: FastUpdate) -> Work:
    general = UpdateItem(
        table_name=request.table_name,
        key=request.key,
        update_expression=request.update_expression,
        condition_expression=request.condition_expression,
        expression_attribute_names=request.expression_attribute_names,
        expression_attribute_values=request.expression_attribute_values,
        return_consumed_capacity="TOTAL",
    )
    return general_update_item(core, general)


update_item: Final = compile_write(FastUpdate, _plan, _general)
