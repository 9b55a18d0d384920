"""Several processes on one folder, some of which are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sortkey.storage import environment
from tests.storage.byte_store import increment, open_store, read
from tests.storage.conftest import StartChild

pytestmark = pytest.mark.slow

TIMES = 100


def test_two_processes_write_one_folder(tmp_path: Path, child: StartChild) -> None:
    store = open_store(tmp_path)
    children = [child("count", tmp_path, TIMES) for _ in range(2)]
    for _ in range(TIMES):
        store.write(increment(b"n"))
    assert [process.wait() for process in children] == [0, 0]
    assert read(store, b"n") == b"%d" % (3 * TIMES)
    store.close()


# Neither the lock of a dead writer nor its uncommitted writes may outlive it.
def test_a_writer_killed_in_its_transaction_does_not_block_others(tmp_path: Path, child: StartChild) -> None:
    store = open_store(tmp_path)
    process = child("hold_transaction", tmp_path)
    assert process.line() == "holding"
    process.murder()
    assert store.write(increment(b"n")) == 1
    assert read(store, b"unfinished") is None
    store.close()


# LMDB does not reuse the pages of a snapshot; one left by a dead process would let the file grow for ever.
def test_opening_clears_the_snapshots_of_dead_processes(tmp_path: Path, child: StartChild) -> None:
    opened, *_ = environment.open_folder(tmp_path)
    process = child("hold_snapshot", tmp_path)
    assert process.line() == "holding"
    assert str(process.pid) in opened.readers()
    process.murder()
    assert child("count", tmp_path, 1).wait() == 0
    assert str(process.pid) not in opened.readers()
    opened.close()
