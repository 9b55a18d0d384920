"""`Condition`: the base of conditions on one field, and how they are joined: `sk.above(1) & sk.below(5)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final, NoReturn

from sortkey.model.changes.combination import NOT_A_BOOL
from sortkey.model.changes.own_form import RoundedForm, TextForm, own_form
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.fields.codec import Field
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema

Results = frozenset[bool]
EITHER: Final[Results] = frozenset({True, False})
NEITHER: Final[Results] = frozenset()


class Condition(ABC):
    """A condition on one field. `&`, `|` and `~` join and negate conditions on the same field."""

    if_absent: bool = False
    """What the store's expression is for a row without the attribute."""
    if_null: bool = False
    """What the store's expression is for NULL."""
    is_of_presence: bool = False
    """Whether it says that the field is absent, or that it is present, and nothing of a value."""

    @abstractmethod
    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        """The condition in DynamoDB's syntax."""

    @abstractmethod
    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        """The condition on the value that an item shows, encoded; None for None and the empty set."""

    def holds_if_missing(self, schema: Schema[Any], field: str) -> bool:
        """The condition on a missing item, which has no value that could differ from another."""
        return self.is_of_presence and self.holds(schema, field, None)

    def right_results(self, _base: Any) -> Results:
        """The results of the store's expression that are right in whatever form the value of this type is stored. A
        value that is stored as the wanted one equals it; one that is stored otherwise may equal it, too."""
        return EITHER

    def rounded(self, _form: RoundedForm, _otherwise: bool) -> Condition:
        """The condition for the store, if it is of numbers that are shown rounded. It errs towards `otherwise`."""
        return self

    @property
    def others(self) -> frozenset[str]:
        """The other fields that it compares the field with."""
        return frozenset()

    def for_item(self, _schema: Schema[Any], _item: Any) -> Condition:
        """The condition with the values of an item's other fields."""
        return self

    def settled(self, _otherwise: bool) -> Condition:
        """The condition for the store, with this result where other fields do not let it tell."""
        return self

    def __and__(self, other: Condition) -> Condition:
        return Joined(True, (self, other))

    def __or__(self, other: Condition) -> Condition:
        return Joined(False, (self, other))

    def __invert__(self) -> Condition:
        return _Negated(self)

    def __bool__(self) -> NoReturn:
        raise TypeError(NOT_A_BOOL)


class Joined(Condition):
    """All, or any, of several conditions."""

    def __init__(self, every: bool, parts: tuple[Condition, ...]) -> None:
        for part in parts:
            if not isinstance(part, Condition):
                raise TypeError(f"& and | join conditions, such as sk.above(1), not {part!r}")
        self.every = every
        self.parts = parts
        joined = all if every else any
        self.if_absent = joined(part.if_absent for part in parts)
        self.if_null = joined(part.if_null for part in parts)

    def __repr__(self) -> str:
        return f"({(' and ' if self.every else ' or ').join(map(repr, self.parts))})"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        texts = [part.render(schema, field, placeholders) for part in self.parts]
        return all_of(texts) if self.every else any_of(*texts)

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        results = (part.holds(schema, field, shown) for part in self.parts)
        return all(results) if self.every else any(results)

    def holds_if_missing(self, schema: Schema[Any], field: str) -> bool:
        results = (part.holds_if_missing(schema, field) for part in self.parts)
        return all(results) if self.every else any(results)

    def right_results(self, base: Any) -> Results:
        return EITHER.intersection(*(part.right_results(base) for part in self.parts))

    def rounded(self, form: RoundedForm, otherwise: bool) -> Condition:
        return Joined(self.every, tuple(part.rounded(form, otherwise) for part in self.parts))

    @property
    def others(self) -> frozenset[str]:
        return frozenset().union(*(part.others for part in self.parts))

    def for_item(self, schema: Schema[Any], item: Any) -> Condition:
        return Joined(self.every, tuple(part.for_item(schema, item) for part in self.parts))

    def settled(self, otherwise: bool) -> Condition:
        return Joined(self.every, tuple(part.settled(otherwise) for part in self.parts))

    def __invert__(self) -> Condition:
        return Joined(not self.every, tuple(~part for part in self.parts))


class _Negated(Condition):
    """The opposite of a condition that is one test."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        self.if_absent = not condition.if_absent
        self.if_null = not condition.if_null
        self.is_of_presence = condition.is_of_presence

    def __repr__(self) -> str:
        return f"not {self.condition!r}"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        return f"NOT {self.condition.render(schema, field, placeholders)}"

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        return not self.condition.holds(schema, field, shown)

    def right_results(self, base: Any) -> Results:
        return frozenset(not result for result in self.condition.right_results(base))

    def rounded(self, form: RoundedForm, otherwise: bool) -> Condition:
        return _Negated(self.condition.rounded(form, not otherwise))

    def __invert__(self) -> Condition:
        return self.condition


class InOwnForm(Condition):
    """A comparison of texts that other programs store in other forms, which the store cannot compare. So the result for
    those is given: `otherwise`."""

    def __init__(self, condition: Condition, form: TextForm, otherwise: bool) -> None:
        self.condition = condition
        self.form = form
        self.otherwise = otherwise
        # An absent attribute, or NULL, is in no form.
        self.if_absent = self.if_null = otherwise

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        test = self.condition.render(schema, field, placeholders)
        tests = self.form.tests(placeholders.name(schema.codec.by_name[field].attribute), placeholders)
        if self.otherwise:
            return any_of(test, *(each.other for each in tests))
        return all_of([test, *(each.own for each in tests)])

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        return self.condition.holds(schema, field, shown)


def condition_in_store(condition: Condition, field: Field, otherwise: bool) -> Condition | None:
    """The condition as the store can test it, with `otherwise` as its result where the store cannot tell: it is never
    `not otherwise` where that is wrong. None if it can tell of no stored value."""
    form = own_form(field)
    if form is None or (not otherwise) in condition.right_results(field.annotation.base):
        return condition
    if isinstance(form, TextForm):
        return InOwnForm(condition, form, otherwise)
    return condition.rounded(form, otherwise) if isinstance(form, RoundedForm) else None
