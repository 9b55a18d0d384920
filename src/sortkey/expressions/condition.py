"""Condition and filter expressions, compiled to one closure over an item.

A comparison with something missing, or of another type, is false; only `<>` is then true. A condition never raises
for what an item holds: everything that can be wrong with it is wrong for every item, and raised at compile time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Final, Literal

from sortkey import limits
from sortkey.errors import ValidationException
from sortkey.expressions import faults
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.faults import InvalidExpression
from sortkey.expressions.operands import Compiled, Scope, compile_operand
from sortkey.expressions.parser import parse_condition
from sortkey.expressions.paths import spell
from sortkey.expressions.predicates import PREDICATES
from sortkey.expressions.tree import Between, Call, Comparison, Junction, Membership, Not, Operand
from sortkey.expressions.tree import Condition as Tree
from sortkey.values.attribute import AttributeValue, Item, compare

Test = Callable[[Item], bool]
Parameter = Literal["ConditionExpression", "FilterExpression", "KeyConditionExpression"]

_ORDERINGS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDERED: Final = frozenset({"S", "N", "B"})


class Condition:
    """Whether an item satisfies an expression; a missing item is the empty one."""

    __slots__ = ("_test", "attributes", "nested")

    def __init__(self, test: Test, attributes: frozenset[str], nested: frozenset[str]) -> None:
        self._test = test
        self.attributes = attributes
        """The top-level attributes that the condition looks at."""
        self.nested = nested
        """Those of them that it looks into, by a longer path."""

    def __call__(self, item: Item) -> bool:
        return self._test(item)


def condition(text: str, bindings: Bindings, parameter: Parameter) -> Condition:
    try:
        return compile_condition(parse_condition(text), bindings)
    except InvalidExpression as fault:
        raise ValidationException(f"Invalid {parameter}: {fault}") from None


def compile_condition(tree: Tree, bindings: Bindings) -> Condition:
    scope = Scope(bindings)
    test = _Compiler(scope).test(tree)
    return Condition(test, frozenset(scope.attributes), frozenset(scope.nested))


class _Compiler:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def test(self, tree: Tree) -> Test:
        match tree:
            case Comparison():
                return self._comparison(tree)
            case Between():
                return self._between(tree)
            case Membership():
                return self._membership(tree)
            case Call():
                return self._predicate(tree)
            case Not():
                negated = self.test(tree.condition)
                self._scope.count_operator()
                return lambda item: not negated(item)
            case Junction():
                return self._junction(tree)

    def _junction(self, tree: Junction) -> Test:
        tests = tuple(self.test(part) for part in tree.conditions)
        for _ in tests[1:]:
            self._scope.count_operator()
        if len(tests) == 2:
            first, second = tests
            if tree.operator == "AND":
                return lambda item: first(item) and second(item)
            return lambda item: first(item) or second(item)
        together = all if tree.operator == "AND" else any
        return lambda item: together(test(item) for test in tests)

    def _operands(self, *operands: Operand) -> list[Compiled]:
        compiled = [compile_operand(operand, self._scope) for operand in operands]
        self._scope.count_operator()
        return compiled

    def _comparison(self, tree: Comparison) -> Test:
        left, right = self._operands(tree.left, tree.right)
        if tree.operator in _ORDERINGS:
            _check_ordered(tree.operator, (left, right))
        _check_distinct(tree.operator, (left, right))
        return _compare(tree.operator, left, right)

    def _between(self, tree: Between) -> Test:
        operand, low, high = self._operands(tree.operand, tree.low, tree.high)
        _check_ordered("BETWEEN", (operand, low, high))
        _check_distinct("BETWEEN", (operand, low, high))
        if low.constant is not None and high.constant is not None:
            _check_bounds(low.constant, high.constant)
        above, below = _compare(">=", operand, low), _compare("<=", operand, high)
        return lambda item: above(item) and below(item)

    def _membership(self, tree: Membership) -> Test:
        operand, *choices = self._operands(tree.operand, *tree.choices)
        if len(choices) > limits.EXPRESSION_IN_OPERANDS:
            raise InvalidExpression(
                f"The IN operator is provided with too many operands; number of operands: {len(choices)}"
            )
        _check_distinct("IN", (operand, *choices))
        get, getters = operand.get, tuple(choice.get for choice in choices)

        def is_member(item: Item) -> bool:
            value = get(item)
            return value is not None and any(value == choice(item) for choice in getters)

        return is_member

    def _predicate(self, tree: Call) -> Test:
        arguments = self._operands(*tree.arguments)
        predicate = PREDICATES[tree.function]
        if len(arguments) != predicate.operands:
            raise faults.operand_count(tree.function, len(arguments))
        test = predicate.compile(arguments)
        _check_distinct(tree.function, arguments)
        return test


def _compare(comparator: str, left: Compiled, right: Compiled) -> Test:
    """Values are canonical, so equal values are equal as plain data."""
    a, b = left.get, right.get
    if comparator == "=":
        if right.constant is not None:
            constant = right.constant
            return lambda item: a(item) == constant
        return lambda item: (value := a(item)) is not None and value == b(item)
    if comparator == "<>":
        return lambda item: (value := a(item)) is None or value != b(item)
    holds = _ORDERINGS[comparator]

    def is_ordered(item: Item) -> bool:
        x, y = a(item), b(item)
        if x is None or y is None:
            return False
        order = compare(x, y)
        return order is not None and holds(order, 0)

    return is_ordered


def _check_ordered(name: str, operands: Sequence[Compiled]) -> None:
    for operand in operands:
        if operand.type is not None and operand.type not in _ORDERED:
            raise faults.operand_type(name, operand.type)


def _check_distinct(name: str, operands: Sequence[Compiled]) -> None:
    first = operands[0].path
    if first is not None and any(operand.path == first for operand in operands[1:]):
        raise faults.not_distinct(name, spell(first))


def _check_bounds(low: AttributeValue, high: AttributeValue) -> None:
    order = compare(low, high)
    if order is None:
        rule = "same data type for lower and upper bounds"
    elif order > 0:
        rule = "upper bound to be greater than or equal to lower bound"
    else:
        return
    raise InvalidExpression(
        f"The BETWEEN operator requires {rule}; "
        f"lower bound operand: AttributeValue: {_spell_value(low)}, "
        f"upper bound operand: AttributeValue: {_spell_value(high)}"
    )


def _spell_value(value: AttributeValue) -> str:
    ((tag, content),) = value.items()
    return f"{{{tag}:{content}}}"
