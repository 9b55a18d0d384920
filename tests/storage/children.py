"""Programs that run in their own process, which a test may limit or kill.

    python -m tests.storage.children NAME PATH NUMBER

Each prints a line when it has something to report. Those that wait do so until their input ends or they are killed.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from sortkey.storage import StorageError, StorageFull, back_up, environment, restore
from sortkey.storage.write_lock import WriteLock
from tests.storage.byte_store import ByteBatch, increment, open_store, put, read


def print_line(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def wait() -> None:
    sys.stdin.read()


def map_size(path: Path, address_space: int) -> None:
    """Open the folder with little address space, and print the size of the map."""
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    try:
        opened, *_ = environment.open_folder(path)
    except StorageError as error:
        print_line(error)
        return
    with opened.begin(write=True) as transaction:
        transaction.put(b"k", b"v")
    print_line(opened.info()["map_size"])


def fill(path: Path, file_size: int) -> None:
    """Write until files must not grow any more, and print how many writes were answered."""
    store = open_store(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    answered = 0
    try:
        while answered * 1000 < 2 * file_size:
            store.write(put(b"%d" % answered, b"v" * 1000))
            answered += 1
    except StorageFull:
        assert read(store, b"0") is not None
        print_line(answered)


def memory(path: Path, _: int) -> None:
    with patch.object(environment, "MEMORY_FOLDER", path):
        store = open_store()
    store.write(put(b"k", b"v" * 100_000))
    print_line("written")
    wait()


def fill_memory(_: Path, address_space: int) -> None:
    """Write to memory until the address space ends, and print the error and whether all of it can be read."""
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    store = open_store()
    answered = 0
    try:
        while answered << 20 < address_space:
            store.write(put(b"%d" % answered, bytes(1 << 20)))
            answered += 1
    except StorageFull as error:
        print_line(error)
        print_line(all(read(store, b"%d" % number) is not None for number in range(answered)))


def hold_snapshot(path: Path, _: int) -> None:
    with open_store(path).read():
        print_line("holding")
        wait()


def hold_transaction(path: Path, _: int) -> None:
    def work(batch: ByteBatch) -> None:
        batch.put(b"unfinished", b"must not stay")
        print_line("holding")
        wait()

    open_store(path).write(work)


def hold_lock(path: Path, _: int) -> None:
    with WriteLock(path):
        print_line("holding")
        wait()
    print_line("released")
    wait()


def count(path: Path, times: int) -> None:
    store = open_store(path)
    for _ in range(times):
        store.write(increment(b"n"))
    store.close()


def count_pairs(path: Path, _: int) -> None:
    """Write two numbers in each commit until killed, and print each that was answered."""
    store = open_store(path)

    def work(batch: ByteBatch) -> int:
        increment(b"m")(batch)
        return increment(b"n")(batch)

    while True:
        print_line(store.write(work))


def begin_backup(path: Path, _: int) -> None:
    """Back up the folder beside itself, and stop in the middle."""
    back_up(path, path.with_suffix(".gz"), stop)


def begin_restore(path: Path, _: int) -> None:
    restore(path.with_suffix(".gz"), path, lambda _: None, stop)


def stop(*_: int) -> None:
    print_line("begun")
    wait()


def full_backup(path: Path, file_size: int) -> None:
    """Back up the folder while files must not grow, and print the error."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    try:
        back_up(path, path.with_suffix(".gz"), lambda *_: None)
    except StorageError as error:
        print_line(error)


PROGRAMS: dict[str, Callable[[Path, int], None]] = {
    program.__name__: program
    for program in (
        map_size,
        fill,
        memory,
        fill_memory,
        hold_snapshot,
        hold_transaction,
        hold_lock,
        count,
        count_pairs,
        begin_backup,
        begin_restore,
        full_backup,
    )
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
