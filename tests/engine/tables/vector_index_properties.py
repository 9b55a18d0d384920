"""Vectors as 32-bit numbers: parsed together, they are what each is by itself."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sortkey.engine.rows.catalog_entries import TableEntry, VectorIndexEntry
from sortkey.engine.tables.vector_index import VectorIndex
from sortkey.errors import ValidationException
from sortkey.values import number
from tests.values.strategies import number_texts, small_numbers

DIMENSIONS = 3

OTHER = ["", " 1", "1_0", "+1", ".5", "5.", "007", "1e3", "nan", "true", "null", "1,2", "[1", "2]", "1e400", "9" * 45]
"""Texts that are no canonical numbers. Those of a search are not made canonical."""


def index() -> VectorIndex:
    entry = VectorIndexEntry("near", 2, 3, "vector", DIMENSIONS, "COSINE", "KEYS_ONLY")
    return VectorIndex(entry, TableEntry("t", 1, "t", 0.0, {"id": "S"}, "id", None))


def by_itself(texts: list[str]) -> bytes | None:
    try:
        return struct.pack(f"<{DIMENSIONS}f", *map(float, texts))
    except (ValueError, OverflowError, struct.error):
        return None


@given(st.lists(number_texts | small_numbers | st.sampled_from(OTHER), min_size=2, max_size=4))
def test_a_vector_is_what_its_numbers_are(texts: list[str]) -> None:
    assert index().packed([{"N": text} for text in texts]) == by_itself(texts)


@given(st.lists(number_texts | small_numbers, min_size=2, max_size=4))
def test_a_vector_is_checked_as_it_is_packed(texts: list[str]) -> None:
    elements: list[dict[str, Any]] = [{"N": number.canonical(text)} for text in texts]
    rejected = False
    try:
        index().check({"vector": {"L": elements}})
    except ValidationException:
        rejected = True
    assert rejected == (index().packed(elements) is None)
