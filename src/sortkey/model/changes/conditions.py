"""Conditions on fields: `where={"status": "OPEN", "amount": sk.above(10)}`.

A value means equal to it, None means absent; the functions here make the other conditions. All of them must be true.

A condition is of what the item shows, not of what its row stores: a row that lacks an attribute shows the field's
default. So each condition has two forms that agree: an expression for the store, and a test in the program
(`changes/item_condition.py` and `changes/query_filter.py` say when which is used).
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args, get_origin

from msgspec import NODEFAULT

from sortkey.limits import EXPRESSION_IN_OPERANDS
from sortkey.model.changes.comparable import compare, contains_element, element_count
from sortkey.model.changes.compared_value import compared_value
from sortkey.model.changes.condition import EITHER, NEITHER, Condition, Joined, Results
from sortkey.model.changes.field_comparison import FieldComparison, FieldValue
from sortkey.model.changes.own_form import RoundedForm
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.changes.places import reject_foreign
from sortkey.model.changes.rounded_comparison import RoundedComparison
from sortkey.model.errors import EncodeError, NoAccessPath, unknown_field
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.items.schema import Schema

_RIGHT: Final[dict[str, Results]] = {"=": frozenset({True}), "<>": frozenset({False})}


class _Comparison(Condition):
    def __init__(self, operator: str, value: Any) -> None:
        self.operator = operator
        self.value = value
        self.if_absent = self.if_null = operator == "<>"

    def __repr__(self) -> str:
        return f"{self.operator} {self.value!r}"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        value = placeholders.value(self._encoded(schema, field))
        return f"{placeholders.name(attribute_of(schema, field))} {self.operator} {value}"

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        return compare(self.operator, shown or NULL, self._encoded(schema, field))

    def right_results(self, _base: Any) -> Results:
        return _RIGHT.get(self.operator, NEITHER)

    def rounded(self, form: RoundedForm, otherwise: bool) -> Condition:
        return RoundedComparison(self, self.operator, self._encoded, form, otherwise)

    def _encoded(self, schema: Schema[Any], field: str) -> Value:
        return _operand(schema, field, self.value)


class _OneOf(Condition):
    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"one of {', '.join(map(repr, self.values))}"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        values = ", ".join(placeholders.value(_operand(schema, field, value)) for value in self.values)
        return f"{placeholders.name(attribute_of(schema, field))} IN ({values})"

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        return any(each.holds(schema, field, shown) for each in self._comparisons)

    def right_results(self, _base: Any) -> Results:
        return _RIGHT["="]

    def rounded(self, form: RoundedForm, otherwise: bool) -> Condition:
        return Joined(False, tuple(each.rounded(form, otherwise) for each in self._comparisons))

    @property
    def _comparisons(self) -> list[_Comparison]:
        return [_Comparison("=", value) for value in self.values]


class _Contains(Condition):
    def __init__(self, element: Any) -> None:
        self.element = element

    def __repr__(self) -> str:
        return f"contains {self.element!r}"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        name = placeholders.name(attribute_of(schema, field))
        return f"contains({name}, {placeholders.value(self._encoded(schema, field))})"

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        element = self._encoded(schema, field)
        return shown is not None and contains_element(shown, element)

    def right_results(self, _base: Any) -> Results:
        return _RIGHT["="]

    def _encoded(self, schema: Schema[Any], field: str) -> Value:
        """The element, encoded by the field that contains it."""
        base = schema.codec.by_name[field].annotation.base
        match get_origin(base):
            case builtins.list:
                element: Value = _operand(schema, field, [self.element])["L"][0]
                return element
            case builtins.tuple if get_args(base)[1:] == (Ellipsis,):
                member: Value = _operand(schema, field, (self.element,))["L"][0]
                return member
            case builtins.set | builtins.frozenset:
                ((tag, (content,)),) = _operand(schema, field, {self.element}).items()
                return {tag[0]: content}
        if base in (str, bytes, Any):
            return _operand(schema, field, self.element)
        raise EncodeError(f"{schema.name}.{field}: sk.contains needs a set, a list, a str or bytes")


class _Starting(Condition):
    def __init__(self, beginning: str | bytes) -> None:
        self.beginning = beginning

    def __repr__(self) -> str:
        return f"starting with {self.beginning!r}"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        name = placeholders.name(attribute_of(schema, field))
        return f"begins_with({name}, {placeholders.value(self._encoded(schema, field))})"

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        ((tag, beginning),) = self._encoded(schema, field).items()
        return shown is not None and tag in shown and shown[tag].startswith(beginning)

    def _encoded(self, schema: Schema[Any], field: str) -> Value:
        if schema.codec.by_name[field].annotation.base not in (str, bytes, Any):
            raise EncodeError(f"{schema.name}.{field}: sk.starting needs a str or bytes")
        return _operand(schema, field, self.beginning)


class _Absent(Condition):
    if_absent = True
    is_of_presence = True

    def __repr__(self) -> str:
        return "absent"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        return f"attribute_not_exists({placeholders.name(attribute_of(schema, field))})"

    def holds(self, _schema: Schema[Any], _field: str, shown: Value | None) -> bool:
        return shown is None


class _Present(Condition):
    if_null = True
    is_of_presence = True

    def __repr__(self) -> str:
        return "present"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        return f"attribute_exists({placeholders.name(attribute_of(schema, field))})"

    def holds(self, _schema: Schema[Any], _field: str, shown: Value | None) -> bool:
        return shown is not None


class _SizeLimit(Condition):
    def __init__(self, most: int) -> None:
        self.most = most

    def __repr__(self) -> str:
        return f"at most {self.most} elements"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        name, most = placeholders.name(attribute_of(schema, field)), placeholders.value({"N": str(self.most)})
        return f"size({name}) <= {most}"

    def holds(self, _schema: Schema[Any], _field: str, shown: Value | None) -> bool:
        return (0 if shown is None else element_count(shown)) <= self.most

    def right_results(self, base: Any) -> Results:
        # Elements have forms, but each is one. In a set, two forms may show one value.
        return EITHER if get_origin(base) in (list, tuple, dict) else NEITHER


absent: Final[Condition] = _Absent()
"""The field is None, or an empty set: `where={"owner": sk.absent}`."""
present: Final[Condition] = _Present()
"""The field is neither None nor an empty set: `where={"owner": sk.present}`."""


def below(value: Any) -> Condition:
    """The field is less than `value`."""
    return _comparison("<", value)


def above(value: Any) -> Condition:
    """The field is greater than `value`."""
    return _comparison(">", value)


def at_most(value: Any) -> Condition:
    """The field is less than or equal to `value`."""
    return _comparison("<=", value)


def at_least(value: Any) -> Condition:
    """The field is greater than or equal to `value`."""
    return _comparison(">=", value)


def other_than(value: Any) -> Condition:
    """The field differs from `value`, or is absent."""
    return _comparison("<>", value)


def one_of(*values: Any) -> Condition:
    """The field equals one of the values, of which there are 1 to 100."""
    if not 1 <= len(values) <= EXPRESSION_IN_OPERANDS:
        raise ValueError(f"sk.one_of takes 1 to {EXPRESSION_IN_OPERANDS} values, not {len(values)}")
    return _OneOf(values)


def contains(element: Any) -> Condition:
    """A set or list has this element; a string or binary has this part."""
    return _Contains(element)


def starting(beginning: str | bytes) -> Condition:
    """A string or binary starts with `beginning`."""
    return _Starting(beginning)


def sized(at_most: int) -> Condition:
    """A set, list or map has at most this many elements, a string this many characters. An absent one has 0."""
    return _SizeLimit(at_most)


def condition_of(wanted: Any) -> Condition:
    """The condition that `where` has for a field: itself, equal to a value, or absent for None."""
    if isinstance(wanted, Condition):
        return wanted
    return absent if wanted is None else _comparison("=", wanted)


def _comparison(operator: str, value: Any) -> Condition:
    if isinstance(value, FieldValue):
        return FieldComparison(operator, value, if_missing=operator == "<>")
    return _Comparison(operator, value)


def render_condition(
    schema: Schema[Any], field: str, condition: Condition, if_absent: bool, placeholders: Placeholders
) -> str:
    """The condition in DynamoDB's syntax, with `if_absent` as its result for a row without the attribute, and what the
    field shows for NULL as its result for NULL."""
    tests = [condition.render(schema, field, placeholders)]
    name = placeholders.name(attribute_of(schema, field))
    if schema.codec.by_name[field].nullable:
        if_null = condition.holds(schema, field, None)
        if if_null and not condition.if_null:
            tests.append(f"{name} = {placeholders.value(dict(NULL))}")
        elif condition.if_null and not if_null:
            tests[0] = all_of([tests[0], f"{name} <> {placeholders.value(dict(NULL))}"])
    if if_absent and not condition.if_absent:
        # Most rows have the attribute, and the store stops at the first test that is true.
        return any_of(*tests, f"attribute_not_exists({name})")
    if condition.if_absent and not if_absent:
        return all_of([f"attribute_exists({name})", any_of(*tests)])
    return any_of(*tests)


def result_if_absent(schema: Schema[Any], field: str, condition: Condition, given: Mapping[str, Any]) -> bool | None:
    """The result of a condition on a row without the field's attribute, which shows a default, or a field of its key.
    None if only the row's keys tell. `given` has the fields of the path."""
    shown = schema.codec.if_absent(field)
    if field in schema.primary.fields or shown is NODEFAULT:
        shown = given.get(field, NODEFAULT)
    if shown is NODEFAULT:
        # A row that lacks an attribute which no key holds cannot be decoded.
        return None if field in schema.held_by_keys else condition.if_absent
    return holds_on(schema, field, condition, shown)


