"""Conditions: `sk.F(Order.total) >= 5`, joined by `&`, `|` and `~`, and `where={"status": "OPEN"}`.

A mapping requires that each field, or place in a field, equals its value; None means that the field is absent. What
`sk.F` makes is a `FieldCondition`: a place and a `FieldTest` of its value. A test says itself in DynamoDB's words, and
what its result is for a value that is known: the default of a field, which a row without the attribute shows.
`changes/requirements.py` makes the expression of a whole condition.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, ClassVar, Final, NoReturn, TypeGuard, Union, get_args, get_origin, is_typeddict

from msgspec import NODEFAULT

from sortkey.limits import EXPRESSION_IN_OPERANDS
from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.changes.places import ElementCodec, reject_foreign
from sortkey.model.errors import EncodeError, NoAccessPath, Unsupported, shown, unknown_field
from sortkey.model.fields.annotation import Annotation, parse_annotation
from sortkey.model.fields.attribute_values import compare, contains_element, element_count
from sortkey.model.fields.codec import Field, codec_of
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.fields.records import is_record, record_class, tag_of
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.fields.type_converter import CONTAINERS
from sortkey.model.fields.typed_dicts import typed_dict
from sortkey.model.items.schema import Schema

NOT_A_BOOL: Final = (
    "a condition is neither true nor false before the store tests it: use &, | and ~, not and, or, not, in, if"
)

_OPPOSITE: Final = {"=": "<>", "<>": "="}
"""Of comparisons with an order, both may be false: the field may be absent."""


class Condition:
    """A condition on an item: `sk.F` makes them, and `&`, `|` and `~` join them."""

    def __and__(self, other: Where) -> Condition:
        return Joined(True, (self, other))

    def __rand__(self, other: Mapping[str, Any]) -> Condition:
        return Joined(True, (other, self))

    def __or__(self, other: Where) -> Condition:
        return Joined(False, (self, other))

    def __ror__(self, other: Mapping[str, Any]) -> Condition:
        return Joined(False, (other, self))

    def __invert__(self) -> Condition:
        return Negated(self)

    def __bool__(self) -> NoReturn:
        # `a and b` would be b alone, and `1 <= a <= 5` would be `a <= 5`.
        raise TypeError(NOT_A_BOOL)


Where = Mapping[str, Any] | Condition
"""Conditions on an item: a mapping from fields, or places in them, to values that they equal, or None for absent; or
what `sk.F` makes."""


class Joined(Condition):
    """All, or any, of several conditions."""

    def __init__(self, every: bool, parts: tuple[Where, ...]) -> None:
        if any(map(requires_nothing, parts)):
            raise ValueError("& and | join conditions, and one of them requires nothing")
        self.every = every
        # A chain, such as `a | b | c`, is one level: its length is not limited by Python's stack.
        self.parts: tuple[Where, ...] = tuple(
            each for part in parts for each in (part.parts if self._is_like(part) else (part,))
        )

    def _is_like(self, part: Where) -> TypeGuard[Joined]:
        return isinstance(part, Joined) and part.every == self.every

    def __repr__(self) -> str:
        return f"({(' & ' if self.every else ' | ').join(map(_shown, self.parts))})"


class Negated(Condition):
    def __init__(self, part: Where) -> None:
        self.part = part

    def __repr__(self) -> str:
        return f"~{_shown(self.part)}"

    def __invert__(self) -> Condition:
        return self.part if isinstance(self.part, Condition) else Joined(True, (self.part,))


class FieldCondition(Condition):
    """A test of one field, or of a place in it."""

    def __init__(self, name: str, test: FieldTest) -> None:
        self.name = name
        self.test = test

    def __repr__(self) -> str:
        return self.test.shown(self.name)

    def __invert__(self) -> Condition:
        opposite = self.test.opposite
        return Negated(self) if opposite is None else FieldCondition(self.name, opposite)


def _shown(part: Where) -> str:
    return f"({part!r})" if isinstance(part, FieldCondition) else repr(part)


def requires_nothing(where: Where | None) -> bool:
    """Raises TypeError for what is not a condition."""
    given: Any = where
    if given is None or isinstance(given, Condition):
        return given is None
    if not isinstance(given, Mapping):
        raise TypeError(f"where= takes {{'stock': 3}}, sk.F(Product.stock) == 3, or the like; not {given!r}")
    return not given


class FieldTest(ABC):
    """What a condition says of one value. The fields' codec encodes what it is compared with."""

    if_absent: bool = False
    """The result of its expression for a row without the attribute."""
    if_null: bool = False
    """The result of its expression for NULL."""
    is_of_presence: ClassVar[bool] = False
    """Whether it says that the field is absent, or that it is present, and nothing of a value."""

    @property
    def opposite(self) -> FieldTest | None:
        """The test that is true where this one is false; None if it takes a NOT."""
        return None

    @abstractmethod
    def text(self, fields: Any, name: str, path: str, placeholders: Placeholders) -> str:
        """The test in DynamoDB's words; `path` is the attribute, or the place in it. Raises for what the field cannot
        be compared with."""

    @abstractmethod
    def holds(self, fields: Any, name: str, shown: Value | None) -> bool:
        """The result for a value that an item shows, encoded; None for None and the empty set."""

    @abstractmethod
    def shown(self, name: str) -> str:
        """The test for messages."""


