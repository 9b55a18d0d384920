"""Texts that nest as deeply as 4 KB allow: parsed, compiled and evaluated within a bounded part of the stack."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import Any
from unittest.mock import patch

import pytest

from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, condition, key_condition, projection, update
from sortkey.limits import EXPRESSION_BYTES

FRAMES = 700
"""What `parser` promises, and a little for the caller; the interpreter allows 1000."""
ITEM: dict[str, Any] = {"a": {"S": "x"}, "b": {"N": "1"}, "l": {"L": []}}

CONDITIONS = [
    ("not ", "a<b", ""),
    ("NOT (", "a<b", ")"),
    ("not not (", "a<b", ")"),
    ("(", "a<b", ")"),
    ("a=b and(", "a<b", ")"),
    ("a=b or a=b and(", "a<b", ")"),
    ("a=b or a=b and not(", "a<b", ")"),
    ("a=b or a=b or(", "a<b", ")"),
    ("(", "a", ")"),
    ("size(", "a", ")"),
    ("b<size(", "a", ")"),
    ("contains(a,", "a", ")"),
    ("unknown(", "a", ")"),
    ("a in (", "a", ")"),
    ("a=b.", "a", ""),
    ("a", "=b", "[0]"),
]
UPDATES = [
    ("if_not_exists(c,", "a", ")"),
    ("list_append(l,", "l", ")"),
    ("size(", "a", ")"),
    ("(", "a", ")"),
    ("(b+", "b", ")"),
    ("b-(", "b", ")"),
    ("a.", "a", ""),
    ("a", "", "[0]"),
]


def texts(opening: str, middle: str, closing: str, room: int) -> Iterator[str]:
    """From what is allowed to as much as fits."""
    most = (room - len(middle)) // (len(opening) + len(closing))
    for levels in (75, 149, 299, 300, 301, most):
        yield opening * min(levels, most) + middle + closing * min(levels, most)


@contextmanager
def little_stack() -> Iterator[None]:
    """Nothing is cached, and only FRAMES more calls may be open."""
    cached = (("condition", "_program"), ("update", "_program"), ("key_condition", "_compiled"))
    depth = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        depth += 1
    limit = sys.getrecursionlimit()
    with ExitStack() as uncached:
        for module, name in cached:
            found = import_module(f"sortkey.expressions.{module}")
            uncached.enter_context(patch.object(found, name, getattr(found, name).__wrapped__))
        sys.setrecursionlimit(depth + FRAMES)
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


@pytest.mark.parametrize(("opening", "middle", "closing"), CONDITIONS)
def test_conditions(opening: str, middle: str, closing: str) -> None:
    for text in texts(opening, middle, closing, EXPRESSION_BYTES):
        with little_stack(), suppress(ValidationException):
            test = condition(text, Bindings(None, None), "FilterExpression")
            test(ITEM)
            list(test.steps(ITEM))
        with little_stack(), pytest.raises(ValidationException):
            key_condition(text, Bindings(None, None)).resolve((), ())


@pytest.mark.parametrize(("opening", "middle", "closing"), UPDATES)
def test_updates(opening: str, middle: str, closing: str) -> None:
    for text in texts(opening, middle, closing, EXPRESSION_BYTES - len("SET x=")):
        for whole in (f"SET x={text}", f"REMOVE {text}", f"ADD {text} :v"):
            with little_stack(), suppress(ValidationException):
                update(whole, Bindings(None, None)).apply(ITEM, 0)


@pytest.mark.parametrize(("opening", "closing"), [("a.", ""), ("", "[0]"), ("a,", ""), ("(", ")")])
def test_projections(opening: str, closing: str) -> None:
    for text in texts(opening, "a", closing, EXPRESSION_BYTES):
        with little_stack(), suppress(ValidationException):
            projection(text, Bindings(None, None))


# DynamoDB counts operators, not levels: what has no more than 300 is accepted, however deep it is.
@pytest.mark.parametrize(("opening", "closing"), [("not ", ""), ("not (", ")"), ("(not ", ")"), ("not not (", ")")])
def test_deep_is_not_wrong(opening: str, closing: str) -> None:
    levels = 298 // opening.count("not")
    text = opening * levels + "a<b" + closing * levels
    with little_stack():
        assert condition(text, Bindings(None, None), "FilterExpression")(ITEM) is (
            opening.count("not") * levels % 2 == 1
        )
