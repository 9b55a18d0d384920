"""UpdateItem: some attributes of one item, which is created if it does not exist."""

from __future__ import annotations

from sortkey.engine import write
from sortkey.engine.answer_metrics import add_write_metrics
from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.expression_parameters import bindings_of, condition_of, to_members
from sortkey.engine.rehearsal import rehearsed
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import UpdateItem
from sortkey.engine.rows.item_keys import check_scalar_keys, normalise_key
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.write_batch import WriteBatch
from sortkey.expressions import Bindings, Update, legacy, update
from sortkey.values.attribute import Item, Normalised


def update_item(core: Core, request: UpdateItem) -> Work:
    name = table_name_of(request.table_name)
    key = normalise_key(request.key)
    bindings = bindings_of(
        request,
        ("update_expression", "condition_expression"),
        ("attribute_updates", "expected", "conditional_operator"),
    )
    change = _update(request, bindings)
    condition = condition_of(request, bindings)
    if bindings is not None:
        bindings.check_all_used()

    def work(batch: WriteBatch) -> Answer:
        table = core.catalog.require_in(batch, name)
        found = write.find(batch, table, key)
        write.check_update(table, change)
        check_scalar_keys(table, change, condition)
        write.check_condition(found, condition, request.return_values_on_condition_check_failure)
        new = write.apply_update(found, key, change)
        consumed = write.replace(batch, found, new)
        answer: Answer = {}
        attributes = _attributes(request.return_values, found, change, new)
        if attributes is not None:
            answer["Attributes"] = attributes
        return add_write_metrics(batch, answer, request, consumed, key)

    return work if condition is None else rehearsed(work, name, key, condition)


def _update(request: UpdateItem, bindings: Bindings | None) -> Update | None:
    if request.update_expression is not None and bindings is not None:
        return update(request.update_expression, bindings)
    if request.attribute_updates:
        return legacy.attribute_updates(to_members(request.attribute_updates))
    return None


def _attributes(wanted: str | None, found: write.Found, change: Update | None, new: Normalised) -> Json | None:
    """`Attributes` of the answer; None if there are none to return."""
    part: Item = {}
    match wanted:
        case "ALL_OLD" if found.row is not None:
            return Json.item(found.row)
        case "ALL_NEW":
            return Json.of(new.item, new.binary)
        case "UPDATED_OLD" if change is not None:
            part = change.updated(found.item)
        case "UPDATED_NEW" if change is not None:
            part = change.updated(new.item)
    return Json.of(part) if part else None
