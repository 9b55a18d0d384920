"""Errors that no bindings can avoid: reserved names, unknown functions, misplaced functions."""

from __future__ import annotations

import pytest

from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_condition, parse_projection, parse_update
from sortkey.expressions.tree_checks import RESERVED_WORDS

RESERVED = "Attribute name is a reserved keyword; reserved keyword: "
UNKNOWN = "Invalid function name; function: "
MISPLACED = "The function is not allowed to be used this way in an expression; function: "


def test_aws_lists_573_reserved_words() -> None:
    assert len(RESERVED_WORDS) == 573


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Status = :v", RESERVED + "Status"),
        ("a.name = :v", RESERVED + "name"),
        ("foo(a)", UNKNOWN + "foo"),
        ("ATTRIBUTE_EXISTS(a)", UNKNOWN + "ATTRIBUTE_EXISTS"),
        ("size(a)", MISPLACED + "size"),
        ("contains(a, :v) = :v", MISPLACED + "contains"),
        ("attribute_exists(contains(a, :v))", MISPLACED + "contains"),
        ("a = if_not_exists(a, b)", "The function is not allowed in a condition expression; function: if_not_exists"),
        ("a[4294967295] = :v", "List index is not within the allowable range; index: [4294967295]"),
        # Of several errors, the first in the text; a function before its arguments.
        ("foo(status)", UNKNOWN + "foo"),
        ("size(status)", MISPLACED + "size"),
        ("status = :v AND foo(a)", RESERVED + "status"),
    ],
)
def test_conditions(text: str, error: str) -> None:
    with pytest.raises(InvalidExpression) as raised:
        parse_condition(text)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SET status = :v", RESERVED + "status"),
        ("SET a = size(b)", "The function is not allowed in an update expression; function: size"),
        ("SET a = if_not_exists(b, list_append(c, d))", MISPLACED + "list_append"),
        ("SET a = list_append(b, c) + d", MISPLACED + "list_append"),
        ("SET a = IF_NOT_EXISTS(a, :v)", UNKNOWN + "IF_NOT_EXISTS"),
    ],
)
def test_updates(text: str, error: str) -> None:
    with pytest.raises(InvalidExpression) as raised:
        parse_update(text)
    assert str(raised.value) == error


def test_projections() -> None:
    with pytest.raises(InvalidExpression, match=RESERVED + "status"):
        parse_projection("a, status")


# A syntax error anywhere comes before any of these.
def test_syntax_is_judged_first() -> None:
    with pytest.raises(InvalidExpression, match="Syntax error"):
        parse_condition("foo(status) AND a")
