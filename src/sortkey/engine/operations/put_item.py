"""PutItem: one item, which replaces the item with the same key."""

from __future__ import annotations

from sortkey.engine import write
from sortkey.engine.answer_metrics import add_write_metrics
from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.expression_parameters import only_condition
from sortkey.engine.rehearsal import rehearsed
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import PutItem
from sortkey.engine.rows.item_keys import check_scalar_keys
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.write_batch import WriteBatch
from sortkey.values.attribute import normalise_item


def put_item(core: Core, request: PutItem) -> Work:
    name = table_name_of(request.table_name)
    write.check_return_old(request.return_values)
    new = normalise_item(request.item)
    condition = only_condition(request)
    write.check_size(new.size)

    def work(batch: WriteBatch) -> Answer:
        table = core.catalog.require_in(batch, name)
        row_key = write.row_key_to_put(table, new)
        check_scalar_keys(table, condition)
        found = write.Found(table, row_key, batch.get(row_key))
        write.check_condition(found, condition, request.return_values_on_condition_check_failure)
        consumed = write.replace(batch, found, new)
        answer: Answer = {}
        if request.return_values == "ALL_OLD" and found.row is not None:
            answer["Attributes"] = Json.item(found.row)
        return add_write_metrics(batch, answer, request, consumed, new.item)

    return work if condition is None else rehearsed(work, name, new.item, condition)
