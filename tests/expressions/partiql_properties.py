"""Whatever the text, there is a statement or an error of DynamoDB, and never another exception."""

from __future__ import annotations

import contextlib

from hypothesis import example, given
from hypothesis import strategies as st

from sortkey.errors import ValidationException
from sortkey.expressions.partiql_lexer import tokens
from sortkey.expressions.partiql_parser import parse_statement

words = st.sampled_from(
    """
    SELECT * a b."c" FROM shop "x"."y" WHERE = <> < BETWEEN AND OR NOT IN IS MISSING NULL ( ) [ ] { } << >> , : . ? 1 -
    'x' 'a': true size begins_with(a, set_add( INSERT INTO VALUE UPDATE SET REMOVE DELETE RETURNING ALL MODIFIED OLD NEW
    EXISTS( ORDER BY DESC ; + list_append( `x` @ # \\ -- /*
    """.split()
)


@given(st.lists(words, max_size=25).map(" ".join))
@example("SELECT * FROM shop WHERE " + "(" * 8000)
@example("SELECT * FROM shop WHERE " + "NOT " * 2000 + "a = 1")
@example("SELECT * FROM shop WHERE a = " + "-" * 8000)
@example("SELECT * FROM shop WHERE a = " + "9" * 8000)
@example("SELECT a" + "[0]" * 2000 + " FROM shop")
def test_any_words_have_an_answer(text: str) -> None:
    with contextlib.suppress(ValidationException):
        parse_statement(text)


@given(st.text(max_size=60))
def test_any_text_has_an_answer(text: str) -> None:
    with contextlib.suppress(ValidationException):
        parse_statement(text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.text(max_size=5))
def test_quoted_texts_are_one_token(text: str, rest: str) -> None:
    for quote, kind in (("'", "string"), ('"', "name")):
        first = tokens(f"{quote}{text.replace(quote, quote * 2)}{quote} {rest}")[0]
        assert (first.type, first.value) == (kind, text)
