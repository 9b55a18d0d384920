"""The check of a large folder follows a tree that changes: no leaf is missed, and no damage is copied."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import cast

import pytest

from sortkey.storage import ascending, descending, gradual_check, seal
from sortkey.storage.pages import Damage
from tests.storage.byte_store import ByteBatch, ByteStore, Caller, open_store
from tests.storage.large_folder import KEYS, LONG, PAGE, change, get, hide, leaves_of, overwrite, put_all

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]


@pytest.fixture
def store(large_store: ByteStore) -> ByteStore:
    return large_store


# Writes split and merge the leaves that the check has not seen.
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
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


@pytest.fixture
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each leaf is checked in a snapshot of its own, with a pause."""
    monkeypatch.setattr(gradual_check, "STEP_SECONDS", 0)
    monkeypatch.setattr(gradual_check, "STRETCH_SECONDS", 0)


# LMDB does not use the pages of a snapshot again, so the file would grow by all that is written meanwhile.
@pytest.mark.usefixtures("short_stretches")
def test_file_does_not_grow_by_what_is_written_during_the_check(store: ByteStore) -> None:
    assert store.check is not None
    before = store.bytes_used()
    assert store.check.run(writing(store, put_all(KEYS[:100])))
    assert store.bytes_used() < before + 40 * PAGE


def writing(store: ByteStore, work: Callable[[ByteBatch], None]) -> Callable[[], bool]:
    """A pause in which another thread writes."""

    def pause() -> bool:
        Caller(lambda: store.write(work)).wait()
        return False

    return pause


# The leaves before and behind the place where the check is are split, merged and moved to other pages.
@pytest.mark.slow
@pytest.mark.usefixtures("short_stretches")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_damaged", [False, True])
def test_check_finds_damage_in_a_tree_that_changes(large_folder: Path, seed: int, is_damaged: bool) -> None:
    hidden = KEYS[3500]
    if is_damaged:
        hide(large_folder, hidden)
    store = open_store(large_folder)
    chance = Random(seed)
    written: dict[bytes, bytes | None] = {}

    def pause() -> bool:
        start = chance.randrange(3200)
        changed = {key: chance.choice([None, None, b"new" * chance.randrange(100)]) for key in KEYS[start:][:100]}
        store.write(lambda batch: change(batch, changed))
        written.update(changed)
        return False

    assert store.check is not None
    assert store.check.run(pause) is not is_damaged
    for key, value in written.items():
        assert get(store, key) == (None if value is None else seal(key, value))
    if is_damaged:
        with pytest.raises(Damage):
            get(store, hidden)
    store.close()


# LMDB merges a small leaf with the one beside it, and so would lose the trace of an entry that is missing there. After
# other merges, this is not the leaf that was beside the key when it was looked up first.
@pytest.mark.parametrize("distance", [1, 2, 3])
@pytest.mark.parametrize("at_once", [False, True])
def test_no_merge_takes_in_a_damaged_leaf(large_folder: Path, distance: int, at_once: bool) -> None:
    store = open_store(large_folder)
    grown = KEYS[1500:2500]
    for size in (300, 1):
        # Values that become shorter leave leaves that are small, and merged only when an entry is deleted.
        store.write(lambda batch, size=size: change(batch, dict.fromkeys(grown, b"g" * size)))  # type: ignore[misc]
    store.close()
    leaves = leaves_of(large_folder)
    at = next(at for at, (_, keys) in enumerate(leaves) if KEYS[2000] in keys)
    number, keys = leaves[at]
    lower = number * PAGE + 20
    overwrite(large_folder, lower, bytes([(large_folder / "data.mdb").read_bytes()[lower] - 2]))
    store = open_store(large_folder)
    deleted = dict.fromkeys(cast(list[bytes], leaves[at + distance][1]))
    for changed in [deleted] if at_once else [{key: None} for key in deleted]:
        with suppress(Damage):
            store.write(lambda batch, changed=changed: change(batch, changed))  # type: ignore[misc]
    with pytest.raises(Damage):
        get(store, cast(bytes, keys[-1]))
    store.close()
