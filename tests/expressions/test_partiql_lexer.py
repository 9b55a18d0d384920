"""The tokens of PartiQL: a text of any kind is read once, from its beginning to its end."""

from __future__ import annotations

import pytest

from sortkey.expressions.partiql_lexer import tokens
from sortkey.limits import STATEMENT_CHARACTERS


# A server reads statements on its loop. Digits that a letter follows once took minutes.
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1" * (STATEMENT_CHARACTERS - 1) + "a", 3),
        ("1" * 4000 + "." + "1" * 4000 + "a", 5),
        ("1e" + "1" * 8000 + "a", 3),
        ("'" + "a" * 8000, 3),
        ("-" * STATEMENT_CHARACTERS, 1),
        ("/* " * 2700, 2),
    ],
)
def test_a_long_text_is_read_at_once(text: str, number: int) -> None:
    assert len(tokens(text)) == number


@pytest.mark.parametrize("text", ["12a", "/* SELECT", "1e"])
def test_what_is_no_token_is_unknown(text: str) -> None:
    assert tokens(text)[0].type == "unknown"


@pytest.mark.parametrize("text", ["1", "1.", "1.5", ".5", "0.5e-3", "1E5"])
def test_numbers(text: str) -> None:
    assert [(each.type, each.value) for each in tokens(text)] == [("number", text), ("end", "")]
