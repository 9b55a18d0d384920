"""The benchmark of favourites, on a scale that is small enough for a test."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from benchmarks._favourites_costs import (
    CountInOnePartition,
    CountWithoutIndex,
    cost_of_a_mark,
    units_of_a_count,
    units_of_a_mark,
)
from benchmarks._favourites_follower import counted_per_second
from benchmarks._favourites_top import DEEP, PostgresCounts, tied, tied_in_postgres
from benchmarks.favourites import TIED_SIZES, lag_of_counts, mark_beside_put, marks, tied_sizes, top_list
from sortkey_services.favourites.model import FavouriteCount


@pytest.mark.slow
def test_marks_are_acknowledged_and_counted(tmp_path: Path) -> None:
    lag = asyncio.run(lag_of_counts(tmp_path, rate=200, seconds=0.5))
    assert 0 <= lag.p50 <= lag.p99 <= lag.worst
    assert lag.rate > 0


def test_marks_and_puts_are_timed(tmp_path: Path) -> None:
    assert all(each > 0 for each in asyncio.run(mark_beside_put(tmp_path, rounds=1, calls=3)))


@pytest.mark.slow
@pytest.mark.parametrize(("shards", "processes"), [(1, 1), (4, 2)])
def test_a_backlog_is_counted(tmp_path: Path, shards: int, processes: int) -> None:
    assert counted_per_second(tmp_path, shards, processes, marks(300, Random(1))) > 0


def test_a_top_list_costs_read_units() -> None:
    assert asyncio.run(top_list(restaurants=300, limit=20, calls=3)).units > 0


def test_a_page_of_ties_costs_the_same_whatever_their_number_is() -> None:
    few, many = (asyncio.run(tied("memory:", size, calls=2)) for size in (200, 1000))
    assert few.first[1:] == many.first[1:]
    assert few.deep is many.deep is None


@pytest.mark.slow
def test_a_page_in_the_middle_of_ties_is_the_one_that_postgresql_has(postgres_url: str) -> None:
    size = 1000 * DEEP + 100
    ours = asyncio.run(tied("memory:", size, calls=2))
    assert ours.deep is not None
    assert ours.deep.units == ours.first.units
    peer = PostgresCounts(postgres_url)
    peer.load(size)
    assert peer.top(2) == [("r0000000", 1), ("r0000001", 1)]
    assert all(took > 0 for took in tied_in_postgres(peer, size, calls=2))
    peer.close()


def test_sizes_can_be_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tied_sizes() == TIED_SIZES
    monkeypatch.setenv("SORTKEY_FAVOURITES_RESTAURANTS", "5000")
    assert tied_sizes() == (1000, 5000)


# A key of an index that changes is two writes: the old row goes, the new one comes.
def test_a_sharded_top_list_costs_no_more_than_one_partition() -> None:
    assert units_of_a_count(CountWithoutIndex) == 1
    assert units_of_a_count(CountInOnePartition) == units_of_a_count(FavouriteCount) == 3


@pytest.mark.slow
def test_counts_in_transactions_cost_more() -> None:
    # The item, and a row of each of its two indexes.
    assert units_of_a_mark() == 3
    alone, busy = cost_of_a_mark(1, 200), cost_of_a_mark(80, 200)
    assert units_of_a_mark() < busy.ours < alone.ours < alone.by_add
    assert busy.ours < busy.by_add
    assert alone.dollars(2000)[0] == pytest.approx(2 * alone.dollars(1000)[0])
