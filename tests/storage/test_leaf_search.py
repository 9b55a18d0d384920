"""Finding leaves by key, in the tree of a commit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from sortkey.storage.leaf_search import END, START, DamagedRange, LeafSearch
from sortkey.storage.page_tree import PageUse
from sortkey.storage.pages import Pages, newest_meta
from tests.storage.byte_store import open_store
from tests.storage.large_folder import KEYS, PAGE, branch_of, leaves_of, overwrite


@pytest.fixture
def tree(large_folder: Path) -> Iterator[LeafSearch]:
    file = os.open(large_folder / "data.mdb", os.O_RDONLY)
    read = partial(os.pread, file)
    meta = newest_meta(read)
    use = PageUse(meta, os.fstat(file).st_size)
    yield LeafSearch(Pages(read, meta, use.take_long), meta.main, {})
    os.close(file)


def test_leaves_follow_one_another_from_the_start_to_the_end(tree: LeafSearch, large_folder: Path) -> None:
    places = list(tree.leaves_from(START))
    assert [place.number for place in places] == [number for number, _ in leaves_of(large_folder)]
    assert [place.high for place in places] == [*(place.low for place in places[1:]), END]
    assert places[0].low == START


def test_leaves_from_a_key_begin_with_the_leaf_that_has_it(tree: LeafSearch) -> None:
    every = list(tree.leaves_from(START))
    for at, place in enumerate(every):
        assert list(tree.leaves_from(place.low + b"\0")) == every[at:]


def test_each_key_is_found_on_its_leaf(tree: LeafSearch, large_folder: Path) -> None:
    for number, keys in leaves_of(large_folder):
        for key in cast(list[bytes], keys):
            place = tree.leaf_with(key)
            assert place is not None
            assert place.number == number
    last = tree.leaf_with(END)
    assert last is not None
    assert last.high == END


def test_leaf_before_ends_where_the_next_one_begins(tree: LeafSearch) -> None:
    every = list(tree.leaves_from(START))
    assert tree.leaf_before(START) is None
    assert [tree.leaf_before(place.low) for place in every[1:]] == every[:-1]


def test_damaged_page_above_the_leaves_names_its_keys(tree: LeafSearch, large_folder: Path) -> None:
    overwrite(large_folder, branch_of(large_folder, KEYS[2000]) * PAGE, b"x")
    with pytest.raises(DamagedRange) as raised:
        tree.leaf_with(KEYS[2000])
    assert raised.value.place.low <= KEYS[2000] < raised.value.place.high


def test_tree_without_pages_has_no_leaf(tmp_path: Path) -> None:
    store = open_store(tmp_path / "data")
    store.write(lambda batch: batch.transaction.delete(b"\0\0\0\0format"))
    store.close()
    file = os.open(tmp_path / "data" / "data.mdb", os.O_RDONLY)
    read = partial(os.pread, file)
    meta = newest_meta(read)
    tree = LeafSearch(Pages(read, meta, PageUse(meta, 0).take_long), meta.main, {})
    assert tree.leaf_with(b"a") is None
    assert list(tree.leaves_from(START)) == []
    os.close(file)
