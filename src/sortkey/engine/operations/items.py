"""One item by its key: GetItem, PutItem, UpdateItem, DeleteItem."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Final, NamedTuple, ParamSpec, TypeVar

from sortkey.engine.operations import write
from sortkey.engine.operations.answers import Consumed, add_write_metrics, is_requested
from sortkey.engine.operations.rehearsal import rehearsed
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.expression_parameters import (
    bindings_of,
    condition_of,
    only_condition,
    only_projection,
    to_members,
)
from sortkey.engine.requests.items import DeleteItem, GetItem, PutItem, UpdateItem
from sortkey.engine.rows.partition_loads import SMALL_UNITS
from sortkey.engine.rows.records import damaged, damaged_page
from sortkey.engine.rows.stored_item import STEP_BYTES, Json, decode, size
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Work, not_found
from sortkey.engine.tables.table import Table, check_scalar_keys, checked_row_key, normalise_key
from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, Condition, Update, legacy, update
from sortkey.storage import DAMAGED_PAGE, is_sound
from sortkey.values.attribute import Item, Normalised, canonical_scalar_size, normalise_item
from sortkey.values.errors import InvalidRequest
from sortkey.values.size import read_units

P = ParamSpec("P")
Planned = TypeVar("Planned")

ANY_KEY: Final = True
"""For `row_by_key`. A keyword would show in the time of a GetItem."""


def get_item(core: Core, request: GetItem) -> Answer:
    projection = only_projection(request)
    name = table_name_of(request.table_name)
    found = row_by_key(core, name, request.key, bool(request.consistent_read), ANY_KEY)
    if found is None:
        # If the key is malformed as well, AWS reports that.
        normalise_key(request.key)
        raise not_found()
    table, row, units = found
    check_scalar_keys(table, projection)
    answer: Answer = {}
    if row is not None:
        answer["Item"] = Json.item(row) if projection is None else Json.of(projection(decode(row)))
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = Consumed(table, units).shape(request.return_consumed_capacity)
    return answer


def row_by_key(
    core: Core, table_name: str, key: Item, consistent: bool, any_key: bool = False
) -> tuple[Table, bytes | None, float] | None:
    """The table, the row of a key, and its read units, which are counted for its partition.

    None if there is no such table, or the key is not short text, unless it may be any key.
    """
    snapshot, tables = core.read_tables()
    try:
        table = tables.get(table_name)
        if table is None:
            return None
        row_key = table.fast_row_key(key)
        if row_key is None:
            if not any_key:
                return None
            row_key = checked_row_key(table, normalise_key(key))
        row = snapshot.get(row_key)
        if row is not None and not is_sound(row):
            raise damaged(snapshot, row_key)
    except DAMAGED_PAGE as error:
        raise damaged_page(error) from error
    finally:
        snapshot.abort()
    if row is None or len(row) <= STEP_BYTES:
        units = 1.0 if consistent else 0.5
    else:
        units = read_units(size(row), consistent)
    # As PageWalk.charge does, whose call would show in the time of a GetItem.
    partitions = core.partitions
    if partitions.reads_left_out and units <= SMALL_UNITS:
        partitions.reads_left_out -= 1
    else:
        partitions.count_read(row_key, units)
    return table, row, units


def detects_invalid_requests(plan: Callable[P, Planned]) -> Callable[P, Planned]:
    """Report what is invalid before the table is known as AWS reports violations of its service model: in writes of
    one item since the summer of 2026, but not in reads, batches and transactions."""

    @wraps(plan)
    def detecting(*args: P.args, **kwargs: P.kwargs) -> Planned:
        try:
            return plan(*args, **kwargs)
        except InvalidRequest as error:
            raise ValidationException(error.detected) from None

    return detecting


@detects_invalid_requests
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

    return work if condition is None else rehearsed(work, (name, new.item, condition))


class BoundUpdate(NamedTuple):
    """An UpdateItem, checked as far as that does not depend on the table."""

    request: UpdateItem
    table_name: str
    key: Item
    bindings: Bindings | None
    change: Update | None
    condition: Condition | None

    def again(self, key: Item, values: Item) -> BoundUpdate | None:
        """The same with another key and other values: what depends on neither is not checked again. None unless they
        have the same names and types, and are texts and numbers in canonical form, or if the condition has to check
        more of them. Raises ValidationException."""
        bindings = None if self.bindings is None else self.bindings.with_values(values)
        if bindings is None or key.keys() != self.key.keys() or None in map(canonical_scalar_size, key.values()):
            return None
        change = None if self.change is None else self.change.with_bindings(bindings)
        condition = None
        if self.condition is not None:
            condition = self.condition.with_bindings(bindings)
            if condition is None:
                return None
        return BoundUpdate(self.request, self.table_name, key, bindings, change, condition)

    def write(self, core: Core, batch: WriteBatch) -> Answer:
        request, key, change, condition = self.request, self.key, self.change, self.condition
        table = core.catalog.require_in(batch, self.table_name)
        found = write.find(batch, table, key)
        write.check_update(table, change)
        check_scalar_keys(table, change, condition)
        write.check_condition(found, condition, request.return_values_on_condition_check_failure)
        new = write.apply_update(found, key, change)
        consumed = write.replace(batch, found, new)
        answer: Answer = {}
        attributes = attributes_of(request.return_values, found, change, new)
        if attributes is not None:
            answer["Attributes"] = attributes
        return add_write_metrics(batch, answer, request, consumed, key)


@detects_invalid_requests
def bind_update(request: UpdateItem) -> BoundUpdate:
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
    return BoundUpdate(request, name, key, bindings, change, condition)


def update_item(core: Core, request: UpdateItem) -> Work:
    bound = bind_update(request)
    work = partial(bound.write, core)
    return work if bound.condition is None else rehearsed(work, (bound.table_name, bound.key, bound.condition))


def _update(request: UpdateItem, bindings: Bindings | None) -> Update | None:
    if request.update_expression is not None and bindings is not None:
        return update(request.update_expression, bindings)
    if request.attribute_updates:
        return legacy.attribute_updates(to_members(request.attribute_updates))
    return None


def attributes_of(wanted: str | None, found: write.Found, change: Update | None, new: Normalised | None) -> Json | None:
    """`Attributes` of the answer; None if there are none to return."""
    part: Item = {}
    match wanted:
        case "ALL_OLD" if found.row is not None:
            return Json.item(found.row)
        case "ALL_NEW" if new is not None:
            return Json.of(new.item, new.binary)
        case "UPDATED_OLD" if change is not None:
            part = change.updated(found.item)
        case "UPDATED_NEW" if change is not None and new is not None:
            part = change.updated(new.item)
    return Json.of(part) if part else None


@detects_invalid_requests
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

    return work if condition is None else rehearsed(work, (name, key, condition))
