"""Projections: only the requested parts, inside the maps and lists that contain them."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.expressions import Bindings, projection
from tests.expressions.rejected import rejected

ITEM: dict[str, Any] = {
    "a": {"S": "x"},
    "l": {"L": [{"N": "0"}, {"N": "1"}, {"M": {"p": {"S": "1"}, "q": {"S": "2"}}}]},
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {}}}},
}


def project(text: str) -> dict[str, Any]:
    return projection(text, Bindings({"#l": "l", "#dotted": "m.x"}, None))(ITEM)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a", {"a": {"S": "x"}}),
        ("gone", {}),
        ("m.x", {"m": {"M": {"x": {"N": "1"}}}}),
        ("m.y", {"m": {"M": {"y": {"M": {}}}}}),
        ("m.y.z", {}),
        ("a.b", {}),
        ("a[0]", {}),
        ("m[0]", {}),
        ("l[9]", {}),
        # Elements close gaps and keep the order of the list, not of the expression.
        ("l[1], l[0]", {"l": {"L": [{"N": "0"}, {"N": "1"}]}}),
        ("#l[2].q, #l[1]", {"l": {"L": [{"N": "1"}, {"M": {"q": {"S": "2"}}}]}}),
        ("l[0].p, l[2].p", {"l": {"L": [{"M": {"p": {"S": "1"}}}]}}),
        # A placeholder is one name, even with dots in it.
        ("#dotted", {}),
    ],
)
def test_keeps_only_what_is_asked_for(text: str, kept: dict[str, Any]) -> None:
    assert project(text) == kept


def test_attributes() -> None:
    made = projection("a, m.x, #l[0]", Bindings({"#l": "l"}, None))
    assert made.attributes == {"a", "m", "l"}
    assert made.nested == {"m", "l"}


@pytest.mark.parametrize(
    ("text", "how", "one", "two"),
    [
        ("a, a", "overlap", "[a]", "[a]"),
        ("a.b, a", "overlap", "[a, b]", "[a]"),
        ("a[0].b, a[0]", "overlap", "[a, [0], b]", "[a, [0]]"),
        ("#l, l", "overlap", "[l]", "[l]"),
        ("a[0], a.b", "conflict", "[a, [0]]", "[a, b]"),
    ],
)
def test_paths_must_not_meet(text: str, how: str, one: str, two: str) -> None:
    with rejected(
        f"Invalid ProjectionExpression: Two document paths {how} with each other; must remove or rewrite one of these "
        f"paths; path one: {one}, path two: {two}"
    ):
        project(text)


def test_neighbours_do_not_meet() -> None:
    assert project("l[0], l[1], m.x, m.y, a")


def test_syntax() -> None:
    with rejected('Invalid ProjectionExpression: Syntax error; token: "(", near: "size(a"'):
        project("size(a)")
