"""Work in slices: an operation that may take long is a generator, which yields whenever a slice of its work is done.

A caller with a thread of its own runs it to its end (`finish`). The endpoint runs a slice each turn of its loop, and
answers other requests in between. The operation has one code for both, so the answers are the same.

Work is counted in units of about a microsecond, by what is done (rows, bytes, evaluations), not by a clock: the same
request always has the same slices.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, TypeVar

Result = TypeVar("Result")

Slices = Generator[None, None, Result]
"""Yields after each slice but the last, and returns the result."""

SLICE_UNITS: Final = 1000

ROW_UNITS: Final = 2
"""To read a row and put its text into an answer."""
COPIED_BYTES_A_UNIT: Final = 1024
"""Of the text of whole rows."""
DECODE_UNITS: Final = 3
DECODED_BYTES_A_UNIT: Final = 128
EVALUATE_UNITS: Final = 2
"""For each operator of a condition."""
EVALUATED_BYTES_A_UNIT: Final = 256
"""For each operator: `contains` may have to look at every byte many times, which takes up to 8 ns for each."""


def finish(slices: Slices[Result]) -> Result:
    """Run all slices at once."""
    try:
        while True:
            next(slices)
    except StopIteration as end:
        result: Result = end.value
        return result


def units_of_text(rows: list[bytes]) -> int:
    """To read rows and put their text into an answer."""
    return ROW_UNITS * len(rows) + sum(map(len, rows)) // COPIED_BYTES_A_UNIT


def units_of_rows(rows: list[bytes], evaluations: int) -> int:
    """To decode rows, to evaluate a condition with so many evaluations, and to encode what is kept of them."""
    length = sum(map(len, rows))
    decode = DECODE_UNITS * len(rows) + length // DECODED_BYTES_A_UNIT
    return decode + evaluations * (EVALUATE_UNITS * len(rows) + length // EVALUATED_BYTES_A_UNIT)
