"""An onlooker sees who has a folder open, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import lmdb
import pytest

from sortkey.storage import IncompatibleFormat, Reader, Unreadable, environment, inspect, inspection
from tests.storage.byte_store import open_store, put
from tests.storage.conftest import StartChild


def make_folder(path: Path) -> None:
    store = open_store(path)
    store.write(put(b"k", b"v" * 100_000))
    store.close()


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_a_folder_that_no_process_has_open(tmp_path: Path) -> None:
    make_folder(tmp_path)
    state = inspect(tmp_path)
    assert (state.format, state.commits, state.slots) == (environment.FORMAT.decode(), 2, environment.READERS)
    assert state.bytes_used > 100_000
    assert state.readers == ()


# A backup has no lock file, and may be on a disk that must not be written.
def test_a_missing_lock_file_is_not_created(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "lock.mdb").unlink()
    before = contents(tmp_path)
    assert inspect(tmp_path).readers == ()
    assert contents(tmp_path) == before


@pytest.mark.slow
def test_the_snapshot_of_a_living_process(tmp_path: Path, child: StartChild) -> None:
    make_folder(tmp_path)
    process = child("hold_snapshot", tmp_path)
    assert process.line() == "holding"
    assert inspect(tmp_path).readers == (Reader(process.pid, 2, is_alive=True),)


# The folder is open elsewhere, or the first to open it would clear the table.
@pytest.mark.slow
def test_the_snapshot_of_a_killed_process_is_seen_and_left_alone(tmp_path: Path, child: StartChild) -> None:
    make_folder(tmp_path)
    living, killed = child("hold_snapshot", tmp_path), child("hold_snapshot", tmp_path)
    assert [living.line(), killed.line()] == ["holding", "holding"]
    killed.murder()
    for _ in range(2):
        alive = {reader.process: reader.is_alive for reader in inspect(tmp_path).readers}
        assert alive == {living.pid: True, killed.pid: False}


# The write lock is held for as long as the child likes.
@pytest.mark.slow
def test_a_writer_is_not_waited_for(tmp_path: Path, child: StartChild) -> None:
    make_folder(tmp_path)
    process = child("hold_transaction", tmp_path)
    assert process.line() == "holding"
    assert inspect(tmp_path).commits == 2


# At a snapshot that LMDB takes for damaged, and with a reader table that is full.
@pytest.mark.parametrize("error", [lmdb.CorruptedError, lmdb.ReadersFullError])
def test_what_lmdb_raises_is_not_a_traceback(
    tmp_path: Path, error: type[lmdb.Error], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error("here")

    monkeypatch.setattr(inspection, "open_existing", failing)
    with pytest.raises(Unreadable, match=f"cannot read the data folder {tmp_path}: .*here"):
        inspect(tmp_path)


def test_another_format_is_rejected(tmp_path: Path) -> None:
    make_folder(tmp_path)
    opened, *_ = environment.open_folder(tmp_path)
    with opened.begin(write=True) as transaction:
        transaction.put(environment.FORMAT_KEY, b"999")
    opened.close()
    with pytest.raises(IncompatibleFormat, match="data format 999"):
        inspect(tmp_path)
