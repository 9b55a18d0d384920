"""Updates: how each action changes an item, and which items it rejects."""

from __future__ import annotations

from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest

from sortkey.expressions import Bindings, Update, update
from sortkey.values.size import item_size, value_size
from tests.expressions.rejected import rejected

VALUES: dict[str, Any] = {
    ":n": {"N": "9"},
    ":s": {"S": "q"},
    ":l": {"L": [{"S": "e"}]},
    ":ss": {"SS": ["b", "c"]},
    ":all": {"SS": ["a", "b"]},
    ":ns": {"NS": ["2.0", "3"]},
    ":m": {"M": {}},
    ":true": {"BOOL": True},
}
ITEM: dict[str, Any] = {
    "n": {"N": "1"},
    "s": {"S": "a"},
    "l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}, {"N": "3"}]},
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"N": "2"}}}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
}


def compiled(text: str) -> Update:
    return update(text, Bindings(None, VALUES))


def changes(text: str) -> dict[str, Any]:
    """The attributes that are different afterwards; None for those that are gone."""
    after = compiled(text).apply(ITEM, item_size(ITEM))
    return {name: after.get(name) for name in {*ITEM, *after} if after.get(name) != ITEM.get(name)}


def numbers(*elements: str) -> dict[str, Any]:
    return {"L": [{"N": element} for element in elements]}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("SET a = :n", {"a": {"N": "9"}}),
        ("SET a = n + :n", {"a": {"N": "10"}}),
        ("SET a = :n - n", {"a": {"N": "8"}}),
        ("SET a = (n + (n))", {"a": {"N": "2"}}),
        ("SET a = m.y.z", {"a": {"N": "2"}}),
        ("SET a = if_not_exists(gone, :s)", {"a": {"S": "q"}}),
        ("SET a = if_not_exists(n, :s)", {"a": {"N": "1"}}),
        ("SET n = if_not_exists(gone, n) + :n", {"n": {"N": "10"}}),
        ("SET a = list_append(:l, :l)", {"a": {"L": [{"S": "e"}, {"S": "e"}]}}),
        ("SET a = list_append(if_not_exists(gone, :l), :l)", {"a": {"L": [{"S": "e"}, {"S": "e"}]}}),
        ("SET m.q = :n", {"m": {"M": {**ITEM["m"]["M"], "q": {"N": "9"}}}}),
        ("REMOVE s, gone", {"s": None}),
        ("REMOVE m.x, m.y", {"m": {"M": {}}}),
        ("REMOVE m.gone", {}),
        ("ADD n :n", {"n": {"N": "10"}}),
        ("ADD a :n", {"a": {"N": "9"}}),
        ("ADD m.x :n", {"m": {"M": {**ITEM["m"]["M"], "x": {"N": "10"}}}}),
        ("ADD ss :ss", {"ss": {"SS": ["a", "b", "c"]}}),
        ("ADD ns :ns", {"ns": {"NS": ["1", "2", "3"]}}),
        ("ADD a :ss", {"a": {"SS": ["b", "c"]}}),
        ("DELETE ss :ss", {"ss": {"SS": ["a"]}}),
        # There are no empty sets: a set that loses its last element is removed.
        ("DELETE ss :all", {"ss": None}),
        ("DELETE gone :ss", {}),
        ("DELETE m.gone :ss", {}),
    ],
)
def test_actions(text: str, changed: dict[str, Any]) -> None:
    assert changes(text) == changed


# Right-hand sides see the item as it was before, so two attributes can be swapped.
def test_everything_is_read_before_anything_is_written() -> None:
    assert changes("SET n = s, s = n") == {"n": {"S": "a"}, "s": {"N": "1"}}
    assert changes("SET m = :m, a = m.x")["a"] == {"N": "1"}
    assert changes("REMOVE n SET a = n") == {"n": None, "a": {"N": "1"}}


# Indexes refer to the list before the update; those past its end append, in ascending order.
@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("SET l[1] = :n", numbers("0", "9", "2", "3")),
        ("SET l[9] = :n", numbers("0", "1", "2", "3", "9")),
        ("SET l[9] = n, l[7] = :n", numbers("0", "1", "2", "3", "9", "1")),
        ("REMOVE l[0], l[1]", numbers("2", "3")),
        ("REMOVE l[3], l[0]", numbers("1", "2")),
        ("REMOVE l[0] SET l[1] = :n", numbers("9", "2", "3")),
        ("SET l[5] = :n REMOVE l[3]", numbers("0", "1", "2", "9")),
        ("SET l[2] = l[0], l[0] = l[2]", numbers("2", "1", "0", "3")),
        ("ADD l[3] :n", numbers("0", "1", "2", "12")),
    ],
)
def test_list_elements(text: str, after: dict[str, Any]) -> None:
    assert changes(text) == {"l": after}


def test_removing_past_the_end_changes_nothing() -> None:
    assert changes("REMOVE l[9]") == {}


def test_the_item_before_is_left_alone_and_shared() -> None:
    before = deepcopy(ITEM)
    after = compiled("SET m.y.z = :n, l[0] = :n REMOVE s ADD ss :ss").apply(before, item_size(before))
    assert before == ITEM
    assert after["ns"] is before["ns"]
    assert after["m"]["M"]["x"] is before["m"]["M"]["x"]