class Comparison(FieldTest):
    """`=`, `<>`, `<`, `<=`, `>` or `>=` and a value."""

    def __init__(self, operator: str, value: Any) -> None:
        self.operator = operator
        self.value = value
        self.if_absent = self.if_null = operator == "<>"

    def shown(self, name: str) -> str:
        return f"{name} {self.operator} {self.value!r}"

    @property
    def opposite(self) -> FieldTest | None:
        return Comparison(_OPPOSITE[self.operator], self.value) if self.operator in _OPPOSITE else None

    def text(self, fields: Any, name: str, path: str, placeholders: Placeholders) -> str:
        if self.operator in ("=", "<>"):
            require_one_form(fields, name, self.value)
            forms = [placeholders.value(each) for each in _forms(fields, name, self.value)]
            if len(forms) > 1:
                return f"{'NOT ' if self.operator == '<>' else ''}{path} IN ({', '.join(forms)})"
            return f"{path} {self.operator} {forms[0]}"
        require_order(fields, name, f"{self.operator} {self.value!r}")
        return f"{path} {self.operator} {placeholders.value(operand(fields, name, self.value))}"

    def holds(self, fields: Any, name: str, shown: Value | None) -> bool:
        return compare(self.operator, shown or NULL, operand(fields, name, self.value))


class Between(FieldTest):
    def __init__(self, low: Any, high: Any) -> None:
        self.low = low
        self.high = high

    def shown(self, name: str) -> str:
        return f"{name} BETWEEN {self.low!r} AND {self.high!r}"

    def text(self, fields: Any, name: str, path: str, placeholders: Placeholders) -> str:
        require_order(fields, name, "between")
        low, high = operand(fields, name, self.low), operand(fields, name, self.high)
        if not compare("<=", low, high):
            raise EncodeError(f"{fields.name}.{name}: the range from {self.low!r} to {self.high!r} is empty")
        return f"{path} BETWEEN {placeholders.value(low)} AND {placeholders.value(high)}"

    def holds(self, fields: Any, name: str, shown: Value | None) -> bool:
        low, high = operand(fields, name, self.low), operand(fields, name, self.high)
        return compare(">=", shown or NULL, low) and compare("<=", shown or NULL, high)


class In(FieldTest):
    def __init__(self, values: tuple[Any, ...]) -> None:
        if not 1 <= len(values) <= EXPRESSION_IN_OPERANDS:
            raise ValueError(f"is_in takes 1 to {EXPRESSION_IN_OPERANDS} values, not {len(values)}")
        self.values = values

    def shown(self, name: str) -> str:
        return f"{name} IN ({', '.join(map(repr, self.values))})"

    def text(self, fields: Any, name: str, path: str, placeholders: Placeholders) -> str:
        for value in self.values:
            require_one_form(fields, name, value)
        forms = [form for value in self.values for form in _forms(fields, name, value)]
        if len(forms) > EXPRESSION_IN_OPERANDS:
            raise ValueError(
                f"{fields.name}.{name}: the forms of the values are {len(forms)}; is_in takes fewer values"
            )
        return f"{path} IN ({', '.join(map(placeholders.value, forms))})"

    def holds(self, fields: Any, name: str, shown: Value | None) -> bool:
        return any(compare("=", shown or NULL, operand(fields, name, value)) for value in self.values)