def holds_on(schema: Schema[Any], field: str, condition: Condition, value: Any) -> bool:
    """Whether a field with this value meets the condition."""
    return condition.holds(schema, field, shown_value(schema, field, value))


def shown_value(schema: Schema[Any], field: str, value: Any) -> Value | None:
    """A field's value, encoded; None for None and the empty set."""
    made = compared_value(schema.codec, field, value)
    return None if made == NULL else made


def attribute_of(schema: Schema[Any], field: str) -> str:
    reject_foreign(field, schema)
    fields = schema.codec.by_name
    if field not in fields:
        raise unknown_field(schema.name, field, fields)
    if fields[field].annotation.in_key:
        raise NoAccessPath(
            f"{schema.name}.{field} is in_key: it is not stored as an attribute, so a condition cannot use it"
        )
    return fields[field].attribute


def encoded(schema: Schema[Any], field: str, value: Any) -> Value:
    """A value to be stored."""
    attribute_of(schema, field)
    return _required(schema, field, value, schema.codec.encode_field(field, value))


def _operand(schema: Schema[Any], field: str, value: Any) -> Value:
    """A value to be compared with."""
    attribute_of(schema, field)
    return _required(schema, field, value, compared_value(schema.codec, field, value))


def _required(schema: Schema[Any], field: str, value: Any, made: Value | None) -> Value:
    if made is None:
        raise EncodeError(f"{schema.name}.{field}: cannot be compared with {value!r}; use sk.absent")
    return made
