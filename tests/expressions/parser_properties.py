"""The parser reads back every tree that is written as text, and answers every other text with an error."""

from __future__ import annotations

import contextlib

from hypothesis import example, given
from hypothesis import strategies as st

from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_condition, parse_projection, parse_update, tokens
from sortkey.expressions.tree import Action, Condition, Path
from tests.expressions.strategies import conditions, paths, spell_condition, spell_path, spell_update, updates


@given(conditions)
def test_conditions_round_trip(tree: Condition) -> None:
    assert parse_condition(spell_condition(tree)) == tree


@given(updates)
def test_updates_round_trip(actions: tuple[Action, ...]) -> None:
    assert parse_update(spell_update(actions)) == actions


@given(st.lists(paths, min_size=1, max_size=5))
def test_projections_round_trip(wanted: list[Path]) -> None:
    assert parse_projection(", ".join(map(spell_path, wanted))) == tuple(wanted)


# Spaces only separate: without them, or with many, the tree is the same.
@given(conditions)
def test_spaces_do_not_matter(tree: Condition) -> None:
    words = [token.text for token in tokens(spell_condition(tree))[:-1]]
    assert parse_condition(" \n".join(words)) == tree


# Whatever the text, there is a tree or an error, and never another exception.
@given(st.text(st.sampled_from("ab#:v.,()[]0<>=+- \nANDORTINSEM_é"), max_size=60))
@example("(" * 4096)
@example("NOT " * 1000)
def test_any_text_has_an_answer(text: str) -> None:
    for parse in (parse_condition, parse_update, parse_projection):
        with contextlib.suppress(InvalidExpression):
            parse(text)


@given(st.text(max_size=60))
def test_tokens_cover_the_text(text: str) -> None:
    covered = 0
    for token in tokens(text)[:-1]:
        assert text[covered : token.start].strip(" \t\r\n\f") == ""
        assert text[token.start : token.end] == token.text
        covered = token.end
    assert text[covered:].strip(" \t\r\n\f") == ""