class Contains(FieldTest):
    def __init__(self, element: Any) -> None:
        self.element = element

    def shown(self, name: str) -> str:
        return f"contains({name}, {self.element!r})"

    def text(self, fields: Any, name: str, path: str, placeholders: Placeholders) -> str:
        require_one_form(fields, name)
        return f"contains({path}, {placeholders.value(self._encoded(fields, name))})"

    def holds(self, fields: Any, name: str, shown: Value | None) -> bool:
        return shown is not None and contains_element(shown, self._encoded(fields, name))

    def _encoded(self, fields: Any, name: str) -> Value:
        """The element, encoded by the field that contains it."""
        base = fields.codec.by_name[name].annotation.base
        match get_origin(base):
            case builtins.list:
                element: Value = operand(fields, name, [self.element])["L"][0]
                return element
            case builtins.tuple if get_args(base)[1:] == (Ellipsis,):
                member: Value = operand(fields, name, (self.element,))["L"][0]
                return member
            case builtins.set | builtins.frozenset:
                ((tag, (content,)),) = operand(fields, name, {self.element}).items()
                return {tag[0]: content}
        if base in (str, bytes, Any):
            return operand(fields, name, self.element)
        raise EncodeError(f"{fields.name}.{name}: contains needs a set, a list, a str or bytes")


class BeginsWith(FieldTest):
    def __init__(self, beginning: str | bytes) -> None:
        self.beginning = beginning

    def shown(self, name: str) -> str:
        return f"begins_with({name}, {self.beginning!r})"

    def text(self, fields: Any, name: str, path: str, placeholders: Placeholders) -> str:
        return f"begins_with({path}, {placeholders.value(self._encoded(fields, name))})"

    def holds(self, fields: Any, name: str, shown: Value | None) -> bool:
        ((tag, beginning),) = self._encoded(fields, name).items()
        return shown is not None and tag in shown and shown[tag].startswith(beginning)

    def _encoded(self, fields: Any, name: str) -> Value:
        if fields.codec.by_name[name].annotation.base not in (str, bytes, Any):
            raise EncodeError(f"{fields.name}.{name}: begins_with needs a str or bytes")
        return operand(fields, name, self.beginning)


class Exists(FieldTest):
    if_null = True
    is_of_presence = True

    def shown(self, name: str) -> str:
        return f"attribute_exists({name})"

    @property
    def opposite(self) -> FieldTest:
        return NotExists()

    def text(self, _fields: Any, _name: str, path: str, _placeholders: Placeholders) -> str:
        return f"attribute_exists({path})"

    def holds(self, _fields: Any, _name: str, shown: Value | None) -> bool:
        return shown is not None


class NotExists(FieldTest):
    if_absent = True
    is_of_presence = True

    def shown(self, name: str) -> str:
        return f"attribute_not_exists({name})"

    @property
    def opposite(self) -> FieldTest:
        return Exists()

    def text(self, _fields: Any, _name: str, path: str, _placeholders: Placeholders) -> str:
        return f"attribute_not_exists({path})"

    def holds(self, _fields: Any, _name: str, shown: Value | None) -> bool:
        return shown is None


class Size(FieldTest):
    """A comparison of the number of elements, characters or bytes. An absent field has none."""

    def __init__(self, operator: str, number: int) -> None:
        self.operator = operator
        self.number = number

    def shown(self, name: str) -> str:
        return f"size({name}) {self.operator} {self.number!r}"

    def text(self, fields: Any, name: str, path: str, placeholders: Placeholders) -> str:
        field: Field = fields.codec.by_name[name]
        if field.tag in ("N", "BOOL") or field.also or is_record(field.annotation.base):
            raise EncodeError(f"{fields.name}.{name}: size needs a set, a list, a dict, a str or bytes")
        return f"size({path}) {self.operator} {placeholders.value({'N': str(self.number)})}"

    def holds(self, _fields: Any, _name: str, shown: Value | None) -> bool:
        count = 0 if shown is None else element_count(shown)
        return compare(self.operator, {"N": str(count)}, {"N": str(self.number)})


class OtherField(FieldTest):
    """A comparison with another field of the item. If one of the two is absent, only `<>` is true."""

    def __init__(self, operator: str, other: str) -> None:
        self.operator = operator
        self.other = other
        self.if_absent = self.if_null = operator == "<>"

    def shown(self, name: str) -> str:
        return f"{name} {self.operator} {self.other}"

    @property
    def opposite(self) -> FieldTest | None:
        return OtherField(_OPPOSITE[self.operator], self.other) if self.operator in _OPPOSITE else None

    def text(self, fields: Any, _name: str, path: str, placeholders: Placeholders) -> str:
        return f"{path} {self.operator} {placeholders.name(attribute_of(fields, self.other))}"

    def holds(self, _fields: Any, _name: str, _shown: Value | None) -> bool:
        """Without the other field."""
        return self.if_absent

    def compared(self, shown: Value | None, other: Value | None) -> bool:
        """The result for two values that an item shows, encoded."""
        if shown is None or other is None:
            return self.if_absent
        return compare(self.operator, shown, other)


def equality(wanted: Any) -> FieldTest:
    """What a mapping requires of a field: that it equals a value, or is absent for None."""
    if isinstance(wanted, Condition):
        raise TypeError(f"a mapping in where= has values; join it to the condition by &: {wanted!r}")
    return NotExists() if wanted is None else Comparison("=", wanted)


