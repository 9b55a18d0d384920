"""Key conditions: which partition, and which range of its sort keys.

The expression is parsed and compiled like any condition, so that it fails with the same messages. The result is data
that the engine can seek with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.compilation import CACHED_TEXTS, cached_by_text
from sortkey.expressions.condition import CompiledCondition, compile_condition
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_condition
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
    Predicate,
    Value,
)
from sortkey.limits import INDEX_KEY_ATTRIBUTES
from sortkey.values.attribute import ORDERED_TYPES, PREFIX_TYPES, AttributeValue

_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RANGES: Final = frozenset({*_MIRRORED, "BETWEEN", "begins_with"})
_SINGLE_ATTRIBUTES: Final = 2
"""The number of attributes in a key with one partition and one sort attribute."""
MOST_FAST_TERMS: Final = 2 * INDEX_KEY_ATTRIBUTES
"""More terms than a key has attributes are an error, and would take memory in the cache."""
_OPERAND_TYPES: Final = {"begins_with": PREFIX_TYPES} | dict.fromkeys(_MIRRORED, ORDERED_TYPES)
"""Operand types that the general path accepts too."""


class KeyAttribute(NamedTuple):
    name: str
    type: str
    """S, N or B."""


KeyAttributes = tuple[KeyAttribute, ...]


class KeyRange(NamedTuple):
    """One partition and a range of its sort keys; the whole partition if there is no operator."""

    equal: dict[str, AttributeValue]
    """The values of the partition key's attributes and of `leading`."""
    leading: KeyAttributes
    """The sort key's attributes before `ranged`; only multi-attribute keys have any."""
    ranged: KeyAttribute | None
    """The sort key attribute that operator and operands apply to."""
    operator: str | None
    operands: tuple[AttributeValue, ...]


class KeyTerm(NamedTuple):
    """One condition on one key attribute."""

    name: str
    operator: str
    operands: tuple[AttributeValue, ...]


class FastTerm(NamedTuple):
    """One term of a key condition as its text has it: an attribute name or `#placeholder`, and a `:placeholder`."""

    name: str
    operator: str
    placeholder: str


class KeyCondition:
    """A well-formed condition; `resolve` checks it against the key of a table or index."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Callable[[], dict[str, KeyTerm]]) -> None:
        self._terms = terms

    def resolve(self, partitions: KeyAttributes, sorts: KeyAttributes) -> KeyRange:
        keys = partitions + sorts
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
    """Of the sort key attributes in the condition, only the last may have a range."""
    if term.operator != "=":
        raise ValidationException(
            f"Query key condition not supported: {key.name} must be equal to a value, since {last.name} after it "
            "has a condition too"
        )
    _check_operands(term, key)
    return term.operands[0]


def key_condition(text: str, bindings: Bindings) -> KeyCondition:
    terms = _fast_terms(text, bindings)
    if terms is not None:
        return KeyCondition(lambda: terms)
    try:
        tree, program = _compiled(text)
        program.bind(bindings)
    except InvalidExpression as error:
        raise ValidationException(f"Invalid KeyConditionExpression: {error}") from None
    return KeyCondition(lambda: _terms(tree, bindings))


@cached_by_text
def _compiled(text: str) -> tuple[Condition, CompiledCondition]:
    tree = parse_condition(text)
    return tree, compile_condition(tree)


def _fast_terms(text: str, bindings: Bindings) -> dict[str, KeyTerm] | None:
    """Handles the common case; returns None otherwise, and the general path compiles the condition and words any error.

    Nearly every key condition is a common one, and compiling it took a sixth of a Query's time.
    """
    form = fast_form(text)
    if form is None:
        return None
    terms: dict[str, KeyTerm] = {}
    for part, operator, placeholder in form:
        name = bindings.names.get(part) if part[0] == "#" else part
        operand = bindings.values.get(placeholder)
        if name is None or operand is None or _OPERAND_TYPES[operator].isdisjoint(operand):
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
    if len(parts) > MOST_FAST_TERMS:
        return None
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


def _conjuncts(tree: Condition) -> Iterator[Predicate]:
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


def _term(tree: Predicate, bindings: Bindings) -> KeyTerm:
    match tree:
        case Comparison():
            if tree.operator not in _MIRRORED:
                raise _unusable(tree.operator)
            if isinstance(tree.left, Value):
                return _term_with_path(_MIRRORED[tree.operator], [tree.right, tree.left], bindings)
            return _term_with_path(tree.operator, [tree.left, tree.right], bindings)
        case Between():
            return _term_with_path_first("BETWEEN", [tree.operand, tree.low, tree.high], bindings)
        case Membership():
            raise _unusable("IN")
        case Call():
            if tree.function != "begins_with":
                raise _unusable(tree.function)
            return _term_with_path_first("begins_with", list(tree.arguments), bindings)


def _term_with_path_first(operator: str, operands: list[Operand], bindings: Bindings) -> KeyTerm:
    if isinstance(operands[0], Value):
        raise ValidationException(
            f"Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute "
            "as its first operand"
        )
    return _term_with_path(operator, operands, bindings)


def _term_with_path(operator: str, operands: list[Operand], bindings: Bindings) -> KeyTerm:
    if any(isinstance(operand, Call) for operand in operands):
        raise ValidationException("KeyConditionExpressions cannot contain nested operations")
    paths = [operand for operand in operands if isinstance(operand, Path)]
    if len(paths) != 1:
        error = "Multiple attribute names used in one condition" if paths else "No key attribute specified"
        raise ValidationException(f"Invalid condition in KeyConditionExpression: {error}")
    path = bindings.path(paths[0])
    if len(path) > 1:
        raise ValidationException(
            "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"
        )
    values = tuple(bindings.value(operand) for operand in operands if isinstance(operand, Value))
    return KeyTerm(str(path[0]), operator, values)


def _unusable(operator: str) -> ValidationException:
    return ValidationException(f"Invalid operator used in KeyConditionExpression: {operator}")


def _not_supported() -> ValidationException:
    return ValidationException("Query key condition not supported")


def _check_operands(term: KeyTerm, key: KeyAttribute) -> None:
    for operand in term.operands:
        if key.type not in operand:
            raise ValidationException(
                "One or more parameter values were invalid: Condition parameter type does not match schema type"
            )
        if not operand[key.type]:
            type_name = "string" if key.type == "S" else "binary"
            raise ValidationException(
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain "
                f"an empty {type_name} value. Key: {key.name}"
            )
