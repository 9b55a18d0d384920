"""DeleteItem: one item by its key. Deleting an item that does not exist is not an error."""

from __future__ import annotations

from sortkey.engine import write
from sortkey.engine.answer_metrics import add_write_metrics
from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.expression_parameters import only_condition
from sortkey.engine.rehearsal import rehearsed
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import DeleteItem
from sortkey.engine.rows.item_keys import check_scalar_keys, normalise_key
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.write_batch import WriteBatch


def delete_item(core: Core, request: DeleteItem) -> Work:
    name = table_name_of(request.table_name)
    write.check_return_old(request.return_values)
    key = normalise_key(request.key)
    condition = only_condition(request)

    def work(batch: WriteBatch) -> Answer:
        table = core.catalog.require_in(batch, name)
        found = write.find(batch, table, key)
        check_scalar_keys(table, condition)
        write.check_condition(found, condition, request.return_values_on_condition_check_failure)
        consumed = write.replace(batch, found, None)
        answer: Answer = {}
        if request.return_values == "ALL_OLD" and found.row is not None:
            answer["Attributes"] = Json.item(found.row)
        return add_write_metrics(batch, answer, request, consumed, key)

    return work if condition is None else rehearsed(work, name, key, condition)
