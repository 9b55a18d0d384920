"""Compiled conditions against an interpreter that walks the tree with Python's own values."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given

from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, condition
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
from tests.expressions.model import MISSING, at, python_value
from tests.expressions.strategies import bound, conditions, items, spell_condition

SIZED = ("S", "B", "SS", "NS", "BS", "L", "M")


@given(conditions, bound, items)
def test_compiled_conditions_say_what_the_tree_says(
    tree: Condition, values: dict[str, Any], item: dict[str, Any]
) -> None:
    try:
        test = condition(spell_condition(tree), Bindings(None, values), "ConditionExpression")
    except ValidationException:
        assume(False)
    assert test(item) is Interpreter(values, item).holds(tree)


class Interpreter:
    def __init__(self, values: dict[str, Any], item: dict[str, Any]) -> None:
        self.values = values
        self.item = python_value({"M": item})

    def holds(self, tree: Condition) -> bool:
        match tree:
            case Junction():
                answers = [self.holds(part) for part in tree.conditions]
                return all(answers) if tree.operator == "AND" else any(answers)
            case Not():
                return not self.holds(tree.condition)
            case Comparison():
                return compares(tree.operator, self.value(tree.left), self.value(tree.right))
            case Between():
                value = self.value(tree.operand)
                return compares(">=", value, self.value(tree.low)) and compares("<=", value, self.value(tree.high))
            case Membership():
                return any(compares("=", self.value(tree.operand), self.value(choice)) for choice in tree.choices)
            case Call():
                return self.function_holds(tree)

    def function_holds(self, tree: Call) -> bool:
        first, *rest = (self.value(argument) for argument in tree.arguments)
        match tree.function:
            case "attribute_exists":
                return first is not MISSING
            case "attribute_not_exists":
                return first is MISSING
            case "begins_with":
                return begins(first, rest[0])
            case _:
                return contains(first, rest[0])

    def value(self, operand: Operand) -> Any:
        match operand:
            case Path():
                return at(self.item, operand.parts)
            case Value():
                return python_value(self.values[operand.placeholder])
            case Call():
                return size(self.value(operand.arguments[0]))


def compares(operator: str, left: Any, right: Any) -> bool:
    if operator == "<>":
        return left is MISSING or left != right
    if left is MISSING or right is MISSING or left[0] != right[0]:
        return False
    if operator == "=":
        return bool(left == right)
    tag, x, y = left[0], left[1], right[1]
    if tag not in ("S", "N", "B"):
        return False
    if tag == "S":
        x, y = x.encode(), y.encode()
    return bool({"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[operator])


def begins(whole: Any, start: Any) -> bool:
    if whole is MISSING or start is MISSING or whole[0] != start[0] or whole[0] not in ("S", "B"):
        return False
    return bool(whole[1][: len(start[1])] == start[1])


def contains(whole: Any, part: Any) -> bool:
    if whole is MISSING or part is MISSING:
        return False
    tag, content = whole
    if tag == "L":
        return part in content
    if tag in ("SS", "NS", "BS"):
        return part[0] == tag[0] and part[1] in content
    return tag in ("S", "B") and part[0] == tag and part[1] in content


def size(value: Any) -> Any:
    if value is MISSING or value[0] not in SIZED:
        return MISSING
    tag, content = value
    return "N", len(content.encode("utf-16-le")) // 2 if tag == "S" else len(content)
