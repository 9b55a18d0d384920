"""Tokens, and the part of the text that an error message quotes."""

from __future__ import annotations

import pytest

from sortkey.expressions.parser import tokens, vicinity


def types(text: str) -> list[str]:
    return [token.type for token in tokens(text)]


def test_keywords_are_known_in_any_case() -> None:
    assert types("a AND b and c aNd d") == ["name", "AND", "name", "AND", "name", "AND", "name", "end"]


def test_a_name_may_begin_like_a_keyword() -> None:
    assert types("android inner setting") == ["name", "name", "name", "end"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#a.b[0]", ["#name", ".", "name", "[", "index", "]", "end"]),
        ("a<=:v", ["name", "<=", ":value", "end"]),
        ("a< =b", ["name", "<", "=", "name", "end"]),
        ("a<>b", ["name", "<>", "name", "end"]),
        ("#1 = :2", ["#name", "=", ":value", "end"]),
    ],
)
def test_signs_and_placeholders(text: str, expected: list[str]) -> None:
    assert types(text) == expected


# An index has no leading zeros, so the second zero is a token of its own (and a syntax error).
def test_an_index_has_no_leading_zeros() -> None:
    assert [token.text for token in tokens("a[01]")] == ["a", "[", "0", "1", "]", "<EOF>"]


@pytest.mark.parametrize("character", ["_", "$", "!", '"', "'", ";", "é", "#", ":"])
def test_other_characters_are_unknown(character: str) -> None:
    assert types(f"a {character} b") == ["name", "unknown", "name", "end"]


@pytest.mark.parametrize(
    ("text", "position", "near"),
    [
        ("a = = :v", 2, "= = :v"),
        ("= :v", 0, "= :v"),
        ("a =", 2, "="),
        ("a = ", 2, "= "),
        (" = :v", 0, " = :v"),
        ("a = :v)", 3, ":v)"),
    ],
)
def test_vicinity_reaches_from_the_token_before_to_the_token_after(text: str, position: int, near: str) -> None:
    assert vicinity(text, tokens(text), position) == near
