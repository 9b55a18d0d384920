"""A large folder is opened without reading its leaves. No leaf is read by LMDB before it was checked."""

from __future__ import annotations

import errno
import logging
import random
import re
import threading
from functools import partial
from pathlib import Path
from typing import cast

import lmdb
import pytest

from sortkey.storage import DamagedFolder, Transaction, ascending, descending, environment, seal
from sortkey.storage.pages import ENTRY_BYTES, Damage
from tests.storage.byte_store import ByteStore, open_store, put
from tests.storage.large_folder import (
    HEADER,
    KEYS,
    LONG,
    PAGE,
    branch_of,
    change,
    get,
    hide,
    leaf_of,
    leaves_of,
    overwrite,
    put_all,
)

DEEP_KEYS = [b"key %06d" % number + b"." * 300 for number in range(0, 20_000, 10)]


@pytest.fixture
def store(large_store: ByteStore) -> ByteStore:
    return large_store


def test_every_record_of_a_sound_folder_is_read_before_and_after_the_check(store: ByteStore) -> None:
    assert store.check is not None
    for checked in (False, True):
        assert not checked or store.check.run()
        with store.read() as snapshot:
            assert [key for key, _ in ascending(snapshot, b"key", b"kez")] == KEYS
            assert [key for key, _ in descending(snapshot, b"key", b"kez")] == KEYS[::-1]
            assert all(snapshot.get(key) for key in KEYS)
            assert snapshot.get(b"key 000005") is None
            assert snapshot.get(LONG) == seal(LONG, b"l" * 3 * PAGE)


# Only the record's own checksum of its key shows it.
@pytest.mark.parametrize("checked", [False, True])
def test_hidden_record_is_an_error_and_distant_ones_are_served(large_folder: Path, checked: bool) -> None:
    hidden = KEYS[2000]
    hide(large_folder, hidden)
    store = open_store(large_folder)
    assert store.check is not None
    assert not checked or store.check.run() is False
    with pytest.raises(Damage, match="is damaged, or its key is"):
        get(store, hidden)
    with store.read() as snapshot, pytest.raises(Damage):
        list(ascending(snapshot, b"key", b"kez"))
    with store.read() as snapshot, pytest.raises(Damage):
        list(descending(snapshot, b"key", b"kez"))
    assert get(store, KEYS[500])
    assert get(store, KEYS[3000])
    store.close()


# A cursor has many leaves checked at once, but is rejected only where it would come to a damaged one.
@pytest.mark.parametrize("first", [0, 500, 1500, 1900])
def test_range_is_served_up_to_the_leaf_before_a_damaged_one(large_folder: Path, first: int) -> None:
    hide(large_folder, KEYS[2000])
    leaves = [[key for key in keys if key in KEYS] for _, keys in leaves_of(large_folder)]
    damaged = next(at for at, keys in enumerate(leaves) if KEYS[1999] in keys)
    store = open_store(large_folder)
    served: list[bytes] = []
    with store.read() as snapshot, pytest.raises(Damage):
        served.extend(key for key, _ in ascending(snapshot, KEYS[first], b"kez"))
    assert served == KEYS[first : KEYS.index(leaves[damaged - 1][0]) + 1]
    store.close()


# LMDB would follow the entries of the page and find fewer.
@pytest.mark.parametrize("offset", [20, 18, 0, 8 + 7])
def test_damaged_header_of_a_leaf_is_an_error(large_folder: Path, offset: int) -> None:
    at = leaf_of(large_folder, KEYS[2000]) * PAGE + offset
    byte = (large_folder / "data.mdb").read_bytes()[at]
    overwrite(large_folder, at, bytes([byte ^ 4]))
    store = open_store(large_folder)
    with pytest.raises(Damage):
        get(store, KEYS[2000])
    assert get(store, KEYS[10])
    store.close()


# Searches for keys between the old and the new bound end in the wrong leaf, which is sound by itself.
@pytest.mark.parametrize("leaf", [5, 20, 41, 60, 75])
@pytest.mark.parametrize("back", [0, 1])
def test_damaged_bound_between_two_leaves_is_an_error(large_folder: Path, leaf: int, back: int) -> None:
    number, keys = leaves_of(large_folder)[leaf]
    first = cast(bytes, keys[0])
    entry = number.to_bytes(6, "little") + len(first).to_bytes(2, "little") + first
    data = (large_folder / "data.mdb").read_bytes()
    # Older copies of the page above may still be in the file.
    for found in re.finditer(re.escape(entry), data):
        at = found.end() - 2
        overwrite(large_folder, at, bytes([data[at] ^ 1]))
    store = open_store(large_folder)
    with pytest.raises(Damage, match="out of order"):
        get(store, KEYS[KEYS.index(first) - back])
    store.close()


