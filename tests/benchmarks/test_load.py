"""The benchmark of bulk writes: all three ways write the same rows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import sortkey as sk
from benchmarks.load import PRICES, Price, batch_writer, others, prices


@pytest.mark.slow
def test_the_ways_write_the_same_rows(our_endpoint: str) -> None:
    with sk.connect(our_endpoint, tables=[PRICES]) as db:
        db.create_tables()
        batch_writer(our_endpoint, 30)
        assert sorted(map(repr, db.scan(Price))) == sorted(map(repr, prices(30, "W")))
        by_hand = list(db.scan_rows(PRICES))
        db.load(prices(30, "W"))
        assert list(db.scan_rows(PRICES)) == by_hand


def test_others_are_measured_meanwhile(tmp_path: Path) -> None:
    alone, during = asyncio.run(others(tmp_path / "data", 2000, 5))
    assert [len(each) for each in alone] == [5, 5, 5]
    assert all(each for each in during)
