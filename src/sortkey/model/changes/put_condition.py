"""The conditions of a put: `newer_by`, `if_absent`, `if_version` and `where`.

Like every condition, they are of what the stored item shows (see `changes/item_condition.py`): a row that lacks the
field has its default, and a row of an older version is upgraded before it is compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from msgspec import NODEFAULT

from sortkey.model.changes.combination import Where, requires_nothing
from sortkey.model.changes.condition import condition_in_store
from sortkey.model.changes.conditions import attribute_of, below, encoded, holds_on
from sortkey.model.changes.item_condition import ItemCondition
from sortkey.model.changes.own_form import own_form
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.errors import EncodeError
from sortkey.model.fields.codec import Field
from sortkey.model.fields.converter import NULL
from sortkey.model.items.item import Item
from sortkey.model.items.schema import Schema


class PutCondition(ABC):
    compares: bool = True
    """Whether it compares fields of the stored item."""
    raises: bool = False
    """Whether a put raises if it is not met; other puts return False."""

    def __init__(self, schema: Schema[Any]) -> None:
        self.schema = schema

    @abstractmethod
    def test(self, placeholders: Placeholders) -> str:
        """The condition as one test in DynamoDB's syntax, also for a missing item."""

    @abstractmethod
    def accepts(self, stored: Any) -> bool:
        """Whether an item may be replaced."""

    @property
    def needs_row(self) -> bool:
        """Whether a failed put must return the row: the store cannot judge those of another version."""
        return self.compares

    @property
    def is_exact(self) -> bool:
        """Whether the program need not look again at a row of the current version that the store has judged."""
        return False

    def no_item(self, placeholders: Placeholders) -> str:
        """The test that there is no item."""
        return placeholders.equal(self.schema.primary.partition.name, None)


class IfAbsent(PutCondition):
    compares = False

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
        self.field = field
        self.value = getattr(item, field)
        encoded(schema, field, self.value)

    def test(self, placeholders: Placeholders) -> str:
        default = self.schema.codec.if_absent(self.field)
        if_absent = default is NODEFAULT or self._is_older(default)
        attribute = attribute_of(self.schema, self.field)
        older = condition_in_store(below(self.value), self._known, otherwise=False)
        tests = [] if older is None else [older.render(self.schema, self.field, placeholders)]
        if self._known.nullable:
            tests.append(placeholders.equal(attribute, dict(NULL)))
        return any_of(placeholders.equal(attribute, None) if if_absent else self.no_item(placeholders), *tests)

    def accepts(self, stored: Any) -> bool:
        return self._is_older(getattr(stored, self.field))

    @property
    def is_exact(self) -> bool:
        return own_form(self._known) is None

    @property
    def _known(self) -> Field:
        return self.schema.codec.by_name[self.field]

    def _is_older(self, value: Any) -> bool:
        return value is None or holds_on(self.schema, self.field, below(self.value), value)


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

    def test(self, placeholders: Placeholders) -> str:
        attribute = attribute_of(self.schema, self.field)
        same = [placeholders.equal(attribute, encoded(self.schema, self.field, self.version))]
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

    def test(self, placeholders: Placeholders) -> str:
        return self._condition.test_of_any(None, placeholders, if_missing=self._condition.holds_if_missing)

    def accepts(self, stored: Any) -> bool:
        return self._condition.accepts(stored)


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
    if where is not None and not requires_nothing(where):
        return Matching(schema, item, where)
    if newer_by is not None:
        return NewerBy(schema, item, newer_by)
    return None if if_version is None else SameVersion(schema, item, if_version)
