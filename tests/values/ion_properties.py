"""Ion text: every item is read as it was written."""

from __future__ import annotations

from hypothesis import given

from sortkey.values import ion
from sortkey.values.attribute import Item, normalise_item
from tests.values.strategies import items
from tests.values.test_ion import needs_ion


@needs_ion
@given(items)
def test_an_item_is_read_as_it_was_written(item: Item) -> None:
    canonical = normalise_item(item).item
    line = b"%b {Item:%b}" % (ion.VERSION, ion.written(canonical))
    assert b"\n" not in line
    assert normalise_item(ion.read(line)).item == canonical
