"""Sizes, each measured on DynamoDB Local by the padding that tips an item over one write unit."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.values.attribute import normalise_item
from sortkey.values.size import item_size, value_size

MEASURED = [
    ({"S": ""}, 0),
    ({"S": "abc"}, 3),
    ({"S": "é"}, 2),
    ({"S": "😀"}, 4),
    ({"N": "12345"}, 4),
    ({"B": ""}, 0),
    ({"B": "YQ=="}, 1),
    ({"B": "YWI="}, 2),
    ({"B": "YWJj"}, 3),
    ({"BOOL": False}, 1),
    ({"NULL": True}, 1),
    ({"L": []}, 3),
    ({"L": [{"S": "a"}]}, 5),
    ({"L": [{"S": "a"}, {"S": "b"}]}, 7),
    ({"L": [{"NULL": True}, {"BOOL": False}, {"N": "5"}]}, 10),
    ({"L": [{"L": []}]}, 7),
    ({"M": {}}, 3),
    ({"M": {"q": {"S": "a"}}}, 6),
    ({"M": {"q": {"S": "a"}, "r": {"S": "b"}}}, 9),
    ({"M": {"q": {"M": {}}}}, 8),
    ({"SS": ["a", "bc"]}, 3),
    ({"NS": ["-12", "1", "100"]}, 7),
    ({"BS": ["YQ==", "YWI="]}, 3),
]


@pytest.mark.parametrize(("value", "size"), MEASURED)
def test_value_size(value: dict[str, Any], size: int) -> None:
    assert value_size(value) == size


@pytest.mark.parametrize(("value", "size"), MEASURED)
def test_item_size_adds_the_names_in_utf8(value: dict[str, Any], size: int) -> None:
    item = {"é": value, "pk": {"S": "k"}}
    assert item_size(item) == 2 + size + 2 + 1
    assert normalise_item(item).size == item_size(item)
