"""A full disk: a clear error, nothing lost, reads continue, and writes too once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from sortkey.storage import StorageError, StorageFull, environment
from tests.storage.byte_store import ByteStore, Caller, SlowLeader, open_store, put, read
from tests.storage.conftest import StartChild

DISK_BYTES = 2 << 20
BALLAST_BYTES = 1 << 20
VALUE = b"v" * 3000
PIECE = 512


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small file system to fill up")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.fixture
def store(disk: Path) -> Iterator[ByteStore]:
    (disk / "ballast").write_bytes(bytes(BALLAST_BYTES))
    store = open_store(disk / "data")
    yield store
    store.close()


def fill(store: ByteStore, name: bytes = b"") -> list[bytes]:
    """Write until the disk is full; returns the keys of the writes that were answered."""
    answered: list[bytes] = []
    while True:
        key = b"%s %d" % (name, len(answered))
        try:
            store.write(put(key, VALUE))
        except StorageFull:
            return answered
        answered.append(key)


def fill_up(disk: Path) -> None:
    """Use all of the space that is left."""
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        for _ in range(DISK_BYTES // PIECE):
            file.write(bytes(PIECE))


def test_a_full_disk_rejects_writes_and_keeps_reading(store: ByteStore) -> None:
    answered = fill(store)
    with pytest.raises(StorageFull, match="no space left for the data folder"):
        store.write(put(b"one more", VALUE))
    assert len(answered) > 50
    assert all(read(store, key) == VALUE for key in answered)
    with store.read() as snapshot:
        assert snapshot.get(b" %d" % len(answered)) is None


def test_writes_go_on_when_there_is_room_again(store: ByteStore, disk: Path) -> None:
    answered = fill(store)
    (disk / "ballast").unlink()
    again = fill(store, b"again")
    assert len(again) > 50
    store.close()
    reopened = open_store(disk / "data")
    assert all(read(reopened, key) == VALUE for key in answered + again)
    reopened.close()


# One huge write must not fail the small ones that happen to share its transaction. The file system takes a part of it,
# which LMDB reports otherwise than a disk that was full from the start.
def test_only_the_work_that_is_too_large_fails(store: ByteStore) -> None:
    leader = SlowLeader(store)
    small, huge, other = leader.line_up(put(b"small"), put(b"huge", bytes(DISK_BYTES)), put(b"other"))
    leader.release()
    small.wait()
    other.wait()
    with pytest.raises(StorageFull):
        huge.wait()
    assert (read(store, b"small"), read(store, b"huge"), read(store, b"other")) == (b"", None, b"")


def test_a_crowd_meets_the_end_of_the_disk_together(store: ByteStore) -> None:
    crowd = [Caller(partial(fill, store, b"%d" % name)) for name in range(4)]
    answered = [key for caller in crowd for key in caller.wait()]
    assert len(answered) > 50
    assert all(read(store, key) == VALUE for key in answered)


# LMDB writes to its lock file through a map, where a full disk kills the process. And half of its other file, left
# behind, would be taken for a damaged one as soon as there is room.
@pytest.mark.parametrize("pages", [0, 1, 2, 3, 4, 10, 20, 30, 31])
def test_a_new_folder_on_a_full_disk_is_rejected_and_left_empty(disk: Path, pages: int) -> None:
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(DISK_BYTES - 4096 * pages))
    with pytest.raises(StorageError, match=r"cannot use .* as a data folder: No space left on device"):
        open_store(disk / "data")
    assert list((disk / "data").iterdir()) == []
    ballast.unlink()
    open_store(disk / "data").close()


def test_memory_that_is_used_up_is_an_error(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MEMORY_FOLDER", disk)
    (disk / "ballast").write_bytes(bytes(DISK_BYTES))
    with pytest.raises(StorageError, match=r"cannot keep data in memory.* No space left on device"):
        open_store()
    assert [file.name for file in disk.iterdir()] == ["ballast"]


# Each takes a slot of the lock file, which may need a page that no reader has used before.
def test_many_readers_on_a_full_disk(store: ByteStore, disk: Path) -> None:
    answered = fill(store)
    fill_up(disk)
    snapshots = [store.read() for _ in range(500)]
    assert all(snapshot.get(answered[0]) == VALUE for snapshot in snapshots)
    for snapshot in snapshots:
        snapshot.abort()


def test_a_full_disk_does_not_keep_a_folder_from_being_opened(store: ByteStore, disk: Path) -> None:
    answered = fill(store)
    store.close()
    fill_up(disk)
    reopened = open_store(disk / "data")
    assert all(read(reopened, key) == VALUE for key in answered)
    reopened.close()


# A copy may leave out the zeros.
def test_a_lock_file_without_its_pages(store: ByteStore, disk: Path) -> None:
    answered = fill(store)
    store.close()
    lock_file = disk / "data" / "lock.mdb"
    size = lock_file.stat().st_size
    lock_file.unlink()
    with lock_file.open("wb") as file:
        file.truncate(size)
    fill_up(disk)
    with pytest.raises(StorageError, match="No space left on device"):
        open_store(disk / "data")
    (disk / "ballast").unlink()
    reopened = open_store(disk / "data")
    assert all(read(reopened, key) == VALUE for key in answered)
    reopened.close()


# The same end, met in another way, which needs no rights: a limit on the size of files.
@pytest.mark.slow
def test_a_limit_on_file_size_is_a_full_disk_too(tmp_path: Path, child: StartChild) -> None:
    answered = int(child("fill", tmp_path, 1_000_000).line())
    store = open_store(tmp_path)
    assert all(read(store, b"%d" % number) is not None for number in range(answered))
    assert read(store, b"%d" % answered) is None
    store.close()
