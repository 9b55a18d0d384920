"""Partial updates that keep index keys up to date.

`model.changes` plans what a change does to index keys. If the plan needs fields that are neither changed nor part of
the primary key, the item is read first, and the update is conditional on what was read. If that condition fails, the
error holds the current item, and the update is planned again from it: one read at most, however many attempts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from botocore.exceptions import ClientError

from sortkey.model.changes.change_plan import ChangePlan, plan_changes
from sortkey.model.changes.conditions import Where, attribute_of, render_conditions
from sortkey.model.changes.operators import SET, Clause, Operator
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.errors import ConditionFailed, ItemMissing, KeyChange
from sortkey.model.items.codec import Row
from sortkey.model.items.converter import Value
from sortkey.model.items.item import replace
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema
from sortkey.model.paths.access_path import Path
from sortkey.model.sessions.steps import Context, Steps
from sortkey.model.sessions.writes import row_of_failed_condition

T = TypeVar("T")
Changes = Mapping[str, Any]

_SECTIONS: Final = ("SET", "REMOVE", "ADD", "DELETE")


class Prepared(NamedTuple):
    """An update that is ready to be sent."""

    members: dict[str, Any]
    guards: dict[str, Value | None]
    """Attributes that must still be as they were read; None for absent."""


class Update:
    """One update, prepared from what is known about the item."""

    def __init__(self, path: Path[Any], changes: Changes, where: Where | None) -> None:
        if not changes:
            raise ValueError(f"an update of {path!r} changes nothing")
        self.path = path
        self.key = path.key()
        self.schema: Schema[Any] = path.schema
        self.metered = f"update {path.entity}"
        self.where = where
        self.changes = changes
        self.assigned = {name: value for name, value in changes.items() if not isinstance(value, Operator)}
        self.operators = {name: value for name, value in changes.items() if isinstance(value, Operator)}
        # Operators on fields of index keys are computed here, so the fields must be known.
        self.computed = self.operators.keys() & self.schema.recomputed
        # Reject impossible changes before anything is sent.
        self._plan_changes({}, {})
        for name in self.operators:
            if name in self.schema.primary.fields:
                raise KeyChange(f"{self.schema.name}.{name} is part of the primary key, which an update cannot change")
            attribute_of(self.schema, name)

    def prepare(self, row: Row | None) -> Prepared | None:
        """The update, from the item's row if it was read; None if it must be read first."""
        known = dict(self.path.given) if row is None else self._fields(row)
        if row is None and self.computed:
            return None
        computed = {name: self.operators[name].apply(known[name]) for name in self.computed}
        planned = self._plan_changes(computed, known)
        if planned.reads:
            return None
        read = row or {}
        attributes = [*planned.guards, *(self.schema.codec.by_name[name].attribute for name in sorted(self.computed))]
        guards = {attribute: read.get(attribute) for attribute in attributes}
        return Prepared(self._members(planned, guards), guards)

    def _fields(self, row: Row) -> dict[str, Any]:
        item = self.schema.decode(row)
        return {name: getattr(item, name) for name in self.schema.codec.by_name}

    def _plan_changes(self, computed: Changes, known: Mapping[str, Any]) -> ChangePlan:
        return plan_changes(self.schema, {**self.assigned, **computed}, known)

    def _members(self, planned: ChangePlan, guards: Mapping[str, Value | None]) -> dict[str, Any]:
        placeholders = Placeholders()
        clauses = [
            *(
                Clause(SET, f"{placeholders.name(name)} = {placeholders.value(value)}")
                for name, value in planned.sets.items()
            ),
            *(Clause("REMOVE", placeholders.name(name)) for name in planned.removes),
            *(
                operator.clause(self.schema, name, placeholders)
                for name, operator in self.operators.items()
                if name not in self.computed
            ),
        ]
        tests = self.tests(guards, placeholders)
        if planned.version is not None:
            tests.append(placeholders.equal(VERSION_ATTRIBUTE, {"N": str(planned.version)}))
        return placeholders.added_to(
            {
                "TableName": self.path.table,
                "Key": self.key,
                "UpdateExpression": expression(clauses),
                "ConditionExpression": all_of(tests),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        )

    def tests(self, guards: Mapping[str, Value | None], placeholders: Placeholders) -> list[str]:
        # Without this, an update of a missing item would create one with only some attributes.
        there = f"attribute_exists({placeholders.name(self.schema.primary.partition.name)})"
        kept = [placeholders.equal(name, value) for name, value in guards.items()]
        return [there, *kept, *render_conditions(self.schema, self.where, placeholders)]

    def is_outdated(self, row: Row) -> bool:
        """Whether the row has an older version of the schema, so that it must be replaced as a whole."""
        return self.schema.version > 1 and row.get(VERSION_ATTRIBUTE) != {"N": str(self.schema.version)}

    def upgraded(self, row: Row) -> dict[str, Any]:
        """The PutItem that replaces a row of an older version, if nothing in it has changed."""
        item = self.schema.decode(row)
        values = {name: operator.apply(getattr(item, name)) for name, operator in self.operators.items()}
        placeholders = Placeholders()
        tests = self.tests({name: row[name] for name in row if name not in self.key}, placeholders)
        return placeholders.added_to(
            {
                "TableName": self.path.table,
                "Item": self.schema.encode(replace(item, **self.assigned, **values)),
                "ConditionExpression": all_of(tests),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        )

    def missing(self) -> ItemMissing:
        return ItemMissing(f"{self.path!r} does not exist")

    def rejected(self, row: Row) -> ConditionFailed:
        return ConditionFailed(f"{self.path!r} does not match {dict(self.where or {})}", self.schema.decode(row))


def expression(clauses: Iterable[Clause]) -> str:
    """The UpdateExpression: the clauses by section."""
    sections: dict[str, list[str]] = {section: [] for section in _SECTIONS}
    for section, text in clauses:
        sections[section].append(text)
    return " ".join(f"{section} {', '.join(texts)}" for section, texts in sections.items() if texts)


def update(context: Context, path: Path[T], changes: Changes, where: Where | None) -> Steps[T]:
    """The item after the update."""
    wanted = Update(context.adapt(path), changes, where)
    row: Row | None = None
    attempt = 0
    while True:
        if row is not None and wanted.is_outdated(row):
            result = yield from _replace(context, wanted, row)
        else:
            prepared = wanted.prepare(row)
            if prepared is None:
                row = yield from read(context, wanted)
                continue
            result = yield from _send(context, wanted, prepared)
        if result.done:
            return _decoded(path, result.row)
        if not result.guarded:
            raise wanted.rejected(result.row)
        row = result.row
        yield context.pacing.pause(attempt)
        attempt += 1


class _Result(NamedTuple):
    done: bool
    row: Row
    guarded: bool = False
    """Whether the row has changed since it was read, so that the update is tried again."""


def read(context: Context, wanted: Update) -> Steps[Row]:
    """The item's current row."""
    members = {"TableName": wanted.path.table, "Key": wanted.key, "ConsistentRead": True}
    answer = yield from context.send("GetItem", members, wanted.metered)
    row: Row | None = answer.get("Item")
    if row is None:
        raise wanted.missing()
    return row


def _send(context: Context, wanted: Update, prepared: Prepared) -> Steps[_Result]:
    try:
        answer = yield from context.send("UpdateItem", {**prepared.members, "ReturnValues": "ALL_NEW"}, wanted.metered)
    except ClientError as error:
        row = _stored_row(error, wanted)
        return _Result(False, row, wanted.is_outdated(row) or not holds(prepared.guards, row))
    return _Result(True, answer["Attributes"])


def _replace(context: Context, wanted: Update, read: Row) -> Steps[_Result]:
    members = wanted.upgraded(read)
    try:
        yield from context.send("PutItem", members, wanted.metered)
    except ClientError as error:
        row = _stored_row(error, wanted)
        return _Result(False, row, row != read)
    return _Result(True, members["Item"])


def _stored_row(error: ClientError, wanted: Update) -> Row:
    """The row on which a condition failed; raises ItemMissing if there is none."""
    row = row_of_failed_condition(error)
    if row is None:
        raise wanted.missing() from None
    return row


def holds(guards: Mapping[str, Value | None], row: Row) -> bool:
    return all(row.get(attribute) == value for attribute, value in guards.items())


def _decoded(path: Path[T], row: Row) -> T:
    item: T = path.schema.decode(row)
    return item
