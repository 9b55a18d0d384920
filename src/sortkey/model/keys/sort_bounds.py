"""Continues a query from a value of its sort key: narrows the condition on the sort key.

An ExclusiveStartKey does the same for one known row. Shards that do not have the row need this, because a store's order
of rows with equal sort keys is its own.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any, Final, NamedTuple

from sortkey.limits import NUMBER_DIGITS, NUMBER_MAX_EXPONENT, NUMBER_MIN_EXPONENT, SORT_KEY_BYTES
from sortkey.model.errors import KeyPartError
from sortkey.model.items.converter import Value
from sortkey.model.keys.encoding import TOP
from sortkey.model.keys.key_attribute import Comparison, SortCondition
from sortkey.model.keys.template import just_below

_NUMBERS: Final = Context(prec=NUMBER_DIGITS, Emin=NUMBER_MIN_EXPONENT, Emax=NUMBER_MAX_EXPONENT)
"""DynamoDB's numbers, so that each has a next one."""
_LEAST: Final = Decimal(1).scaleb(NUMBER_MIN_EXPONENT)


class Bound(NamedTuple):
    value: Value
    included: bool


def continued(
    condition: SortCondition | None, attribute: str, value: Value, *, forward: bool, included: bool
) -> SortCondition | None:
    """The condition that holds of the rows from `value` on, in one direction, which the given condition holds of as
    well; None if there are none."""
    low, high = _bounds(condition)
    if forward:
        low = Bound(value, included)
    else:
        high = Bound(value, included)
    if low is None or high is None:
        (bound,) = (each for each in (low, high) if each is not None)
        operator: Comparison = ">" if high is None else "<"
        if bound.included:
            operator = ">=" if high is None else "<="
        return SortCondition(attribute, operator, (bound.value,))
    first = low.value if low.included else _next(low.value)
    last = high.value if high.included else _previous(high.value)
    if first is None or last is None or _comparable(first) > _comparable(last):
        return None
    return SortCondition(attribute, "BETWEEN", (first, last))


def _bounds(condition: SortCondition | None) -> tuple[Bound | None, Bound | None]:
    if condition is None:
        return None, None
    first = condition.values[0]
    match condition.operator:
        case "BETWEEN":
            return Bound(first, True), Bound(condition.values[1], True)
        case "=":
            return Bound(first, True), Bound(first, True)
        case "begins_with":
            return Bound(first, True), Bound(_last_with_prefix(first), True)
        case "<" | "<=":
            return None, Bound(first, condition.operator == "<=")
        case _:
            return Bound(first, condition.operator == ">="), None


def _last_with_prefix(prefix: Value) -> Value:
    if "B" in prefix:
        return {"B": prefix["B"].ljust(SORT_KEY_BYTES, b"\xff")}
    # A key contains no U+10FFFF.
    return {"S": prefix["S"] + TOP}


def _next(value: Value) -> Value | None:
    """The least value above this one; None if there is none."""
    if "N" in value:
        return _number(Decimal(value["N"]), Decimal(value["N"]).next_plus(_NUMBERS))
    if "B" in value:
        return {"B": value["B"] + b"\0"} if len(value["B"]) < SORT_KEY_BYTES else _raised(value["B"])
    return {"S": value["S"] + "\0"}


def _number(value: Decimal, neighbour: Decimal) -> Value | None:
    """The neighbour among DynamoDB's numbers, of which none is nearer to zero than the least magnitude."""
    if not neighbour.is_finite():
        return None
    if neighbour and abs(neighbour) < _LEAST:
        neighbour = Decimal(0) if value else _LEAST.copy_sign(neighbour)
    return {"N": str(neighbour)}


def _raised(longest: bytes) -> Value | None:
    kept = longest.rstrip(b"\xff")
    return {"B": kept[:-1] + bytes([kept[-1] + 1])} if kept else None


def _previous(value: Value) -> Value | None:
    """The greatest value below this one; None if there is none."""
    if "N" in value:
        return _number(Decimal(value["N"]), Decimal(value["N"]).next_minus(_NUMBERS))
    if "B" in value:
        *start, end = value["B"]
        lowered = bytes(start) + bytes([end - 1]).ljust(SORT_KEY_BYTES - len(start), b"\xff") if end else bytes(start)
        return {"B": lowered} if lowered else None
    try:
        return {"S": just_below(value["S"])}
    except KeyPartError:
        return None


def _comparable(value: Value) -> Any:
    ((tag, content),) = value.items()
    return Decimal(content) if tag == "N" else content
