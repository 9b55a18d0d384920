"""Partial updates that keep index keys up to date.

`model.changes` plans what a change does to index keys. If the plan needs fields that are neither changed nor part of
the primary key, the item is read first, and the update is conditional on what was read. A row of an older version is
upgraded by the same update.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

from msgspec import NODEFAULT

from sortkey.model.calls.conditional_writes import ConditionalWrite, Prepared, carry_out, of_another_class
from sortkey.model.calls.item_decoder import decode_row, decode_written
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.writes import NotPut, Put
from sortkey.model.changes.change_plan import ChangePlan, Results, plan_changes
from sortkey.model.changes.conditions import Where, attribute_of
from sortkey.model.changes.operators import SET, Changes, Clause, Operator, PlaceMissing, by_field
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.changes.row_rewrite import keep_undeclared_in, rewrite_row
from sortkey.model.changes.version_tests import is_current
from sortkey.model.changes.write_conditions import ItemCondition, PutOptions
from sortkey.model.errors import ConditionFailed, EncodeError, ItemMissing, KeyChange
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import NULL
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import replace
from sortkey.model.items.schema import Schema

T = TypeVar("T")

PLAIN_REQUESTS: Final = 512
_SECTIONS: Final = ("SET", "REMOVE", "ADD", "DELETE")


class Update(ConditionalWrite):
    def __init__(self, path: AccessPath[Any], changes: Changes, where: Where | None) -> None:
        self.path = path
        self.key = path.key()
        self.schema: Schema[Any] = path.schema
        self.metered = f"update {path.entity}"
        self.condition = ItemCondition(path.schema, where, path.given)
        fields = by_field(path.schema, changes)
        if not fields:
            raise ValueError(f"an update of {path!r} changes nothing")
        self.operators: dict[str, Operator] = {}
        self.assigned: dict[str, Any] = {}
        for name, value in fields.items():
            if isinstance(value, Operator):
                self.operators[name] = value
            else:
                self.assigned[name] = value
        for name in self.operators:
            if name in self.schema.primary.fields:
                raise KeyChange(f"{self.schema.name}.{name} is part of the primary key, which an update cannot change")
            if name not in self.schema.index_sources:
                attribute_of(self.schema, name)
        self.computed = frozenset(
            name
            for name, operator in self.operators.items()
            if name in self.schema.recomputed or operator.needs_value(self.schema, name)
        )
        """The fields whose operators are applied here, so that they must be known."""
        self._results: Results = {}
        self._plan = self._planned()
        """What can be planned without the row; impossible changes are rejected before anything is sent."""
        self._first: dict[str, Any] | None = None
        """The request that was made without the row."""
        self._moment: datetime | None = None
        """The time of the stamps, also for those that only a subclass has."""

    @property
    def description(self) -> str:
        return f"update of {self.path!r}"

    def detach(self) -> None:
        self.assigned, self.operators = deepcopy((self.assigned, self.operators))

    def stamp(self, now: datetime) -> None:
        self._moment = now
        stamps = self.schema.stamps
        missing = [] if stamps is None else [name for name in stamps.updated if name not in self._changed]
        if missing:
            self.assigned |= dict.fromkeys(missing, now)
            self._plan = self._planned()

    def _planned(self) -> ChangePlan:
        operated = self.operators.keys() - self.computed
        return plan_changes(self.schema, self.assigned, self.path.given, operated=operated, results=self._results)

    @property
    def _changed(self) -> set[str]:
        """The fields that it changes."""
        return {*self.assigned, *self.operators}

    def prepare(self, row: Row | None) -> Prepared | None:
        if row is None:
            if self.computed or self._plan.reads:
                return None
            self._first = self._members(self._plan, self.computed, None)
            return Prepared("Update", self._first)
        if not self.schema.has_own_tag(row):
            raise of_another_class(self.path, row)
        if (own := self.schema.of_row(row)) is not self.schema:
            return self._of_subclass(own).prepare(row)
        if self.schema.is_outdated(row):
            return Prepared("Update", self._upgraded(row))
        known = self._fields(row)
        computed = self.computed.union(
            name for name, operator in self.operators.items() if not operator.applies_to(row.get(self._attribute(name)))
        )
        values = {name: self._applied(name, known[name], row) for name in computed}
        operated = self.operators.keys() - computed
        changes = {**self.assigned, **values}
        planned = plan_changes(self.schema, changes, known, row, operated=operated, results=self._results)
        for name in computed:
            keep_undeclared_in(planned.sets, row, self.schema.codec.by_name[name])
        return Prepared("Update", self._members(planned, computed, row))

    def _of_subclass(self, schema: Schema[Any]) -> Update:
        """The same update of an item of a subclass, whose index keys may be others."""
        path: AccessPath[Any] = getattr(schema.owner, schema.primary.name)(**self.path.given)
        changes = {**self.assigned, **self.operators}
        update = Update(path.joined() if schema.is_joined else path, changes, self.condition.where)
        if self._moment is not None:
            update.stamp(self._moment)
        return update

    def is_settled(self, sent: dict[str, Any], row: Row) -> bool:
        """Handles the common case: the first request failed on a row that has all that it requires besides `where`."""
        if sent is not self._first or self.schema.is_outdated(row) or self.schema.family is not None:
            return False
        return all(name in row for name in self._plan.beside) and all(
            operator.applies_to(row.get(self._attribute(name))) for name, operator in self.operators.items()
        )

    def accepts(self, row: Row) -> bool:
        return self.condition.accepts(decode_row(self.schema, row))

    def rejected(self, row: Row | None) -> ConditionFailed:
        if row is None:
            return ItemMissing(f"{self.path!r} does not exist")
        if not self.schema.has_own_tag(row):
            return of_another_class(self.path, row)
        return ConditionFailed(f"{self.path!r} does not match {self.condition.where}", decode_row(self.schema, row))

    def new_item(self) -> Any:
        """The item that the changes make of nothing: the fields of the key, defaults and changes. Raises EncodeError if
        it would lack a field."""
        codec = self.schema.codec
        values = {**self.path.given, **self.assigned}
        for name, operator in self.operators.items():
            default = codec.if_absent(name)
            try:
                values[name] = operator.apply(None if default is NODEFAULT else default)
            except PlaceMissing as error:
                raise EncodeError(f"{self.schema.name}: a new item would have no {error}") from None
        gaps = {name: codec.if_absent(name) for name in codec.required - values.keys()}
        lacking = sorted(name for name, value in gaps.items() if value is NODEFAULT)
        if lacking:
            raise EncodeError(
                f"{self.schema.name}: a new item would lack {', '.join(lacking)}; add them to the changes"
            )
        return self.schema.owner(**values, **gaps)

    def _fields(self, row: Row) -> dict[str, Any]:
        item = decode_row(self.schema, row)
        return {name: getattr(item, name) for name in self.schema.codec.by_name}

    def _attribute(self, field: str) -> str:
        return self.schema.codec.by_name[field].attribute

    def _members(self, planned: ChangePlan, computed: frozenset[str], row: Row | None) -> dict[str, Any]:
        if self.condition.is_empty and not (self.operators or planned.guards or planned.beside):
            return self._plain_members(planned)
        placeholders = Placeholders()
        conditions = self.condition.tests(placeholders)
        clauses = _assignments(placeholders, planned.sets, planned.removes)
        clauses += revision_clause(self.schema, placeholders)
        operators = [(name, operator) for name, operator in self.operators.items() if name not in computed]
        for name, operator in operators:
            clauses += operator.clauses(self.schema, name, placeholders)
        tests = [_there(self.schema, placeholders)]
        read = [*planned.guards, *(each for name in sorted(computed) for each in self.schema.attributes_with(name))]
        tests += [placeholders.equal(name, (row or {}).get(name)) for name in read]
        tests += [placeholders.exists(name, sorted(absent)) for name, absent in planned.beside.items()]
        for name, operator in operators:
            tests += operator.tests(self.schema, name, placeholders)
        tests += _class_tests(self.schema, placeholders)
        tests += conditions
        return placeholders.added_to(
            {
                "TableName": self.path.table,
                "Key": self.key,
                "UpdateExpression": expression(clauses),
                "ConditionExpression": all_of(tests),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        )

    def _plain_members(self, planned: ChangePlan) -> dict[str, Any]:
        """Handles the common case: the update sets and removes attributes, and depends on nothing in the row."""
        plain = _plain_request(self.schema, tuple(planned.sets), planned.removes)
        members = {"TableName": self.path.table, "Key": self.key, **plain}
        values = plain.get("ExpressionAttributeValues")
        if values is not None:
            members["ExpressionAttributeValues"] = {**values, **dict(zip(values, planned.sets.values(), strict=False))}
        return members

    def _applied(self, name: str, current: Any, row: Row) -> Any:
        """The value of a field after its operator. Raises ConditionFailed if it changes a place that is not there."""
        try:
            return self.operators[name].apply(current)
        except PlaceMissing as error:
            raise ConditionFailed(f"{self.path!r} has no {error}", self.schema.decode(row)) from None

    def _upgraded(self, row: Row) -> dict[str, Any]:
        """The UpdateItem of a row of an older version, if nothing in it has changed."""
        item = decode_row(self.schema, row)
        values = {name: self._applied(name, getattr(item, name), row) for name in self.operators}
        changed = replace(item, **self.assigned, **values)
        following = {field.name: field.of(changed) for field in self.schema.computed}
        if (revision := self.schema.revision) is not None:
            following[revision] = getattr(item, revision) + 1
        if following:
            changed = replace(changed, **following)
        sets, removes, guards = rewrite_row(self.schema, row, changed, assigned=self.assigned)
        placeholders = Placeholders()
        tests = [
            _there(self.schema, placeholders),
            *(placeholders.equal(name, value) for name, value in guards.items()),
        ]
        if not self.condition.accepts(item):
            # The store rejects it, in a transaction together with what else it rejects.
            tests.append(placeholders.equal(self.schema.primary.partition.name, None))
        clauses = _assignments(placeholders, sets, removes)
        return placeholders.added_to(
            {
                "TableName": self.path.table,
                "Key": self.key,
                "UpdateExpression": expression(clauses),
                "ConditionExpression": all_of(tests),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        )


@lru_cache(PLAIN_REQUESTS)
def _plain_request(schema: Schema[Any], sets: tuple[str, ...], removes: tuple[str, ...]) -> dict[str, Any]:
    """What all updates have in common that only set and remove these attributes. The placeholders of the values that
    are set come first."""
    placeholders = Placeholders()
    clauses = _assignments(placeholders, dict.fromkeys(sets, NULL), removes)
    clauses += revision_clause(schema, placeholders)
    tests = [_there(schema, placeholders), *_class_tests(schema, placeholders)]
    return placeholders.added_to(
        {
            "UpdateExpression": expression(clauses),
            "ConditionExpression": all_of(tests),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    )


def _assignments(placeholders: Placeholders, sets: Row, removes: Iterable[str]) -> list[Clause]:
    return [
        *(Clause(SET, f"{placeholders.name(name)} = {placeholders.value(value)}") for name, value in sets.items()),
        *(Clause("REMOVE", placeholders.name(name)) for name in removes),
    ]


def _there(schema: Schema[Any], placeholders: Placeholders) -> str:
    # Without this, an update of a missing item would create one with only some attributes.
    return f"attribute_exists({placeholders.name(schema.primary.partition.name)})"


def _class_tests(schema: Schema[Any], placeholders: Placeholders) -> list[str]:
    """That the row is of this version, and of this class if others may have its key."""
    tests = [is_current(schema, placeholders)]
    if schema.tag is not None:
        tests.append(placeholders.equal(schema.tag.attribute, schema.tag.value))
    return tests


def revision_clause(schema: Schema[Any], placeholders: Placeholders) -> list[Clause]:
    """The clause that adds one to the revision of an item, if its class has one."""
    if schema.revision is None:
        return []
    attribute = schema.codec.by_name[schema.revision].attribute
    return [Clause("ADD", f"{placeholders.name(attribute)} {placeholders.value({'N': '1'})}")]


def expression(clauses: Iterable[Clause]) -> str:
    """The UpdateExpression: the clauses by section."""
    sections: dict[str, list[str]] = {}
    for section, text in clauses:
        sections.setdefault(section, []).append(text)
    return " ".join([f"{section} {', '.join(sections[section])}" for section in _SECTIONS if section in sections])


def update(context: Context, path: AccessPath[T], changes: Changes, where: Where | None) -> Steps[T]:
    """The item after the update."""
    return (yield from _updated(context, path, Update(context.adapt(path), changes, where)))


def upsert(context: Context, path: AccessPath[T], changes: Changes) -> Steps[T]:
    """The item after the update, or the new item."""
    wanted = Update(context.adapt(path), changes, None)
    new = wanted.new_item()
    attempt = 0
    while True:
        try:
            return (yield from _updated(context, path, wanted))
        except ItemMissing:
            creation = Put(wanted.schema, new, PutOptions(if_absent=True))
        try:
            yield from carry_out(context, creation)
        except NotPut:
            # Another writer has created the item first, so it is updated.
            pass
        else:
            return cast(T, creation.written_item)
        yield context.pacing.pause(attempt)
        attempt += 1


def _updated(context: Context, path: AccessPath[T], wanted: Update) -> Steps[T]:
    _, answer = yield from carry_out(context, wanted, returning="ALL_NEW", unparsed=True)
    item: T = decode_written(wanted.schema, answer["Attributes"], path, "was updated")
    return item
