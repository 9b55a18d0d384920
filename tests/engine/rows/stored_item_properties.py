"""Rows against the sizes of their items, by AWS's rules."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from sortkey.engine.rows import stored_item
from sortkey.engine.rows.stored_item import FRAME_BYTES
from sortkey.values.attribute import normalise_item
from tests.values.strategies import items


# So a row of at most `STEP_BYTES` costs one step, and nobody needs to look at its header.
@given(items)
def test_a_row_is_longer_than_the_size_of_its_item(item: dict[str, Any]) -> None:
    row = stored_item.encode(b"key", *normalise_item(item))
    assert len(row) >= FRAME_BYTES + stored_item.size(row)
