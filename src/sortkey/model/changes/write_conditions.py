"""The conditions of writes on one item: `where=`, and those of a put: `newer_by`, `if_absent`, `if_version`.

The store judges every row of the class's version by one expression. It must not judge a row of another version, whose
attributes may mean something else: such a write fails, and returns the row. The program upgrades it, judges the item by
`accepts`, and sends the write again, on condition that the row is unchanged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple

from msgspec import NODEFAULT

from sortkey.model.changes.conditions import (
    Comparison,
    Where,
    attribute_of,
    operand,
    require_order,
    requires_nothing,
    shown_value,
)
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.changes.places import Fields, PlacePlaceholders
from sortkey.model.changes.requirements import Leaf, Requirement
from sortkey.model.changes.row_rewrite import row_guards
from sortkey.model.changes.version_tests import is_current
from sortkey.model.errors import EncodeError, NoAccessPath
from sortkey.model.fields.codec import Row, codec_of
from sortkey.model.fields.converter import NULL
from sortkey.model.items.entries import Assignment
from sortkey.model.items.item import Item
from sortkey.model.items.schema import Schema

IF_ABSENT: Final = "if_absent"
WHERE: Final = "where"


class ItemCondition:
    """`where=` of an update, a delete, a put, an entry or a check."""

    def __init__(self, schema: Schema[Any], where: Where | None, given: Mapping[str, Any]) -> None:
        """`given` has the fields of the primary key. Raises for fields that a condition cannot use."""
        self.schema = schema
        self.where = where
        self.is_empty = requires_nothing(where)
        if not self.is_empty:
            self._requirement = Requirement(schema, where, given)
            for field in self._requirement.undecided:
                raise NoAccessPath(
                    f"{schema.name}.{field} is in the primary key, so it cannot be compared with a field"
                )
            # Now, so that impossible conditions are rejected before anything is sent.
            self._placeholders = Placeholders()
            self._text = self._rendered(self._placeholders)

    def accepts(self, item: Any) -> bool:
        """Whether an item matches. Only for one that the store cannot judge."""
        return self.is_empty or self._requirement.accepts(item)

    def tests(self, placeholders: Placeholders) -> list[str]:
        """The condition on a row of the current version, in DynamoDB's words, to be joined by AND."""
        if self.is_empty:
            return []
        # Handles the common case, a request that has no placeholders yet.
        return [self._text if placeholders.begin_with(self._placeholders) else self._rendered(placeholders)]

    def _rendered(self, placeholders: Placeholders) -> str:
        test = self._requirement.expression(placeholders)
        if isinstance(test, str):
            return test
        # The key decides.
        partition = placeholders.name(self.schema.primary.partition.name)
        tests = f"attribute_exists({partition})", f"attribute_not_exists({partition})"
        return any_of(*tests) if test else all_of(tests)

    @property
    def fields(self) -> set[str]:
        """The fields that it depends on."""
        return self._requirement.fields

    @property
    def holds_if_missing(self) -> bool:
        """Whether a missing item matches. It has no fields, so it matches only conditions that fields are absent."""
        return self._requirement.holds_if_missing

    @property
    def holds_if_new(self) -> bool:
        """Whether an item matches that the write itself creates, before it has any field."""
        return self._requirement.holds(lambda leaf: leaf.holds(None))

    def test_of_any(self, placeholders: Placeholders, *, if_missing: bool) -> str:
        """The condition as one test, with this result for a missing item."""
        test = all_of([*self.tests(placeholders), is_current(self.schema, placeholders)])
        may_hold = self.schema.version == 1 and self._requirement.holds(Leaf.holds_without_row)
        if may_hold == if_missing:
            return test
        partition = placeholders.name(self.schema.primary.partition.name)
        if if_missing:
            return any_of(f"attribute_not_exists({partition})", test)
        return all_of([f"attribute_exists({partition})", test])


def unchanged(schema: Schema[Any], row: Row, placeholders: Placeholders) -> list[str]:
    """The tests that a row exists and is as it was read."""
    there = f"attribute_exists({placeholders.name(schema.primary.partition.name)})"
    return [there, *(placeholders.equal(name, value) for name, value in row_guards(schema, row).items())]


