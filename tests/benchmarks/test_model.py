"""The benchmark of the model: both sides do the same work."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.model import OFFERED, Bare, Modelled, loaded, offers


@pytest.mark.slow
def test_both_updates_return_the_same_row() -> None:
    with loaded("memory:") as db:
        updated: Any = Modelled(db).update(7)
        row = db.client.get_item(TableName="prices", Key=updated.key.key())["Item"]
        assert Bare(db.client).update(7) == row


@pytest.mark.slow
def test_parts_and_whole_items_are_of_the_same_rows() -> None:
    with loaded("memory:") as db:
        modelled = Modelled(db)
        reads: list[Any] = [modelled.page_of_whole_items, modelled.page_with_only, modelled.page_of_projected_items]
        first, *others = ([(each.store, each.product) for each in read(0)] for read in reads)
        assert len(first) == OFFERED
        assert others == [first, first]
        assert modelled.count(0) == len(offers())
