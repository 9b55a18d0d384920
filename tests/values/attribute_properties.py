"""Values against Python's own: the walk keeps a value's meaning, and equality depends only on the meaning."""

from __future__ import annotations

from base64 import b64decode
from copy import deepcopy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.errors import DynamoDBError
from sortkey.values import size
from sortkey.values.attribute import FEWEST_NUMBERS, compare, equal, measure_value, normalise_item, normalise_value
from tests.values.strategies import items, number_lists, number_texts, scalars, values


def meaning(value: dict[str, Any]) -> tuple[str, Any]:
    """The value as a Python tuple that compares as DynamoDB compares; hashable, so that it may be in a set."""
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return tag, Decimal(content)
        case "B":
            return tag, b64decode(content)
        case "SS":
            return tag, frozenset(content)
        case "NS":
            return tag, frozenset(map(Decimal, content))
        case "BS":
            return tag, frozenset(map(b64decode, content))
        case "L":
            return tag, tuple(map(meaning, content))
        case "M":
            return tag, frozenset((name, meaning(each)) for name, each in content.items())
    return tag, content


@given(values)
def test_normalising_keeps_the_meaning_and_the_input(value: dict[str, Any]) -> None:
    before = deepcopy(value)
    assert meaning(normalise_value(value)) == meaning(value)
    assert value == before


@given(items)
def test_normalising_twice_changes_nothing(item: dict[str, Any]) -> None:
    once = normalise_item(item)
    twice = normalise_item(once.item)
    assert twice.item is once.item
    assert twice == once


@given(values, values)
def test_equality_is_of_meaning(a: dict[str, Any], b: dict[str, Any]) -> None:
    same = meaning(a) == meaning(b)
    assert equal(a, b) == same
    assert (normalise_value(a) == normalise_value(b)) == same
    assert equal(a, normalise_value(a))


@given(values, values)
def test_order_is_of_meaning(a: dict[str, Any], b: dict[str, Any]) -> None:
    (left_tag, left), (right_tag, right) = meaning(a), meaning(b)
    if left_tag == right_tag and left_tag in ("S", "N", "B"):
        assert compare(normalise_value(a), normalise_value(b)) == (left > right) - (left < right)
    else:
        assert compare(a, b) is None


# The walk adds up sizes on its way; `item_size` measures the result again.
@given(items)
def test_walk_measures_as_size_does(item: dict[str, Any]) -> None:
    normalised = normalise_item(item)
    assert normalised.size == size.item_size(normalised.item)
    assert normalised.binary == any(map(has_binary, normalised.item.values()))


def has_binary(value: dict[str, Any]) -> bool:
    ((tag, content),) = value.items()
    inner = content.values() if tag == "M" else content if tag == "L" else ()
    return tag in ("B", "BS") or any(map(has_binary, inner))


# A vector is measured as a whole. One element of another kind, anywhere, and its elements are looked at one by one.
@given(number_lists, st.none() | number_texts.map(lambda text: {"N": text}) | scalars, st.integers(0, 15))
def test_a_long_list_is_what_its_elements_are(texts: list[str], other: dict[str, Any] | None, place: int) -> None:
    elements: list[dict[str, Any]] = [{"N": text} for text in texts]
    if other is not None:
        elements[place] = other
    walked, measured = measure_value({"L": elements})
    alone = [measure_value(element) for element in elements]
    assert walked == {"L": [element for element, _ in alone]}
    assert measured == size.CONTAINER + sum(size.ELEMENT + each for _, each in alone)
    assert measured == size.value_size(walked)


WRONG: list[Any] = [
    {"N": 1},
    {"N": None},
    {"N": "x"},
    {"N": "1", "S": "1"},
    {"X": "1"},
    {},
    "N",
    None,
    ["N"],
    {"N": "1\n2"},
    {"N": ""},
    {"N": "1" * 39},
]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("place", [0, 7, 15])
def test_a_wrong_element_of_a_long_list_is_rejected_as_alone(wrong: Any, place: int) -> None:
    elements: list[Any] = [{"N": "0.5"} for _ in range(FEWEST_NUMBERS)]
    elements[place] = wrong
    assert rejection({"L": elements}) == rejection({"L": [wrong]}) != ""


def rejection(value: Any) -> str:
    try:
        normalise_value(value)
    except DynamoDBError as error:
        return error.message
    return ""