class PutCondition(ABC):
    compares: bool = True
    """Whether it compares fields of the stored item, so that a failed put must return the row."""
    raises: bool = False
    """Whether a put raises if it is not met; other puts return False."""
    counted: tuple[str, int] | None = None
    """The field with the revision, and what the put writes there."""

    @property
    def shared(self) -> Hashable | None:
        """Puts of one class whose conditions have the same value here have the same condition; None says nothing."""
        return None

    def __init__(self, schema: Schema[Any]) -> None:
        self.schema = schema

    @abstractmethod
    def test(self, placeholders: Placeholders) -> str:
        """The condition as one test in DynamoDB's words, also for a missing item."""

    @abstractmethod
    def accepts(self, stored: Any) -> bool:
        """Whether an item, of a row that the store cannot judge, may be replaced."""

    def require_readable(self, _row: Row) -> None:
        """Raises DecodeError for a row that was not replaced, if what decides cannot be read."""
        return

    def no_item(self, placeholders: Placeholders) -> str:
        """The test that there is no item."""
        return placeholders.equal(self.schema.primary.partition.name, None)


class IfAbsent(PutCondition):
    """There is no stored item. A new item has revision 1, whatever the item says."""

    compares = False
    shared = IF_ABSENT

    def __init__(self, schema: Schema[Any]) -> None:
        super().__init__(schema)
        self.counted = None if schema.revision is None else (schema.revision, 1)

    def test(self, placeholders: Placeholders) -> str:
        return self.no_item(placeholders)

    def accepts(self, _stored: Any) -> bool:
        return False


class NewerBy(PutCondition):
    """The stored item is older by a field, or lacks it."""

    def __init__(self, schema: Schema[Any], item: Item, field: str) -> None:
        super().__init__(schema)
        attribute_of(schema, field)
        stamp = schema.codec.by_name[field].annotation.stamp
        if stamp is not None:
            raise EncodeError(
                f"{schema.name}.{field} is set by the session ({stamp!r}), so it does not order versions; use another"
            )
        if field == schema.revision:
            raise EncodeError(f"{schema.name}.{field} counts writes (sk.version), and every put tests it already")
        require_order(schema, field, "newer_by")
        self.field = field
        self.value = operand(schema, field, getattr(item, field))
        self._older = Comparison("<", getattr(item, field))

    def test(self, placeholders: Placeholders) -> str:
        default = self.schema.codec.if_absent(self.field)
        if_absent = default is NODEFAULT or self._is_older(default)
        attribute = attribute_of(self.schema, self.field)
        tests = [f"{placeholders.name(attribute)} < {placeholders.value(self.value)}"]
        if self.schema.codec.by_name[self.field].nullable:
            tests.append(placeholders.equal(attribute, dict(NULL)))
        return any_of(placeholders.equal(attribute, None) if if_absent else self.no_item(placeholders), *tests)

    def accepts(self, stored: Any) -> bool:
        return self._is_older(getattr(stored, self.field))

    def require_readable(self, row: Row) -> None:
        self.schema.codec.require_readable(self.field, row)

    def _is_older(self, value: Any) -> bool:
        if value is None:
            return True
        return self._older.holds(self.schema, self.field, shown_value(self.schema, self.field, value))


class SameVersion(PutCondition):
    """The stored item has the version of the item to be put. Without an item, or with None, it is 0."""

    raises = True

    def __init__(self, schema: Schema[Any], item: Item, field: str) -> None:
        super().__init__(schema)
        attribute_of(schema, field)
        version = getattr(item, field)
        if version is None and schema.codec.by_name[field].nullable:
            version = 0
        if type(version) is not int or version < 0:
            raise EncodeError(f"{schema.name}.{field}: a version is an int from 0 on, not {version!r}")
        self.field = field
        self.version: int = version
        self.counted = (field, version + 1)

    @property
    def shared(self) -> Hashable | None:
        return self.version

    def test(self, placeholders: Placeholders) -> str:
        attribute = attribute_of(self.schema, self.field)
        same = [placeholders.equal(attribute, operand(self.schema, self.field, self.version))]
        if self.version == 0 and self.schema.codec.by_name[self.field].nullable:
            same.append(placeholders.equal(attribute, dict(NULL)))
        default = self.schema.codec.if_absent(self.field)
        if self._is_same(None if default is NODEFAULT else default):
            lacking = placeholders.equal(attribute, None)
            if self.version > 0:
                there = placeholders.name(self.schema.primary.partition.name)
                lacking = all_of([f"attribute_exists({there})", lacking])
            same.append(lacking)
        elif self.version == 0:
            same.append(self.no_item(placeholders))
        return any_of(*same)

    def accepts(self, stored: Any) -> bool:
        return self._is_same(getattr(stored, self.field))

    def _is_same(self, version: int | None) -> bool:
        return (version or 0) == self.version