INVALID_PATH = "The document path provided in the update expression is invalid for update"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET gone.a = :n", INVALID_PATH),
        ("SET m.x.a = :n", INVALID_PATH),
        ("SET m[0] = :n", INVALID_PATH),
        ("SET l.a = :n", INVALID_PATH),
        ("REMOVE gone[0]", INVALID_PATH),
        ("DELETE gone.a :ss", INVALID_PATH),
        ("SET a = gone", MISSING),
        ("SET a = l[9]", MISSING),
        ("SET a = gone + :n", MISSING),
        # The default is evaluated even if it is not needed.
        ("SET a = if_not_exists(n, gone)", MISSING),
        ("SET a = s + :n", WRONG_TYPE),
        ("SET a = list_append(s, :l)", WRONG_TYPE),
        ("SET a = if_not_exists(gone, :s) + :n", WRONG_TYPE),
        ("ADD s :n", WRONG_TYPE),
        ("ADD ss :ns", WRONG_TYPE),
        ("DELETE n :ss", WRONG_TYPE),
        # A wrong path is reported before a missing attribute.
        ("SET a = gone, m.q.r = :n", INVALID_PATH),
    ],
)
def test_items_that_an_update_does_not_fit(text: str, message: str) -> None:
    with rejected(message):
        compiled(text).apply(ITEM, item_size(ITEM))


TYPE = "Incorrect operand type for operator or function; "


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ADD a :s", TYPE + "operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("ADD a :l", TYPE + "operator: ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("DELETE a :n", TYPE + "operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"),
        ("SET a = :n + :s", TYPE + "operator or function: +, operand type: S"),
        ("SET a = list_append(:l, :n)", TYPE + "operator or function: list_append, operand type: N"),
        (
            "SET a = if_not_exists(b)",
            "Incorrect number of operands for operator or function; operator or function: if_not_exists, "
            "number of operands: 1",
        ),
        (
            "SET a = if_not_exists(:s, :n)",
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "SET a = if_not_exists(b, b)",
            "The first operand must be distinct from the remaining operands for this operator or function; "
            "operator: if_not_exists, first operand: [b]",
        ),
        (
            "SET a = :n REMOVE a.b",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [a], path two: [a, b]",
        ),
        (
            "SET a.b = :n ADD a[0] :n",
            "Two document paths conflict with each other; must remove or rewrite one of these paths; "
            "path one: [a, b], path two: [a, [0]]",
        ),
        # Undefined values are reported from the end; overlapping paths before any value.
        (
            "SET a = :w1, b = :w2",
            "An expression attribute value used in expression is not defined; attribute value: :w2",
        ),
        (
            "SET a = :w1, a = :w2",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [a], path two: [a]",
        ),
    ],
)
def test_what_fits_no_item(text: str, error: str) -> None:
    with rejected(f"Invalid UpdateExpression: {error}"):
        compiled(text)


def test_attributes_are_those_written_and_nested_those_reached_into() -> None:
    made = compiled("SET a.b = c.d REMOVE e[0] ADD f :n")
    assert made.attributes == {"a", "e", "f"}
    assert made.nested == {"a", "c", "e"}


# Only the values at the named paths are returned, not the whole attributes around them.
@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET n = :n REMOVE s", {"n": {"N": "1"}, "s": {"S": "a"}}, {"n": {"N": "9"}}),
        ("SET a = :n", {}, {"a": {"N": "9"}}),
        ("SET m.x = :n", {"m": {"M": {"x": {"N": "1"}}}}, {"m": {"M": {"x": {"N": "9"}}}}),
        ("SET l[1] = :n", {"l": numbers("1")}, {"l": numbers("9")}),
        ("SET l[9] = :n", {}, {}),
        ("DELETE ss :all", {"ss": {"SS": ["a", "b"]}}, {}),
    ],
)
def test_updated_views(text: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    made = compiled(text)
    assert made.updated(ITEM) == old
    assert made.updated(made.apply(ITEM, item_size(ITEM))) == new


def test_a_text_is_compiled_once_for_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SET #seen = :once ADD n :once"
    first = update(text, Bindings({"#seen": "x"}, {":once": {"N": "1"}}))
    monkeypatch.setattr(import_module("sortkey.expressions.update"), "parse_update", None)
    second = update(text, Bindings({"#seen": "y"}, {":once": {"N": "2"}}))
    assert first.apply({}, 0) == {"x": {"N": "1"}, "n": {"N": "1"}}
    assert second.apply({}, 0) == {"y": {"N": "2"}, "n": {"N": "2"}}


# 150 × list_append of a long value took 25 s and gigabytes before its item was found to be too large.
@pytest.mark.slow
@pytest.mark.parametrize("form", ["list_append(:v, :v)", ":v", "if_not_exists(x, :v)", "kept"])
def test_values_that_are_too_large_together_are_not_all_computed(form: str) -> None:
    names = {f"#{number}": f"a{number}" for number in range(140)}
    values = {":v": {"L": [{"N": "1"}] * 100_000}}
    text = "SET " + ", ".join(f"{name} = {form}" for name in names)
    item = {"kept": values[":v"]}
    made = update(text, Bindings(names, values if ":v" in form else None))
    computed = 0

    def counted(value: Any) -> int:
        nonlocal computed
        computed += 1
        return value_size(value)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(import_module("sortkey.expressions.update"), "value_size", counted)
        with rejected("Item size to update has exceeded the maximum allowed size"):
            made.apply(item, item_size(item))
    assert computed <= 2


def test_small_updates_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("sortkey.expressions.update"), "value_size", None)
    compiled("SET n = :n, l = list_append(l, :l) ADD ss :ss").apply(ITEM, item_size(ITEM))
