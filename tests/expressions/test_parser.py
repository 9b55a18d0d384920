"""From text to tree, and the messages of syntax errors."""

from __future__ import annotations

import pytest

from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_condition, parse_projection, parse_update
from sortkey.expressions.tree import (
    Add,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Delete,
    Junction,
    Membership,
    Not,
    Path,
    Remove,
    Set,
    Value,
)

A, B, C = Path(("a",)), Path(("b",)), Path(("c",))
V = Value(":v")


def equal(path: Path) -> Comparison:
    return Comparison("=", path, V)


def test_and_binds_tighter_than_or_and_not_tighter_than_and() -> None:
    tree = parse_condition("a = :v OR NOT b = :v AND c = :v")
    assert tree == Junction("OR", (equal(A), Junction("AND", (Not(equal(B)), equal(C)))))


def test_parentheses_group() -> None:
    tree = parse_condition("(a = :v OR b = :v) AND c = :v")
    assert tree == Junction("AND", (Junction("OR", (equal(A), equal(B))), equal(C)))


# BETWEEN has an AND of its own.
def test_between_takes_its_own_and() -> None:
    tree = parse_condition("a BETWEEN :v AND b AND c = :v")
    assert tree == Junction("AND", (Between(A, V, B), equal(C)))


def test_an_operand_may_stand_in_parentheses() -> None:
    assert parse_condition("(a) = (:v)") == equal(A)
    assert parse_condition("((a) = (:v))") == equal(A)


def test_functions_and_lists() -> None:
    assert parse_condition("contains(a, :v)") == Call("contains", (A, V))
    assert parse_condition("size (a) IN (b, :v)") == Membership(Call("size", (A,)), (B, V))


def test_paths_hold_names_placeholders_and_indexes() -> None:
    assert parse_projection("a.#b[0][12] . c") == (Path(("a", "#b", 0, 12, "c")),)


def test_update_sections_come_in_any_order_and_case() -> None:
    assert parse_update("remove a add b :v SET c = a - b delete d :v") == (
        Remove(A),
        Add(B, V),
        Set(C, Arithmetic("-", A, B)),
        Delete(Path(("d",)), V),
    )


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("a =", "<EOF>", "="),
        ("= :v", "=", "= :v"),
        ("a = = :v", "=", "= = :v"),
        ("a = :v)", ")", ":v)"),
        ("(a = :v", "<EOF>", ":v"),
        ("a = :v $", "$", ":v $"),
        ("a", "<EOF>", "a"),
        ("a = :v AND", "<EOF>", "AND"),
        ("a AND b = :v", "AND", "a AND b"),
        ("(a) AND b = :v", "AND", ") AND b"),
        ("a = (b = :v)", "=", "b = :v"),
        ("(a = :v) = b", "=", ") = b"),
        ("a = 5", "5", "= 5"),
        ("attribute_exists()", ")", "()"),
        ("a IN :v", ":v", "IN :v"),
        ("a IN (:v,)", ")", ",)"),
        ("a[x] = :v", "x", "[x]"),
        ("a[01] = :v", "1", "01]"),
        ("a.set = :v", "set", ".set ="),
        ("_a = :v", "_", "_a"),
        ("   ", "<EOF>", "   "),
    ],
)
def test_a_syntax_error_names_the_token_and_its_neighbours(text: str, token: str, near: str) -> None:
    with pytest.raises(InvalidExpression) as error:
        parse_condition(text)
    assert str(error.value) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("SET a", "<EOF>", "a"),
        ("SET a = :v + b + c", "+", "b + c"),
        ("SET a = (b + c) + d", "+", ") + d"),
        ("SET a = if_not_exists(b + c, d)", "+", "b + c"),
        ("SET a += :v", "+", "a +="),
        ("ADD a b", "b", "a b"),
        ("REMOVE (a)", "(", "REMOVE (a"),
        ("SET a = :v, REMOVE b", "REMOVE", ", REMOVE b"),
        ("a = :v", "a", "a ="),
        (" ", "<EOF>", " "),
    ],
)
def test_syntax_errors_of_updates(text: str, token: str, near: str) -> None:
    with pytest.raises(InvalidExpression) as error:
        parse_update(text)
    assert str(error.value) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize("text", ["((a = :v))", "((a)) = :v", "NOT ((a = :v))", "((a = :v)) AND", "(" * 999 + "a"])
def test_redundant_parentheses_are_rejected_where_they_close(text: str) -> None:
    with pytest.raises(InvalidExpression, match="The expression has redundant parentheses;"):
        parse_condition(text)


# No text within the size limit may exhaust the interpreter's stack.
@pytest.mark.parametrize("opening", ["NOT ", "NOT (", "size(", "a = b AND ("])
def test_deep_nesting_ends_in_an_answer(opening: str) -> None:
    with pytest.raises(InvalidExpression, match="too many operators; operator count: 301"):
        parse_condition(opening * (4000 // len(opening)) + "a = b")


def test_each_section_may_come_once() -> None:
    with pytest.raises(InvalidExpression, match='The "SET" section can only be used once in an update expression;'):
        parse_update("SET a = :v REMOVE b SET c = :v")


def test_empty_and_long_texts() -> None:
    with pytest.raises(InvalidExpression, match="The expression can not be empty;"):
        parse_projection("")
    with pytest.raises(InvalidExpression, match="maximum allowed size; expression size: 4097"):
        parse_projection("a" * 4097)
    assert parse_projection("a" * 4096)
