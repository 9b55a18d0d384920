"""Writes one entry of an item without reading the item, and creates the item if it does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from botocore.exceptions import ClientError

from sortkey.model.calls.arguments import require_path
from sortkey.model.calls.conditional_writes import row_of_failed_condition
from sortkey.model.calls.item_decoder import decode_written
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.updates import expression, revision_clause
from sortkey.model.changes.change_plan import plan_changes
from sortkey.model.changes.conditions import Where, attribute_of, requires_nothing
from sortkey.model.changes.operators import SET, Changes, Clause, Operator, by_name
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.changes.typed_field import F, FieldName
from sortkey.model.changes.version_tests import is_current
from sortkey.model.changes.write_conditions import ItemCondition, newer_entry
from sortkey.model.errors import EncodeError, ItemMissing, KeyChange, UnknownField, Unsupported
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.entries import Assignment, E, Entries
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema

T = TypeVar("T")


class PutEntryResult(NamedTuple, Generic[T]):
    """Whether the entry was written, and the item as it is now."""

    written: bool
    item: T


class EntryPut(NamedTuple, Generic[T]):
    """The entry to write, what to change with it, and the condition."""

    path: AccessPath[T]
    entry: Assignment
    changes: Changes
    where: Where | None


def assignment(entries: Entries[E], name: str, entry: E, newer_by: FieldName) -> Assignment:
    if not isinstance(newer_by, F):
        return entries.assignment(name, entry, newer_by)
    if not issubclass(entries.struct, newer_by.owner):
        raise UnknownField(f"{newer_by.owner.__name__}.{newer_by.name} is not a field of {entries.struct.__name__}")
    return entries.assignment(name, entry, newer_by.name)


def put_entry(context: Context, put: EntryPut[T]) -> Steps[PutEntryResult[T]]:
    require_path(put.path)
    schema: Schema[Any] = put.path.schema
    stamps, changes = schema.stamps, by_name(schema, put.changes)
    if stamps is None:
        return (yield from _put_to_any(context, put))
    now = context.moment
    changes = {**dict.fromkeys(stamps.updated, now), **changes}
    put, creation = put._replace(changes=changes), {**dict.fromkeys(stamps.created, now), **changes}
    if creation.keys() == changes.keys():
        return (yield from _put_to_any(context, put))
    return (yield from _put_or_create(context, put, put._replace(changes=creation)))


def _put_to_any(context: Context, put: EntryPut[T]) -> Steps[PutEntryResult[T]]:
    """Writes the entry to the item, which may be new."""
    result = yield from _send(context, put)
    if result is None:
        raise _no_match(put)
    return result


def _put_or_create(context: Context, put: EntryPut[T], creation: EntryPut[T]) -> Steps[PutEntryResult[T]]:
    """Writes the entry by `put` if the item exists, and otherwise by `creation`: no update can set an attribute only if
    it creates the item, and a row that is older than `sk.created` must not get a false one."""
    attempt = 0
    while True:
        result = yield from _send(context, put, exists=True)
        if result is not None:
            return result
        result = yield from _send(context, creation, exists=False)
        if result is None:
            raise _no_match(put)
        if result.written:
            return result
        # Another writer has created the item first.
        yield context.pacing.pause(attempt)
        attempt += 1


def _send(context: Context, put: EntryPut[T], exists: bool | None = None) -> Steps[PutEntryResult[T] | None]:
    """The result; None if the condition failed because there is no item. If the store cannot apply an operator to the
    row, because the field is NULL, the write is sent again, with the value that the program computes."""
    path, attempt = put.path, -1
    members = request(put, exists, None)
    while True:
        try:
            answer = yield from context.send(
                "UpdateItem", members | {"ReturnValues": "ALL_NEW"}, f"put entry {path.entity}"
            )
        except ClientError as error:
            found = row_of_failed_condition(error)
            if found is None:
                return None
            item = _current(path.schema, found)
            _require_readable(put, found)
            again = request(put, exists, found)
            if exists is False or again == members:
                return PutEntryResult(False, item)
            members = again
        else:
            return PutEntryResult(True, decode_written(path.schema, answer["Attributes"], path, "has a new entry"))
        # The first request was a question. If the one made for the row that it found fails, another writer was quicker.
        if attempt >= 0:
            yield context.pacing.pause(attempt)
        attempt += 1


def _require_readable(put: EntryPut[Any], row: Row) -> None:
    """Raises DecodeError for a stored entry that the program cannot read: whether it is older is not known."""
    stored = row.get(put.entry.attribute)
    if stored is not None:
        put.entry.read(stored)


def _current(schema: Schema[Any], row: Row) -> Any:
    """The item of a row that was not written. Raises DecodeError for a row of a newer version."""
    item = schema.decode(row)
    if schema.is_outdated(row):
        mark = f"a row of {schema.name} has {VERSION_ATTRIBUTE}, which rows of version {schema.version} do not have"
        raise Unsupported(f"{mark}, and put_entry does not rewrite it; write it anew with db.put")
    return item


def _no_match(put: EntryPut[Any]) -> ItemMissing:
    return ItemMissing(f"{put.path!r} does not exist, and a new item does not match {put.where}")


def request(put: EntryPut[Any], exists: bool | None, row: Row | None) -> dict[str, Any]:
    """The UpdateItem. It also sets the fields of the key if they are absent, because it may create the item. With
    `exists`, it is made only if the item exists, or only if it does not. `row` is the item's row if it is known."""
    path = put.path
    schema: Schema[Any] = path.schema
    changes = by_name(schema, put.changes)
    _reject_impossible(schema, changes)
    placeholders = Placeholders()
    entry = Clause(SET, f"{placeholders.name(put.entry.attribute)} = {placeholders.value(put.entry.value)}")
    changed = _changes(schema, path, changes, row, placeholders)
    clauses = [entry, *changed.clauses, *revision_clause(schema, placeholders)]
    tests = [newer_entry(put.entry, placeholders), *changed.tests]
    if exists is not None:
        test = "attribute_exists" if exists else "attribute_not_exists"
        tests.append(f"{test}({placeholders.name(schema.primary.partition.name)})")
    if put.where is not None and not requires_nothing(put.where):
        condition = ItemCondition(schema, put.where, path.given)
        tests.append(condition.test_of_any(placeholders, if_missing=condition.holds_if_new))
    else:
        tests.append(is_current(schema, placeholders))
    return placeholders.added_to(
        {
            "TableName": path.table,
            "Key": path.key(),
            "UpdateExpression": expression(clauses),
            "ConditionExpression": all_of(tests),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    )


class _Changed(NamedTuple):
    clauses: list[Clause]
    tests: list[str]
    """That the store can apply the operators, and that what the program applied them to is unchanged."""


def _changes(
    schema: Schema[Any], path: AccessPath[Any], changes: Mapping[str, Any], row: Row | None, placeholders: Placeholders
) -> _Changed:
    operators = {name: change for name, change in changes.items() if isinstance(change, Operator)}
    assigned = {name: change for name, change in changes.items() if name not in operators}
    tests = []
    if row is not None:
        item = schema.decode(row)
        for name, operator in list(operators.items()):
            attribute = attribute_of(schema, name)
            if not operator.applies_to(row.get(attribute)):
                del operators[name]
                assigned[name] = operator.apply(getattr(item, name))
                tests.append(placeholders.equal(attribute, row.get(attribute)))
    for name, operator in operators.items():
        tests += operator.tests(schema, name, placeholders)
    planned = plan_changes(schema, assigned, {})
    clauses = [
        *_key_fields(schema, path, placeholders),
        *(
            Clause(SET, f"{placeholders.name(name)} = {placeholders.value(value)}")
            for name, value in planned.sets.items()
        ),
        *(Clause("REMOVE", placeholders.name(name)) for name in planned.removes),
        *(each for name, operator in operators.items() for each in operator.clauses(schema, name, placeholders)),
    ]
    return _Changed(clauses, tests)


def _key_fields(schema: Schema[Any], path: AccessPath[Any], placeholders: Placeholders) -> Iterator[Clause]:
    """Sets the fields of the key, for a new item. An attribute that disagrees with the key is left alone."""
    for field, given in path.given.items():
        attribute = schema.codec.by_name[field].attribute
        value = schema.codec.encode_field(field, given)
        if value is not None and field not in schema.codec.in_key and attribute not in schema.key_attributes:
            name = placeholders.name(attribute)
            yield Clause(SET, f"{name} = if_not_exists({name}, {placeholders.value(value)})")


def _reject_impossible(schema: Schema[Any], changes: Mapping[str, Any]) -> None:
    if schema.indexes or schema.version > 1 or schema.tag is not None or schema.computed:
        kinds = {
            "indexes": bool(schema.indexes),
            "versions": schema.version > 1,
            "a tag": schema.tag is not None,
            "computed fields": bool(schema.computed),
        }
        kind = next(kind for kind, is_there in kinds.items() if is_there)
        reason = f"{kind}, so an item must be read before it is changed"
        raise Unsupported(f"{schema.name} has {reason}; put_entry does not read")
    for name, change in changes.items():
        if name in schema.primary.fields:
            raise KeyChange(f"{schema.name}.{name} is part of the primary key, which an update cannot change")
        attribute_of(schema, name)
        if isinstance(change, Operator) and change.needs_value(schema, name):
            raise Unsupported(f"{schema.name}.{name}: {change!r} needs the stored set; put_entry does not read")
    lacking = sorted(schema.codec.required - {*schema.primary.fields, schema.revision} - changes.keys())
    if lacking:
        raise EncodeError(f"{schema.name}: a new item with this entry would lack {', '.join(lacking)}")
