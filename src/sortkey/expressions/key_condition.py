"""Key conditions: which partition, and which range of its sort keys.

The expression is parsed and compiled like any condition, so that it fails with the same messages; what is left of it is
plain data, for a storage engine to seek with.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.condition import compile_condition
from sortkey.expressions.faults import InvalidExpression
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
    Value,
)
from sortkey.values.attribute import AttributeValue, type_of

_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class KeyAttribute(NamedTuple):
    name: str
    type: str
    """S, N or B."""


class KeyRange(NamedTuple):
    """A partition, and the sort keys within it: all of them without an operator."""

    partition: AttributeValue
    operator: str | None
    operands: tuple[AttributeValue, ...]


class KeyTerm(NamedTuple):
    """What is said of one key attribute."""

    name: str
    operator: str
    operands: tuple[AttributeValue, ...]


class KeyCondition:
    """One term for each key attribute that is named; which key they are of is not known yet."""

    __slots__ = ("_terms",)

    def __init__(self, terms: list[KeyTerm]) -> None:
        self._terms = {term.name: term for term in terms}
        if len(self._terms) < len(terms):
            raise ValidationException("KeyConditionExpressions must only contain one condition per key")
        if len(terms) > 2:
            raise ValidationException("Conditions can be of length 1 or 2 only")

    def resolve(self, partition: KeyAttribute, sort: KeyAttribute | None) -> KeyRange:
        hashed = self._terms.get(partition.name)
        if hashed is None:
            raise _missed(partition)
        ranged = self._sort_term(sort)
        if hashed.operator != "=":
            raise ValidationException("Query key condition not supported")
        _check_operands(hashed, partition)
        if ranged is None or sort is None:
            return KeyRange(hashed.operands[0], None, ())
        _check_operands(ranged, sort)
        return KeyRange(hashed.operands[0], ranged.operator, ranged.operands)

    def _sort_term(self, sort: KeyAttribute | None) -> KeyTerm | None:
        if len(self._terms) == 1:
            return None
        if sort is None:
            raise ValidationException("Query key condition not supported")
        term = self._terms.get(sort.name)
        if term is None:
            raise _missed(sort)
        return term


def key_condition(text: str, bindings: Bindings) -> KeyCondition:
    try:
        tree = parse_condition(text)
        compile_condition(tree, bindings)
    except InvalidExpression as fault:
        raise ValidationException(f"Invalid KeyConditionExpression: {fault}") from None
    return KeyCondition([_term(part, bindings) for part in _conjuncts(tree)])


def _conjuncts(tree: Condition) -> list[Condition]:
    match tree:
        case Junction(operator="AND"):
            return [conjunct for part in tree.conditions for conjunct in _conjuncts(part)]
        case Junction():
            raise _unusable(tree.operator)
        case Not():
            raise _unusable("NOT")
        case _:
            return [tree]


def _term(tree: Condition, bindings: Bindings) -> KeyTerm:
    match tree:
        case Comparison() if tree.operator in _MIRRORED:
            if isinstance(tree.left, Value):
                return _keyed(_MIRRORED[tree.operator], [tree.right, tree.left], bindings)
            return _keyed(tree.operator, [tree.left, tree.right], bindings)
        case Comparison():
            raise _unusable(tree.operator)
        case Between():
            return _keyed_first("BETWEEN", [tree.operand, tree.low, tree.high], bindings)
        case Call(function="begins_with"):
            return _keyed_first("begins_with", list(tree.arguments), bindings)
        case Call():
            raise _unusable(tree.function)
        case Membership():
            raise _unusable("IN")
        case _:
            raise AssertionError("junctions and negations are taken apart before")


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
        fault = "Multiple attribute names used in one condition" if paths else "No key attribute specified"
        raise ValidationException(f"Invalid condition in KeyConditionExpression: {fault}")
    path = bindings.path(paths[0])
    if len(path) > 1:
        raise ValidationException(
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
            f"Key: {path[0]}"
        )
    values = tuple(bindings.value(operand) for operand in operands if isinstance(operand, Value))
    return KeyTerm(str(path[0]), operator, values)


def _unusable(operator: str) -> ValidationException:
    return ValidationException(f"Invalid operator used in KeyConditionExpression: {operator}")


def _missed(key: KeyAttribute) -> ValidationException:
    return ValidationException(f"Query condition missed key schema element: {key.name}")


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
