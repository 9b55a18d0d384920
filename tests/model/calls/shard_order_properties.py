"""A narrowed condition holds of exactly the values that are left, for strings, numbers and binaries."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.model.calls.shard_order import continued
from sortkey.model.keys.key_attribute import Comparison, SortCondition

TEXTS = st.text(st.sampled_from("ab#\ud7ff\ue000z\0"), min_size=1, max_size=4)
BINARIES = st.binary(min_size=1, max_size=3)
EDGES = ["0", "1E-130", "-1E-130", "9.9999999999999999999999999999999999999E+125", "0.1", "-7"]
NUMBERS = st.one_of(st.integers(-5, 5).map(str), st.sampled_from(EDGES))
OPERATORS: list[Comparison] = ["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"]


def content(value: dict[str, Any]) -> Any:
    ((tag, held),) = value.items()
    return Decimal(held) if tag == "N" else held


def holds(condition: SortCondition | None, value: dict[str, Any]) -> bool:
    if condition is None:
        return True
    first, own = content(condition.values[0]), content(value)
    match condition.operator:
        case "=":
            return bool(own == first)
        case "<":
            return bool(own < first)
        case "<=":
            return bool(own <= first)
        case ">":
            return bool(own > first)
        case ">=":
            return bool(own >= first)
        case "BETWEEN":
            return bool(first <= own <= content(condition.values[1]))
        case "begins_with":
            return bool(own.startswith(first))


@pytest.mark.parametrize(("tag", "values"), [("S", TEXTS), ("N", NUMBERS), ("B", BINARIES)])
def test_a_narrowed_condition_holds_of_what_is_left(tag: str, values: st.SearchStrategy[Any]) -> None:
    @given(
        operator=st.sampled_from([None, *OPERATORS]),
        limits=st.tuples(values, values),
        start=values,
        asked=values,
        forward=st.booleans(),
        included=st.booleans(),
    )
    def check(
        operator: Comparison | None, limits: tuple[Any, Any], start: Any, asked: Any, forward: bool, included: bool
    ) -> None:
        if operator == "begins_with" and tag == "N":
            return
        ordered = sorted(({tag: each} for each in limits), key=content)
        condition = None
        if operator is not None:
            condition = SortCondition("s", operator, tuple(ordered if operator == "BETWEEN" else ordered[:1]))
        if not holds(condition, {tag: start}):
            return
        narrowed = continued(condition, "s", {tag: start}, forward=forward, included=included)
        own, position = content({tag: asked}), content({tag: start})
        beyond = own > position if forward else own < position
        expected = holds(condition, {tag: asked}) and (beyond or (included and own == position))
        assert (narrowed is not None and holds(narrowed, {tag: asked})) == expected

    check()
