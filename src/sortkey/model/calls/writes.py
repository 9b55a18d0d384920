"""Writes of whole items: put, delete, and batches of both."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from datetime import datetime
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from sortkey.limits import BATCH_WRITE_REQUESTS
from sortkey.model.calls.arguments import require_item, require_path, require_several
from sortkey.model.calls.conditional_writes import ConditionalWrite, Prepared, carry_out, of_another_class, tag_tests
from sortkey.model.calls.item_decoder import Identity, decode_row, decode_written, identifier
from sortkey.model.calls.skipped_rows import key_text
from sortkey.model.calls.steps import THROTTLED, Answer, Call, Context, ParallelCalls, Steps, code_of
from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.changes.version_tests import is_current_or_missing
from sortkey.model.changes.write_conditions import (
    ItemCondition,
    Matching,
    PutCondition,
    PutOptions,
    SameVersion,
    Together,
    put_condition,
    unchanged,
)
from sortkey.model.costs.meter import units_of
from sortkey.model.errors import ConditionFailed, ItemMissing, Unsupported
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, replace
from sortkey.model.items.schema import Schema
from sortkey.model.items.stamps import Stamps, computed_item, keep_stamps, stamped_item

T = TypeVar("T")


Write = tuple[str, Row]
"""A table's name, and a PutRequest or DeleteRequest of a batch."""

_UNCONDITIONAL: Final = PutOptions()


class NotPut(ConditionFailed):
    """Inside of `put`, which returns False for it."""


class Put(ConditionalWrite):
    def __init__(
        self, schema: Schema[Any], item: Item, options: PutOptions, condition: PutCondition | None = None
    ) -> None:
        """`condition` is that of the options, where it is known already: it does not depend on the item."""
        self.schema = schema
        self.item = item
        self._known = condition
        self.metered = f"put {schema.name}"
        self._options = options
        self.stored = computed_item(schema.computed, item) if schema.computed else item
        """The item as it is stored: with its stamps, once it has them."""
        self._is_stamped = False
        self._for_any_row: dict[str, Any] | None = None
        """The last request, if it was one for any row that the store can judge."""
        self.written_item = item
        """The same, with the revision that is written."""
        self.size: int | None = None
        """Of the row, if it was measured: then it is canonical, and has no binary."""
        self._encode()
        self.key = {part.name: self.row[part.name] for part in schema.primary.attributes}

    @property
    def description(self) -> str:
        return f"put of {self.schema.name}"

    def detail(self, row: Row | None) -> str:
        if self.condition is None or not self.condition.raises or self.condition.counted is None:
            return ""
        field, revision = self.condition.counted
        stored = (row or {}).get(self.schema.codec.by_name[field].attribute)
        found = "does not exist" if row is None else f"has {'none' if stored is None else next(iter(stored.values()))}"
        return f" ({field} is {revision - 1}, and the stored item {found}: {key_text(self.schema, self.key)})"

    def _encode(self) -> None:
        item = self.stored
        condition = self._known or put_condition(self.schema, item, self._options)
        self.condition = condition
        if condition is not None and condition.counted is not None:
            field, revision = condition.counted
            item = replace(item, **{field: revision})
        self.written_item = item
        measured = None if self.schema.writer is None else self.schema.writer(item)
        self.row, self.size = (self.schema.encode(item), None) if measured is None else measured

    def detach(self) -> None:
        # Without stamps, the item is encoded already, and for good.
        if self.schema.stamps is not None:
            self.stored = deepcopy(self.item)

    def stamp(self, now: datetime) -> None:
        if self.schema.stamps is not None and not self._is_stamped:
            self.stored = stamped_item(self.schema.codec, self.schema.stamps, self.stored, now)
            self._is_stamped = True
            self._encode()

    def prepare(self, row: Row | None) -> Prepared:
        members: dict[str, Any] = {"TableName": self.schema.table, "Item": self.row}
        if self.condition is None:
            return Prepared("Put", members)
        placeholders = Placeholders()
        is_known = row is not None and self.schema.needs_program(row)
        if row is not None and is_known:
            members["ConditionExpression"] = all_of(unchanged(self.schema, row, placeholders))
        else:
            members["ConditionExpression"] = all_of(self._tests(self.condition, placeholders))
        if self.condition.raises or self.condition.compares:
            members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        prepared = Prepared("Put", placeholders.added_to(members))
        if not is_known:
            self._for_any_row = prepared.members
        return prepared

    def is_settled(self, sent: dict[str, Any], row: Row) -> bool:
        return sent is self._for_any_row and not self.schema.needs_program(row)

    def _tests(self, condition: PutCondition, placeholders: Placeholders) -> list[str]:
        tests = [condition.test(placeholders)]
        if not condition.compares:
            return tests
        tests.append(is_current_or_missing(self.schema, placeholders))
        return [*tests, *tag_tests(self.schema, placeholders, compares=True)]

    def accepts(self, row: Row) -> bool:
        return self.condition is not None and self.condition.accepts(decode_row(self.schema, row))

    def rejected(self, row: Row | None) -> ConditionFailed:
        condition = self.condition
        if isinstance(condition, Together):
            if row is not None and not self.schema.has_own_tag(row):
                condition = condition.revision
            else:
                condition = condition.failed(None if row is None else decode_row(self.schema, row))
        if not isinstance(condition, Matching | SameVersion):
            if row is not None and condition is not None and not self.schema.needs_program(row):
                condition.require_readable(row)
            return NotPut(f"{self.schema.name} was not put")
        stored = None if row is None else decode_row(self.schema, row)
        if stored is not None and not isinstance(stored, self.schema.owner):
            return ConditionFailed(f"{self.description}: the stored item is a {type(stored).__name__}", stored)
        if isinstance(condition, Matching):
            found = f"the stored {self.schema.name}" if stored is not None else f"a missing {self.schema.name}"
            return ConditionFailed(f"{found} does not match {condition.where}", stored)
        field, version = condition.field, condition.version
        found = "the item does not exist" if stored is None else f"the stored item has {getattr(stored, field, None)}"
        return ConditionFailed(
            f"{self.schema.name}.{field} is {version}, but {found}: {key_text(self.schema, self.key)}", stored
        )

    def written(self) -> None:
        """Called once the put was made: increments the version and sets the stamps, unless the class is frozen."""
        if self.schema.stamps is not None:
            keep_stamps(self.schema.stamps, self.item, self.stored)
        counted = None if self.condition is None else self.condition.counted
        if counted is not None and not type(self.item).__struct_config__.frozen:
            setattr(self.item, *counted)