def test_damage_above_the_leaves_is_found_when_the_folder_is_opened(large_folder: Path) -> None:
    data = (large_folder / "data.mdb").read_bytes()
    for page in range(2, len(data) // PAGE):
        if data[page * PAGE + 18] == 1:
            overwrite(large_folder, page * PAGE, bytes([data[page * PAGE] ^ 1]))
    with pytest.raises(DamagedFolder, match="another place"):
        open_store(large_folder)


@pytest.fixture
def deep_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Long keys, of which few fit on a page: there is one more level of pages, with many above the leaves."""
    store = open_store(tmp_path / "deep")
    store.write(put_all(DEEP_KEYS))
    store.close()
    monkeypatch.setattr(environment, "CHECKED_BYTES", 0)
    return tmp_path / "deep"


@pytest.mark.slow
def test_deep_folder_is_read_and_emptied_before_the_check_has_ended(deep_folder: Path) -> None:
    store = open_store(deep_folder)
    with store.read() as snapshot:
        assert [key for key, _ in ascending(snapshot, b"key", b"kez")] == DEEP_KEYS
    keys = random.Random(7).sample(DEEP_KEYS, len(DEEP_KEYS))
    for start in range(0, len(keys), 50):
        store.write(partial(change, changed=dict.fromkeys(keys[start : start + 50])))
    with store.read() as snapshot:
        assert list(ascending(snapshot, b"key", b"kez")) == []
    store.close()


# LMDB may merge a page above the leaves with one whose keys no search has met.
def test_delete_checks_the_keys_of_all_pages_above_the_leaves(deep_folder: Path) -> None:
    first, last = DEEP_KEYS[1], DEEP_KEYS[-50]
    page = branch_of(deep_folder, last) * PAGE
    assert page != branch_of(deep_folder, first) * PAGE
    data = (deep_folder / "data.mdb").read_bytes()
    second = int.from_bytes(data[page + HEADER + 2 :][:2], "little")
    overwrite(deep_folder, page + HEADER + second + ENTRY_BYTES, b"\xff")
    store = open_store(deep_folder)
    store.write(put(first, seal(first, b"new")))
    with pytest.raises(Damage, match="out of order"):
        store.write(partial(change, changed={first: None}))
    assert get(store, first) == seal(first, b"new")
    with pytest.raises(Damage, match="out of order"):
        get(store, last)
    store.close()


# A write to one of the two places would change the other as well.
def test_page_that_is_used_twice_is_found_when_the_folder_is_opened(deep_folder: Path) -> None:
    number, other = leaf_of(deep_folder, DEEP_KEYS[1]), leaf_of(deep_folder, DEEP_KEYS[-50])
    page = branch_of(deep_folder, DEEP_KEYS[1]) * PAGE
    data = (deep_folder / "data.mdb").read_bytes()[page : page + PAGE]
    at = next(at for at in range(HEADER, PAGE, 2) if data[at : at + 6] == number.to_bytes(6, "little"))
    overwrite(deep_folder, page + at, other.to_bytes(6, "little"))
    with pytest.raises(DamagedFolder, match="used twice"):
        open_store(deep_folder)


def test_write_next_to_damage_is_rejected_and_changes_nothing(large_folder: Path) -> None:
    hide(large_folder, KEYS[2000])
    store = open_store(large_folder)
    with pytest.raises(Damage):
        store.write(put(KEYS[2001], seal(KEYS[2001], b"new")))
    store.write(put(KEYS[10], seal(KEYS[10], b"new")))
    assert get(store, KEYS[10]) == seal(KEYS[10], b"new")
    store.close()


def test_after_a_sound_check_transactions_are_those_of_lmdb(store: ByteStore) -> None:
    kinds: list[type] = []

    def note(transaction: Transaction) -> None:
        kinds.append(type(transaction))

    store.start_check()
    for thread in threading.enumerate():
        if thread.name == "sortkey-check":
            thread.join()
    with store.read() as snapshot:
        note(snapshot)
    store.write(lambda batch: note(batch.transaction))
    assert kinds == [lmdb.Transaction, lmdb.Transaction]


def test_closing_ends_a_check_that_is_under_way(large_folder: Path) -> None:
    store = open_store(large_folder)
    store.start_check()
    store.close()
    again = open_store(large_folder)
    assert get(again, KEYS[0])
    again.close()


# A disk that cannot read a page says nothing about it, so its keys are an error, and the check goes on and ends.
@pytest.mark.parametrize("level", ["leaf", "page above it"])
def test_page_that_cannot_be_read_is_like_a_damaged_one(
    large_folder: Path, level: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = KEYS[2000]
    number = leaf_of(large_folder, key) if level == "leaf" else branch_of(large_folder, key)
    store = open_store(large_folder)
    check = store.check
    assert check is not None
    read = check._read

    def fail(length: int, offset: int) -> bytes:
        if offset // PAGE == number:
            raise OSError(errno.EIO, "Input/output error")
        return read(length, offset)

    monkeypatch.setattr(check, "_read", fail)
    with caplog.at_level(logging.ERROR):
        store.start_check()
        assert check._thread is not None
        check._thread.join()
    assert check.ended
    assert [f"page {number} cannot be read" in record.message for record in caplog.records] == [True]
    with pytest.raises(Damage, match="cannot be read"):
        check.require(key)
    assert not store._is_checked, "transactions still ask the check"
    if level == "leaf":
        assert get(store, KEYS[10])
    store.close()


def test_found_damage_is_logged_once(large_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    hide(large_folder, KEYS[2000])
    store = open_store(large_folder)
    assert store.check is not None
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            with pytest.raises(Damage):
                get(store, KEYS[2000])
        store.check.run()
    assert [record.message.count("sortkey check") for record in caplog.records] == [1]
    store.close()


# A damaged list of free pages would let LMDB write over the value.
def test_long_value_on_a_page_that_was_listed_as_free_is_an_error(store: ByteStore) -> None:
    assert store.check is not None
    opened = store.check._opened
    opened.take(opened._taken.find(0))
    with pytest.raises(Damage, match="listed as free"):
        get(store, LONG)


def test_new_long_value_takes_pages_that_were_free(store: ByteStore) -> None:
    new = KEYS[3000]
    store.write(put(new, seal(new, b"n" * 3 * PAGE)))
    assert get(store, new) == seal(new, b"n" * 3 * PAGE)
    assert store.check is not None
    assert store.check.run()
