"""Key conditions: which partition, and which range of its sort keys.

The expression is parsed and compiled like any condition, so that it fails with the same messages; what is left of it is
plain data, for a storage engine to seek with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.compilation import CACHED_TEXTS
from sortkey.expressions.condition import Program, compile_condition
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_condition
from sortkey.expressions.paths import reject_nested_keys
from sortkey.expressions.tree import (
    Between,
    Call,
    Comparison,
    Condition,
    Junction,
    Membership,
    Not,
    Operand,
    Path,
    Value,
)
from sortkey.values.attribute import AttributeValue, type_of

_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RANGES: Final = frozenset({*_MIRRORED, "BETWEEN", "begins_with"})
_SINGLE_ATTRIBUTES: Final = 2
"""A key of one partition and one sort attribute, as most are."""
_OPERAND_TYPES: Final = {"begins_with": frozenset("SB")} | dict.fromkeys(_MIRRORED, frozenset("SNB"))
"""Types that a closer look would have nothing against."""


class KeyAttribute(NamedTuple):
    name: str
    type: str
    """S, N or B."""


KeyAttributes = tuple[KeyAttribute, ...]


class KeyRange(NamedTuple):
    """A partition, and the sort keys within it: all of them without an operator."""

    equal: dict[str, AttributeValue]
    """The partition key's attributes, and those of the sort key before the last one that is spoken of."""
    leading: KeyAttributes
    """The latter of the two, which only multi-attribute keys have."""
    ranged: KeyAttribute | None
    """The sort key's attribute that operator and operands are about."""
    operator: str | None
    operands: tuple[AttributeValue, ...]


class KeyTerm(NamedTuple):
    """What is said of one key attribute."""

    name: str
    operator: str
    operands: tuple[AttributeValue, ...]


class FastTerm(NamedTuple):
    """One term of a key condition as its text has it: an attribute name or `#placeholder`, and a `:placeholder`."""

    name: str
    operator: str
    placeholder: str


class KeyCondition:
    """A condition that is known to be well-formed; whether it says what a key can answer, only a key can tell."""

    __slots__ = ("_nested", "_terms")

    def __init__(self, terms: Callable[[], dict[str, KeyTerm]], nested: frozenset[str]) -> None:
        self._terms = terms
        self._nested = nested

    def resolve(self, partitions: KeyAttributes, sorts: KeyAttributes) -> KeyRange:
        keys = partitions + sorts
        if self._nested:
            reject_nested_keys(self._nested, (key.name for key in keys))
        terms = self._terms()
        _check_count(len(terms), len(keys))
        for key in keys[: max(len(terms), len(partitions))]:
            if key.name not in terms:
                raise ValidationException(f"Query condition missed key schema element: {key.name}")
        equal = {key.name: _partition_value(terms[key.name], key) for key in partitions}
        if len(terms) == len(partitions):
            return KeyRange(equal, (), None, None, ())
        *leading, last = sorts[: len(terms) - len(partitions)]
        for key in leading:
            equal[key.name] = _leading_value(terms[key.name], key, last)
        ranged = terms[last.name]
        _check_operands(ranged, last)
        if ranged.operator not in _RANGES:
            raise ValidationException("Attempted conditional constraint is not an indexable operation")
        return KeyRange(equal, tuple(leading), last, ranged.operator, ranged.operands)


def _check_count(terms: int, keys: int) -> None:
    most = max(keys, _SINGLE_ATTRIBUTES)
    if not 1 <= terms <= most:
        span = "1 or 2" if most == _SINGLE_ATTRIBUTES else f"1 to {most}"
        raise ValidationException(f"Conditions can be of length {span} only")
    if terms > keys:
        raise _not_supported()


def _partition_value(term: KeyTerm, key: KeyAttribute) -> AttributeValue:
    if term.operator != "=":
        raise _not_supported()
    _check_operands(term, key)
    return term.operands[0]


def _leading_value(term: KeyTerm, key: KeyAttribute, last: KeyAttribute) -> AttributeValue:
    """Sort key attributes are given from left to right, and only the last of them as a range."""
    if term.operator != "=":
        raise ValidationException(
            f"Query key condition not supported: {key.name} must be equal to a value, since {last.name} behind it "
            "has a condition too"
        )
    _check_operands(term, key)
    return term.operands[0]


def key_condition(text: str, bindings: Bindings) -> KeyCondition:
    terms = _fast_terms(text, bindings)
    if terms is not None:
        return KeyCondition(lambda: terms, frozenset())
    try:
        tree, program = _checked_form(text)
        nested = program.bind(bindings).nested
    except InvalidExpression as error:
        raise ValidationException(f"Invalid KeyConditionExpression: {error}") from None
    return KeyCondition(lambda: _terms(tree, bindings), nested)