def attribute_of(schema: Schema[Any], field: str) -> str:
    reject_foreign(field, schema)
    fields = schema.codec.by_name
    if field not in fields:
        raise unknown_field(schema.name, field, fields)
    if fields[field].annotation.in_key:
        raise NoAccessPath(
            f"{schema.name}.{field} is in_key: it is not stored as an attribute, so a condition cannot use it here"
        )
    return fields[field].attribute


def operand(fields: Any, name: str, value: Any) -> Value:
    """A value to compare with, or to store, encoded. Raises EncodeError for None and the empty set."""
    made: Value | None = fields.codec.encode_field(name, value)
    if made is None:
        raise EncodeError(f"{fields.name}.{name}: cannot be compared with {shown(value)}; use exists() or not_exists()")
    return made


def shown_value(fields: Any, name: str, value: Any) -> Value | None:
    """A field's value, encoded; None for None and the empty set."""
    made: Value | None = fields.codec.encode_field(name, value)
    return None if made == NULL else made


def _forms(fields: Any, name: str, value: Any) -> Iterator[Value]:
    """A value in each form that the field is stored in."""
    yield operand(fields, name, value)
    for encode in fields.codec.by_name[name].also:
        made = encode(value)
        if made is not None:
            yield made


def require_order(fields: Any, name: str, what: str) -> None:
    """Raises Unsupported for a field with several forms, of which each has its own order."""
    field: Field = fields.codec.by_name[name]
    if field.also:
        raise Unsupported(
            f"{fields.name}.{name}: {what}: the field is stored in several forms, which have no common order; compare "
            f"for equality, or rewrite the rows in one form (sortkey audit --repair) and leave out also="
        )


def require_one_form(fields: Any, name: str, value: Any = None) -> None:
    """Raises Unsupported for a struct, or a container of some, that rows may hold in several forms: without a field
    that has a default, because they are older than the field. Of a union, the `value` says which struct it is."""
    annotation: Annotation = fields.codec.by_name[name].annotation
    if not isinstance(annotation.base, type) or is_record(annotation.base):
        is_member = get_origin(annotation.base) in (Union, UnionType) and is_record(type(value))
        wanted = _member(annotation, type(value)) if is_member else annotation
        place = _ambiguous_place(wanted, name, frozenset(), is_member)
        if place is not None:
            raise Unsupported(
                f"{fields.name}.{name} cannot be compared whole: a row may be stored with or without {place}, which "
                f"shows the same. Compare the places in it, such as sk.F(…).at(…) or 'address.city'"
            )


def _member(union: Annotation, cls: type) -> Annotation:
    """The member of a union that has this class."""
    members = map(parse_annotation, get_args(union.base))
    return next((member for member in members if record_class(member.base) is cls), parse_annotation(cls))


def _ambiguous_place(annotation: Annotation, place: str, seen: frozenset[type], in_union: bool = False) -> str | None:
    base, origin = annotation.base, get_origin(annotation.base)
    if isinstance(base, StoredType):
        return None if base.codec.is_strict else _ambiguous_place(parse_annotation(base.codec.stored), place, seen)
    if is_record(base) and base not in seen:
        tag = tag_of(base)
        if tag is not None and not in_union:
            return f"{place}.{tag.attribute}"
        codec = codec_of(base)
        for field in codec.fields:
            if field.nullable or codec.if_absent(field.name) is not NODEFAULT:
                return f"{place}.{field.name}"
            found = _ambiguous_place(field.annotation, f"{place}.{field.name}", seen | {base})
            if found is not None:
                return found
    if is_typeddict(record_class(base)) and record_class(base) not in seen:
        for name, member in typed_dict(base).types.items():
            found = _ambiguous_place(parse_annotation(member), f"{place}.{name}", seen | {record_class(base)})
            if found is not None:
                return found
    if origin in CONTAINERS or origin in (Union, UnionType):
        inner = {list: f"{place}[0]", tuple: f"{place}[0]", dict: f"{place}.<key>"}.get(origin, place)
        for member in get_args(base):
            if member is Ellipsis:
                continue
            parsed = parse_annotation(member)
            if isinstance(parsed.base, StoredType) and parsed.base.codec.also:
                return inner
            found = _ambiguous_place(parsed, inner, seen, origin in (Union, UnionType))
            if found is not None:
                return found
    return None


def is_element(fields: Any) -> bool:
    """Whether the place is an element of a list or a value of a dict, and not a field."""
    return isinstance(fields.codec, ElementCodec)
