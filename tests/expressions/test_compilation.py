"""What was compiled is kept, but the texts that clients choose cannot fill the memory with it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress

import pytest

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.compilation import CACHED_LONG_TEXTS, CACHED_TEXTS, LONG_TEXT, cached_by_text
from sortkey.expressions.condition import condition
from sortkey.expressions.key_condition import key_condition
from sortkey.expressions.projection import projection
from sortkey.expressions.update import update

TERMS = 140


def joined(start: str, joint: str, term: Callable[[int], str]) -> str:
    """A text of many terms."""
    return start + joint.join(map(term, range(TERMS)))


def conditions(number: int) -> None:
    condition(joined("", " OR ", lambda at: f"a{at}<b{number}"), Bindings(None, None), "FilterExpression")


def key_conditions(number: int) -> None:
    key_condition(joined("", " AND ", lambda at: f"a{at}=b{number}"), Bindings(None, None))


def key_conditions_with_values(number: int) -> None:
    text = joined("", " AND ", lambda at: f"a{number}x{at}=:v")
    key_condition(text, Bindings(None, {":v": {"S": "x"}}))


def updates(number: int) -> None:
    update(joined("SET ", ", ", lambda at: f"a{at}=b{number}+b{at}"), Bindings(None, None))


def projections(number: int) -> None:
    projection(joined("", ", ", lambda at: f"a{at}.b{number}"), Bindings(None, None))


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


# Without a bound on their sizes, a thousand texts of conditions took 300 MB, and so did those of updates.
@pytest.mark.parametrize("compile_text", [conditions, key_conditions, key_conditions_with_values, updates, projections])
@pytest.mark.slow
def test_more_long_texts_than_are_kept_take_no_more_memory(compile_text: Callable[[int], None]) -> None:
    counts = []
    for first in (0, CACHED_LONG_TEXTS, 2 * CACHED_LONG_TEXTS):
        for number in range(first, first + CACHED_LONG_TEXTS):
            with suppress(ValidationException):
                compile_text(number)
        counts.append(objects())
    # Each text takes hundreds of objects, as long as it is kept.
    assert counts[-1] - counts[0] < 50 * CACHED_LONG_TEXTS


@pytest.mark.parametrize(("length", "kept"), [(LONG_TEXT, CACHED_TEXTS), (LONG_TEXT + 1, CACHED_LONG_TEXTS)])
def test_the_last_texts_are_compiled_once(length: int, kept: int) -> None:
    compiled: list[str] = []
    cached = cached_by_text(compiled.append)
    for _ in range(2):
        for number in range(kept):
            cached(f"{number:{length}}")
    assert len(compiled) == kept
    cached(f"{kept:{length}}")
    cached(f"{0:{length}}")
    assert len(compiled) == kept + 2
