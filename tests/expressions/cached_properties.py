"""A text is compiled once for all requests, so a request must not depend on what others bound to its placeholders."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, condition, projection, update
from sortkey.values.size import item_size
from tests.expressions.strategies import (
    NAMES,
    bound,
    conditions,
    items,
    paths,
    spell_condition,
    spell_path,
    spell_update,
    updates,
    values,
)

Apply = Callable[[str, Bindings, dict[str, Any]], Any]

PLACEHOLDERS = (":s", ":n", ":ss", ":ns", ":l", ":any")
_numbers = count()


def _with_placeholders(text: str) -> str:
    """Two of the three names become placeholders, which requests may bind to the same name, or not at all."""
    return re.sub(r"(?<![:\w])([ab])\b", r"#\1", text)


def _unseen(text: str) -> str:
    """The same expression in a new text: followed by blanks that no other text has."""
    return text + f"{next(_numbers):b}".translate({ord("0"): " ", ord("1"): "\n"})


def judge(text: str, bindings: Bindings, item: dict[str, Any]) -> Any:
    test = condition(text, bindings, "ConditionExpression")
    return test(item), test.attributes, test.nested


def change(text: str, bindings: Bindings, item: dict[str, Any]) -> Any:
    made = update(text, bindings)
    return made.attributes, made.nested, made.shallow, made.apply(item, item_size(item))


def project(text: str, bindings: Bindings, item: dict[str, Any]) -> Any:
    made = projection(text, bindings)
    return made(item), made.attributes, made.nested


expressions: st.SearchStrategy[tuple[Apply, str]] = st.one_of(
    st.tuples(st.just(judge), conditions.map(spell_condition)),
    st.tuples(st.just(change), updates.map(spell_update)),
    st.tuples(
        st.just(project), st.lists(paths, min_size=1, max_size=3).map(lambda some: ", ".join(map(spell_path, some)))
    ),
)
wild = st.dictionaries(st.sampled_from(PLACEHOLDERS), values, min_size=1)
given_values = bound | st.builds(lambda tame, odd: tame | odd, bound, wild) | wild
given_names = st.dictionaries(st.sampled_from(["#a", "#b"]), st.sampled_from(NAMES), min_size=1)
requests = st.tuples(given_names, given_values, items)


def answer(apply: Apply, text: str, request: tuple[dict[str, str], dict[str, Any], dict[str, Any]]) -> Any:
    names, bound_values, item = request
    bindings = Bindings(names, bound_values)
    try:
        applied = apply(text, bindings, item)
        bindings.check_all_used()
    except ValidationException as error:
        return error.message
    return applied


@given(expressions, st.lists(requests, min_size=2, max_size=4))
def test_a_cached_text_gives_the_same_answer_as_a_new_one(expression: tuple[Apply, str], asked: list[Any]) -> None:
    apply, text = expression[0], _with_placeholders(expression[1])
    for request in asked:
        assert answer(apply, text, request) == answer(apply, _unseen(text), request)
