"""A large folder is opened without reading its leaves. No leaf is read by LMDB before it was checked."""

from __future__ import annotations

import errno
import logging
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import cast

import lmdb
import pytest

from sortkey.storage import DamagedFolder, Transaction, ascending, descending, environment, seal
from sortkey.storage.meta_pages import Damage, meta_of
from sortkey.storage.page_tree import TreeWalk
from sortkey.storage.tree_pages import Key, Pages
from tests.storage.byte_store import ByteBatch, ByteStore, open_store, put

PAGE = 4096
KEYS = [b"key %06d" % number for number in range(0, 40_000, 10)]
LONG = KEYS[1000]
HEADER = 24


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three levels of pages."""
    folder = tmp_path_factory.mktemp("large") / "data"
    store = open_store(folder)
    for start in range(0, len(KEYS), 500):
        store.write(put_all(KEYS[start : start + 500]))
    store.write(put(LONG, seal(LONG, b"l" * 3 * PAGE)))
    store.close()
    return folder


def put_all(keys: list[bytes]) -> Callable[[ByteBatch], None]:
    def work(batch: ByteBatch) -> None:
        for key in keys:
            batch.put(key, seal(key, b"v" * 60))

    return work


@pytest.fixture
def folder(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that is opened as if it were large."""
    monkeypatch.setattr(environment, "CHECKED_BYTES", 0)
    return Path(shutil.copytree(written, tmp_path / "data"))


@pytest.fixture
def store(folder: Path) -> Iterator[ByteStore]:
    store = open_store(folder)
    yield store
    store.close()


def leaves_of(folder: Path) -> list[tuple[int, list[Key]]]:
    """The numbers and keys of the leaves."""
    data = (folder / "data.mdb").read_bytes()

    def read(length: int, offset: int) -> bytes:
        return data[offset : offset + length]

    newest = max(int.from_bytes(data[at + HEADER + 24 + 96 + 8 :][:8], "little") for at in (0, PAGE))
    meta = meta_of(read, newest)
    pages = Pages(read, meta, len(data))
    return [
        (number, pages.leaf(number, *branch.bounds(at)).keys)
        for _, branch in TreeWalk(pages, meta.main).lowest_branches()
        for at, number in enumerate(branch.children)
    ]


def leaf_of(folder: Path, key: bytes) -> int:
    """The number of the page that has the key."""
    return next(number for number, keys in leaves_of(folder) if key in keys)


def branch_of(folder: Path, key: bytes) -> int:
    """The number of the page above the leaf that has the key."""
    data = (folder / "data.mdb").read_bytes()
    leaf = leaf_of(folder, key)
    return next(number for number, children in branches_of(data) if leaf in children)


def branches_of(data: bytes) -> list[tuple[int, list[int]]]:
    """The numbers of the pages above the leaves, and those of their leaves."""

    def read(length: int, offset: int) -> bytes:
        return data[offset : offset + length]

    newest = max(int.from_bytes(data[at + HEADER + 24 + 96 + 8 :][:8], "little") for at in (0, PAGE))
    meta = meta_of(read, newest)
    walk = TreeWalk(Pages(read, meta, len(data)), meta.main)
    return [(number, list(branch.children)) for number, branch in walk.lowest_branches()]


def overwrite(folder: Path, at: int, new: bytes) -> None:
    with (folder / "data.mdb").open("r+b") as file:
        file.seek(at)
        file.write(new)


def hide(folder: Path, key: bytes) -> None:
    """Change the last bits of a key on its leaf: its page stays in order, and a search does not find it."""
    data = (folder / "data.mdb").read_bytes()
    page = leaf_of(folder, key) * PAGE
    at = data.index(key, page, page + PAGE) + len(key) - 1
    overwrite(folder, at, bytes([data[at] ^ 2]))


def get(store: ByteStore, key: bytes) -> bytes | None:
    with store.read() as snapshot:
        return snapshot.get(key)


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
def test_hidden_record_is_an_error_and_distant_ones_are_served(folder: Path, checked: bool) -> None:
    hidden = KEYS[2000]
    hide(folder, hidden)
    store = open_store(folder)
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


# LMDB would follow the entries of the page and find fewer.
@pytest.mark.parametrize("offset", [20, 18, 0, 8 + 7])
def test_damaged_header_of_a_leaf_is_an_error(folder: Path, offset: int) -> None:
    at = leaf_of(folder, KEYS[2000]) * PAGE + offset
    byte = (folder / "data.mdb").read_bytes()[at]
    overwrite(folder, at, bytes([byte ^ 4]))
    store = open_store(folder)
    with pytest.raises(Damage):
        get(store, KEYS[2000])
    assert get(store, KEYS[10])
    store.close()


