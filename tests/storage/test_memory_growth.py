"""Stores in memory start with a small map and grow: nothing is lost, and no snapshot breaks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sortkey.storage import environment
from tests.storage.byte_store import ByteStore, Caller, increment, open_store, put, read
from tests.storage.conftest import StartChild

MIB = 1 << 20
VALUE = b"v" * 10_000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByteStore]:
    monkeypatch.setattr(environment, "MEMORY_MAP_BYTES", MIB)
    store = open_store()
    yield store
    store.close()


def map_size(store: ByteStore) -> int:
    return int(store._environment.info()["map_size"])


def mapped_files() -> int:
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return sum("/data.mdb (deleted)" in line for line in maps)


def test_a_full_map_grows(small: ByteStore) -> None:
    for number in range(1000):
        small.write(put(b"%d" % number, VALUE))
    assert map_size(small) == 16 * MIB
    assert all(read(small, b"%d" % number) == VALUE for number in range(1000))


def test_one_work_may_need_several_steps(small: ByteStore) -> None:
    small.write(put(b"before"))
    small.write(put(b"huge", bytes(40 * MIB)))
    assert map_size(small) == 64 * MIB
    assert (read(small, b"before"), len(read(small, b"huge") or b"")) == (b"", 40 * MIB)


# A scan may hold its snapshot while others write.
def test_a_snapshot_outlives_the_growth(small: ByteStore) -> None:
    small.write(put(b"k", b"old"))
    before = mapped_files()
    snapshot = small.read()
    small.write(put(b"k", b"new"))
    small.write(put(b"much", bytes(2 * MIB)))
    assert mapped_files() == before + 1
    assert (snapshot.get(b"k"), read(small, b"k")) == (b"old", b"new")
    snapshot.abort()
    del snapshot
    assert mapped_files() == before


def test_writers_and_readers_meanwhile(small: ByteStore) -> None:
    def write_all(name: bytes) -> int:
        for number in range(200):
            small.write(put(b"%b %d" % (name, number), VALUE))
            assert read(small, b"%b %d" % (name, number)) == VALUE
            small.write(increment(b"count"))
        return 200

    crowd = [Caller(partial(write_all, b"%d" % name)) for name in range(4)]
    assert sum(caller.wait() for caller in crowd) == 800
    assert read(small, b"count") == b"800"
    assert map_size(small) > MIB


@pytest.mark.slow
def test_the_end_of_the_address_space_is_an_error_and_reads_go_on(tmp_path: Path, child: StartChild) -> None:
    process = child("fill_memory", tmp_path, 512 * MIB)
    assert "the process's address space is too small (ulimit -v 524288)" in process.line()
    assert process.line() == "True"


def test_a_folder_is_not_copied(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert store.queue._make_room is None
    store.close()