class Matching(PutCondition):
    """The stored item matches `where`. A missing item only matches conditions that fields are absent."""

    raises = True

    def __init__(self, schema: Schema[Any], item: Item, where: Where) -> None:
        super().__init__(schema)
        self.where = where
        self._condition = ItemCondition(schema, where, {name: getattr(item, name) for name in schema.primary.fields})

    @property
    def shared(self) -> Hashable | None:
        return WHERE if self._condition.fields.isdisjoint(self.schema.primary.fields) else None

    def test(self, placeholders: Placeholders) -> str:
        return self._condition.test_of_any(placeholders, if_missing=self._condition.holds_if_missing)

    def accepts(self, stored: Any) -> bool:
        return self._condition.accepts(stored)


class Together(PutCondition):
    """A condition of a class with `sk.version`, whose puts also test the revision."""

    raises = True

    def __init__(self, given: PutCondition, revision: SameVersion) -> None:
        super().__init__(given.schema)
        self._given = given
        self.revision = revision
        self.counted = revision.counted

    def test(self, placeholders: Placeholders) -> str:
        return all_of([self._given.test(placeholders), self.revision.test(placeholders)])

    def accepts(self, stored: Any) -> bool:
        return self._given.accepts(stored) and self.revision.accepts(stored)

    def failed(self, stored: Any | None) -> PutCondition:
        """The one of both that the stored item, or its absence, does not meet."""
        if stored is None:
            return self.revision if self.revision.version > 0 else self._given
        return self.revision if self._given.accepts(stored) else self._given


class PutOptions(NamedTuple):
    """The arguments of a put, at most one of them given."""

    newer_by: str | None = None
    if_absent: bool = False
    if_version: str | None = None
    where: Where | None = None


def put_condition(schema: Schema[Any], item: Item, options: PutOptions) -> PutCondition | None:
    newer_by, if_absent, if_version, where = options
    if sum((newer_by is not None, if_absent, if_version is not None, not requires_nothing(where))) > 1:
        raise ValueError("a put takes one of newer_by, if_absent, if_version and where")
    if if_absent:
        return IfAbsent(schema)
    given: PutCondition | None = None
    if where is not None and not requires_nothing(where):
        given = Matching(schema, item, where)
    elif newer_by is not None:
        given = NewerBy(schema, item, newer_by)
    if schema.revision is None:
        return given if if_version is None else SameVersion(schema, item, if_version)
    if if_version is not None and if_version != schema.revision:
        raise EncodeError(
            f"{schema.name}.{if_version}: the class counts its writes in {schema.revision} (sk.version); leave out "
            f"if_version, every put tests that"
        )
    revision = SameVersion(schema, item, schema.revision)
    return revision if given is None else Together(given, revision)


def newer_entry(put: Assignment, placeholders: Placeholders) -> str:
    """The condition of `put_entry`: the stored entry is older by a field, or there is none. An entry that lacks the
    field has its default. What is no entry is not replaced."""
    struct, name = type(put.entry), put.newer_by
    fields: Any = Fields(struct.__name__, codec_of(struct))
    require_order(fields, name, "newer_by")
    field = fields.codec.by_name[name]
    inside = PlacePlaceholders(placeholders, put.attribute, (field.attribute,))
    older = Comparison("<", getattr(put.entry, name))
    tests = [
        older.text(fields, name, inside.name(name), placeholders),
        placeholders.equal(put.attribute, None),
    ]
    default = fields.codec.if_absent(name)
    if default is not NODEFAULT and (default is None or older.holds(fields, name, shown_value(fields, name, default))):
        # What is no entry lacks the field, too, and must not be lost.
        is_map = f"attribute_type({placeholders.name(put.attribute)}, {placeholders.value({'S': 'M'})})"
        tests.append(f"{is_map} AND attribute_not_exists({inside.name(name)})")
    if field.nullable:
        tests.append(f"{inside.name(name)} = {placeholders.value(dict(NULL))}")
    return any_of(*tests)