# Searches for keys between the old and the new bound end in the wrong leaf, which is sound by itself.
@pytest.mark.parametrize("leaf", [5, 20, 41, 60, 75])
@pytest.mark.parametrize("back", [0, 1])
def test_damaged_bound_between_two_leaves_is_an_error(folder: Path, leaf: int, back: int) -> None:
    number, keys = leaves_of(folder)[leaf]
    first = cast(bytes, keys[0])
    entry = number.to_bytes(6, "little") + len(first).to_bytes(2, "little") + first
    data = (folder / "data.mdb").read_bytes()
    # Older copies of the page above may still be in the file.
    for found in re.finditer(re.escape(entry), data):
        at = found.end() - 2
        overwrite(folder, at, bytes([data[at] ^ 1]))
    store = open_store(folder)
    with pytest.raises(Damage, match="out of order"):
        get(store, KEYS[KEYS.index(first) - back])
    store.close()


def test_damage_above_the_leaves_is_found_when_the_folder_is_opened(folder: Path) -> None:
    data = (folder / "data.mdb").read_bytes()
    for page in range(2, len(data) // PAGE):
        if data[page * PAGE + 18] == 1:
            overwrite(folder, page * PAGE, bytes([data[page * PAGE] ^ 1]))
    with pytest.raises(DamagedFolder, match="another place"):
        open_store(folder)


def test_write_next_to_damage_is_rejected_and_changes_nothing(folder: Path) -> None:
    hide(folder, KEYS[2000])
    store = open_store(folder)
    with pytest.raises(Damage):
        store.write(put(KEYS[2001], seal(KEYS[2001], b"new")))
    store.write(put(KEYS[10], seal(KEYS[10], b"new")))
    assert get(store, KEYS[10]) == seal(KEYS[10], b"new")
    store.close()


# Writes split and merge the leaves that the check has not seen; the check follows the opened commit.
@pytest.mark.parametrize("seed", range(5))
def test_writes_during_the_check_are_read(store: ByteStore, seed: int) -> None:
    chance = Random(seed)
    expected: dict[bytes, bytes | None] = dict.fromkeys(KEYS, b"v" * 60)
    expected[LONG] = b"l" * 3 * PAGE
    for _ in range(20):
        start = chance.randrange(len(KEYS))
        changed = {key: chance.choice([None, b"new" * chance.randrange(100)]) for key in KEYS[start : start + 300]}
        store.write(lambda batch, changed=changed: change(batch, changed))  # type: ignore[misc]
        expected.update(changed)
        with store.read() as snapshot:
            present = {key: seal(key, value) for key, value in expected.items() if value is not None}
            assert {key: snapshot.get(key) for key in KEYS} == {key: present.get(key) for key in KEYS}
            assert dict(ascending(snapshot, b"key", b"kez")) == present
            assert dict(descending(snapshot, b"key", b"kez")) == present
    assert store.check is not None
    assert store.check.run()


def change(batch: ByteBatch, changed: dict[bytes, bytes | None]) -> None:
    for key, value in changed.items():
        batch.writes += 1
        if value is None:
            batch.transaction.delete(key)
        else:
            batch.transaction.put(key, seal(key, value))


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


def test_closing_ends_a_check_that_is_under_way(folder: Path) -> None:
    store = open_store(folder)
    store.start_check()
    store.close()
    again = open_store(folder)
    assert get(again, KEYS[0])
    again.close()


# A disk that cannot read a page says nothing about it, so its keys are an error, and the check goes on and ends.
@pytest.mark.parametrize("level", ["leaf", "page above it"])
def test_page_that_cannot_be_read_is_like_a_damaged_one(
    folder: Path, level: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = KEYS[2000]
    number = leaf_of(folder, key) if level == "leaf" else branch_of(folder, key)
    store = open_store(folder)
    check = store.check
    assert check is not None
    check._branch.cache_clear()
    read = check._pages._read

    def fail(length: int, offset: int) -> bytes:
        if offset // PAGE == number:
            raise OSError(errno.EIO, "Input/output error")
        return read(length, offset)

    monkeypatch.setattr(check._pages, "_read", fail)
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


# The snapshot of the check keeps pages from being used again only until it has ended.
def test_ended_check_holds_no_snapshot(store: ByteStore) -> None:
    assert store.check is not None
    before = store.bytes_used()
    store.check.run()
    for _ in range(50):
        store.write(put_all(KEYS[:100]))
    assert store.bytes_used() < before + 40 * PAGE


def test_found_damage_is_logged_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    hide(folder, KEYS[2000])
    store = open_store(folder)
    assert store.check is not None
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            with pytest.raises(Damage):
                get(store, KEYS[2000])
        store.check.run()
    assert [record.message.count("sortkey check") for record in caplog.records] == [1]
    store.close()