def put(context: Context, item: Item, options: PutOptions) -> Steps[bool]:
    """Whether the item was written."""
    require_item(item)
    schema = context.schema(type(item))
    if schema.revision is None and options == _UNCONDITIONAL:
        stored = item if schema.stamps is None else stamped(schema, item, context.moment)
        members = {"TableName": schema.table, "Item": schema.encode(stored)}
        yield from context.send("PutItem", members, f"put {schema.name}")
        if schema.stamps is not None:
            keep_stamps(schema.stamps, item, stored)
        return True
    write = Put(schema, item, options)
    try:
        yield from carry_out(context, write)
    except NotPut:
        return False
    write.written()
    return True


def stamped(schema: Schema[Any], item: Item, now: datetime) -> Item:
    """The item as a put at this time stores it."""
    stamps = schema.stamps
    return item if stamps is None else stamped_item(schema.codec, stamps, item, now)


def reject_revision(schema: Schema[Any], what: str) -> None:
    """Raises Unsupported for puts that would not test the revision of a class that has one."""
    if schema.revision is not None:
        raise Unsupported(
            f"{schema.name}.{schema.revision} is sk.version, which {what} cannot test; use db.put or a transaction"
        )


class DeleteOrCheck(ConditionalWrite):
    """A delete, or the check of a transaction: an item's key and a condition."""

    def __init__(self, action: str, path: AccessPath[Any], where: Where | None) -> None:
        require_path(path)
        self.action = action
        self.path = path
        self.key = path.key()
        self.schema: Schema[Any] = path.schema
        self.condition = ItemCondition(path.schema, where, path.given)
        self.metered = f"delete {path.entity}"

    @property
    def description(self) -> str:
        return f"{'delete' if self.action == 'Delete' else 'check'} of {self.path!r}"

    def prepare(self, row: Row | None) -> Prepared:
        members: dict[str, Any] = {"TableName": self.path.table, "Key": self.key}
        placeholders = Placeholders()
        is_known = row is not None and self.schema.needs_program(row)
        tests = tag_tests(self.schema, placeholders, compares=not (self.condition.is_empty or is_known))
        if not self.condition.is_empty:
            tests.append(self._test(row, placeholders))
        if not tests:
            return Prepared(self.action, members)
        members["ConditionExpression"] = all_of(tests)
        members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return Prepared(self.action, placeholders.added_to(members))

    def _test(self, row: Row | None, placeholders: Placeholders) -> str:
        if row is not None and self.schema.needs_program(row):
            return all_of(unchanged(self.schema, row, placeholders))
        # There must be an item to delete.
        if_missing = self.action != "Delete" and self.condition.holds_if_missing
        return self.condition.test_of_any(placeholders, if_missing=if_missing)

    def accepts(self, row: Row) -> bool:
        return self.condition.accepts(decode_row(self.schema, row))

    def rejected(self, row: Row | None) -> ConditionFailed:
        if row is not None and not self.schema.has_own_tag(row):
            return of_another_class(self.path, row)
        if row is None:
            what = "is not deleted" if self.action == "Delete" else f"does not match {self.condition.where}"
            return ItemMissing(f"{self.path!r} does not exist, so it {what}")
        return ConditionFailed(f"{self.path!r} does not match {self.condition.where}", decode_row(self.schema, row))