@lru_cache(maxsize=CACHED_TEXTS)
def _checked_form(text: str) -> tuple[Condition, Program]:
    tree = parse_condition(text)
    return tree, compile_condition(tree)


def _fast_terms(text: str, bindings: Bindings) -> dict[str, KeyTerm] | None:
    """The terms of a condition that has nothing to be rejected; None when it has to be looked at closely.

    Nearly every key condition is of this kind, and compiling it took a sixth of a Query's time.
    """
    form = fast_form(text)
    if form is None:
        return None
    terms: dict[str, KeyTerm] = {}
    for part, operator, placeholder in form:
        name = bindings.names.get(part) if part[0] == "#" else part
        operand = bindings.values.get(placeholder)
        if name is None or operand is None or type_of(operand) not in _OPERAND_TYPES[operator]:
            return None
        terms[name] = KeyTerm(name, operator, (operand,))
        bindings.used.update((part, placeholder) if part[0] == "#" else (placeholder,))
    return terms if len(terms) == len(form) else None


@lru_cache(maxsize=CACHED_TEXTS)
def fast_form(text: str) -> tuple[FastTerm, ...] | None:
    """The terms of a condition whose terms all compare a top-level attribute with a value; None otherwise."""
    try:
        tree = parse_condition(text)
    except InvalidExpression:
        return None
    parts = tree.conditions if isinstance(tree, Junction) and tree.operator == "AND" else (tree,)
    form = []
    for part in parts:
        match part:
            case Comparison(operator, Path((str(name),)), Value(placeholder)) if operator in _MIRRORED:
                form.append(FastTerm(name, operator, placeholder))
            case Call("begins_with", (Path((str(name),)), Value(placeholder))):
                form.append(FastTerm(name, "begins_with", placeholder))
            case _:
                return None
    return tuple(form)


def _terms(tree: Condition, bindings: Bindings) -> dict[str, KeyTerm]:
    terms: dict[str, KeyTerm] = {}
    for part in _conjuncts(tree):
        term = _term(part, bindings)
        if term.name in terms:
            raise ValidationException("KeyConditionExpressions must only contain one condition per key")
        terms[term.name] = term
    return terms


def _conjuncts(tree: Condition) -> Iterator[Comparison | Between | Membership | Call]:
    match tree:
        case Junction(operator="AND"):
            for part in tree.conditions:
                yield from _conjuncts(part)
        case Junction():
            raise _unusable(tree.operator)
        case Not():
            raise _unusable("NOT")
        case _:
            yield tree


def _term(tree: Comparison | Between | Membership | Call, bindings: Bindings) -> KeyTerm:
    match tree:
        case Comparison():
            if tree.operator not in _MIRRORED:
                raise _unusable(tree.operator)
            if isinstance(tree.left, Value):
                return _keyed(_MIRRORED[tree.operator], [tree.right, tree.left], bindings)
            return _keyed(tree.operator, [tree.left, tree.right], bindings)
        case Between():
            return _keyed_first("BETWEEN", [tree.operand, tree.low, tree.high], bindings)
        case Membership():
            raise _unusable("IN")
        case Call():
            if tree.function != "begins_with":
                raise _unusable(tree.function)
            return _keyed_first("begins_with", list(tree.arguments), bindings)


def _keyed_first(operator: str, operands: list[Operand], bindings: Bindings) -> KeyTerm:
    if isinstance(operands[0], Value):
        raise ValidationException(
            f"Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute "
            "as its first operand"
        )
    return _keyed(operator, operands, bindings)


def _keyed(operator: str, operands: list[Operand], bindings: Bindings) -> KeyTerm:
    if any(isinstance(operand, Call) for operand in operands):
        raise ValidationException("KeyConditionExpressions cannot contain nested operations")
    paths = [operand for operand in operands if isinstance(operand, Path)]
    if len(paths) != 1:
        error = "Multiple attribute names used in one condition" if paths else "No key attribute specified"
        raise ValidationException(f"Invalid condition in KeyConditionExpression: {error}")
    path = bindings.path(paths[0])
    if len(path) > 1:
        raise ValidationException("KeyConditionExpressions cannot have conditions on nested attributes")
    values = tuple(bindings.value(operand) for operand in operands if isinstance(operand, Value))
    return KeyTerm(str(path[0]), operator, values)


def _unusable(operator: str) -> ValidationException:
    return ValidationException(f"Invalid operator used in KeyConditionExpression: {operator}")


def _not_supported() -> ValidationException:
    return ValidationException("Query key condition not supported")


def _check_operands(term: KeyTerm, key: KeyAttribute) -> None:
    for operand in term.operands:
        if type_of(operand) != key.type:
            raise ValidationException(
                "One or more parameter values were invalid: Condition parameter type does not match schema type"
            )
        if not operand[key.type]:
            kind = "string" if key.type == "S" else "binary"
            raise ValidationException(
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain "
                f"an empty {kind} value. Key: {key.name}"
            )