def delete(context: Context, path: AccessPath[T], where: Where | None) -> Steps[T | None]:
    """The item as it was before."""
    require_path(path)
    if requires_nothing(where) and path.schema.required_tags is None:
        members = {"TableName": path.table, "Key": path.key(), "ReturnValues": "ALL_OLD"}
        answer = yield from context.send("DeleteItem", members, f"delete {path.entity}")
    else:
        _, answer = yield from carry_out(context, DeleteOrCheck("Delete", path, where), returning="ALL_OLD")
    row = answer.get("Attributes")
    item: T | None = None if row is None else decode_written(path.schema, row, path, "was deleted")
    return item


def batch(context: Context, put: Iterable[Item], delete: Iterable[AccessPath[Any]]) -> Steps[None]:
    """Writes without a transaction, in no order; the last of several writes to one item wins."""
    pending: dict[tuple[str, Identity], tuple[str, dict[str, Any]]] = {}
    with_stamps: list[tuple[Stamps, Item, Item]] = []
    require_several(put, "items")
    require_several(delete, "access paths")
    now = context.moment
    for item in put:
        require_item(item)
        schema = context.schema(type(item))
        reject_revision(schema, "a batch")
        stored = stamped(schema, item, now)
        row = schema.encode(stored)
        if schema.stamps is not None:
            with_stamps.append((schema.stamps, item, stored))
        pending[schema.table, identifier(schema.primary)(row)] = (schema.table, {"PutRequest": {"Item": row}})
    for path in delete:
        require_path(path)
        if path.schema.required_tags is not None:
            raise Unsupported(
                f"{path!r}: an item of another class may have this key, and a batch cannot test the tag; use "
                f"db.delete, which does, or delete_all"
            )
        key = path.key()
        pending[path.table, identifier(path.primary)(key)] = (path.table, {"DeleteRequest": {"Key": key}})
    yield from write_all(context, list(pending.values()))
    for stamps, item, stored in with_stamps:
        keep_stamps(stamps, item, stored)


def write_all(context: Context, writes: list[Write], metered: str | None = None) -> Steps[float]:
    """Sends writes, each with its table, until all are done; returns the capacity units that they took."""
    units = 0.0
    attempt = 0
    while writes:
        calls = batch_write_calls(context, writes, metered)
        results = yield ParallelCalls(calls)
        units += sum(units_of(result.get("ConsumedCapacity")) for result in results if isinstance(result, dict))
        left = [write for call, result in zip(calls, results, strict=True) for write in unprocessed(call, result)]
        if left:
            attempt = attempt + 1 if len(left) == len(writes) else 0
            yield context.pacing.pause(attempt)
        writes = left
    return units


def batch_write_calls(context: Context, writes: list[Write], metered: str | None) -> tuple[Call, ...]:
    """The requests for these writes."""
    starts = range(0, len(writes), BATCH_WRITE_REQUESTS)
    return tuple(_batch_write_call(context, writes[at : at + BATCH_WRITE_REQUESTS], metered) for at in starts)


def _batch_write_call(context: Context, writes: list[Write], metered: str | None) -> Call:
    tables: dict[str, list[Row]] = {}
    for table, write in writes:
        tables.setdefault(table, []).append(write)
    return context.call("BatchWriteItem", {"RequestItems": tables}, metered or f"batch {', '.join(sorted(tables))}")


def unprocessed(call: Call, result: Answer | ClientError) -> list[Write]:
    """The writes to send again."""
    if isinstance(result, ClientError):
        if code_of(result) not in THROTTLED:
            raise result
        tables = call.members["RequestItems"]
    else:
        tables = result.get("UnprocessedItems", {})
    return [(table, write) for table, writes in tables.items() for write in writes]
