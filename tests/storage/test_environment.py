"""Data folders: created, stamped, recognised or rejected; and memory, which leaves no files behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

from sortkey.storage import DamagedFolder, IncompatibleFormat, StorageError, environment, inspect, seal
from tests.storage.byte_store import open_store, put, read
from tests.storage.conftest import StartChild

GIB = 1 << 30


def test_a_folder_is_made_with_its_parents_and_stamped(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    opened, *_ = environment.open_folder(folder)
    with opened.begin() as snapshot:
        assert snapshot.get(environment.FORMAT_KEY) == environment.FORMAT
    opened.close()
    assert sorted(file.name for file in folder.iterdir()) == ["data.mdb", "lock.mdb", "write.lock"]


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(put(b"k", b"v"))
    store.close()
    store = open_store(tmp_path)
    assert read(store, b"k") == b"v"
    store.close()


# An older program must not guess at newer data, nor the other way round.
def test_another_format_is_rejected_by_name(tmp_path: Path) -> None:
    opened, *_ = environment.open_folder(tmp_path)
    with opened.begin(write=True) as transaction:
        transaction.put(environment.FORMAT_KEY, b"7")
    opened.close()
    for open_ in (environment.open_folder, environment.open_existing):
        with pytest.raises(IncompatibleFormat, match=r"data format 7, .* reads format 3"):
            open_(tmp_path)


# A program of the version that wrote it would leave wrong rows afterwards.
@pytest.mark.parametrize("checked_bytes", [environment.CHECKED_BYTES, 0], ids=["small", "large"])
def test_folder_of_an_older_format_is_read_and_gets_the_present_one_when_it_is_opened_to_be_written(
    tmp_path: Path, checked_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "CHECKED_BYTES", checked_bytes)
    store = open_store(tmp_path)
    store.write(put(b"k", seal(b"k", b"v")))
    store.write(put(environment.FORMAT_KEY, b"2"))
    store.close()
    environment.open_existing(tmp_path).close()
    assert inspect(tmp_path).format == "2"
    store = open_store(tmp_path)
    assert read(store, b"k") == seal(b"k", b"v")
    assert read(store, environment.FORMAT_KEY) == environment.FORMAT
    store.close()


# LMDB 0.9 and 1.0 use the same file names, and different pages.
def test_a_file_of_lmdb_0_9_is_rejected(tmp_path: Path) -> None:
    lmdb.open(str(tmp_path)).close()
    with pytest.raises(IncompatibleFormat, match="cannot read"):
        environment.open_folder(tmp_path)


def test_a_file_that_is_not_a_database_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"shopping list" * 1000)
    with pytest.raises(IncompatibleFormat, match="cannot read"):
        environment.open_folder(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == b"shopping list" * 1000


def test_a_file_where_the_folder_should_be_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("")
    with pytest.raises(StorageError, match=f"cannot use {file} as a data folder: it is not a folder"):
        environment.open_folder(file)


# LMDB's locks belong to the process, so a second environment would release those of the first.
def test_a_second_opening_in_one_process_is_rejected(tmp_path: Path) -> None:
    opened, *_ = environment.open_folder(tmp_path)
    with pytest.raises(StorageError, match="already open"):
        environment.open_folder(tmp_path)
    opened.close()


def test_opening_a_missing_folder_read_only_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is not a data folder"):
        environment.open_existing(tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []


def test_opening_a_foreign_database_is_rejected(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path), lib_version=1) as foreign, foreign.begin(write=True) as transaction:
        transaction.put(b"theirs", b"")
    with pytest.raises(StorageError, match="not one of Sortkey"):
        environment.open_existing(tmp_path)


# It used to be stamped, and served as an empty database.
def test_a_foreign_database_is_not_stamped(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path), lib_version=1) as foreign, foreign.begin(write=True) as transaction:
        transaction.put(b"theirs", b"")
    before = (tmp_path / "data.mdb").read_bytes()
    with pytest.raises(StorageError, match="not one of Sortkey"):
        environment.open_folder(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_a_foreign_database_that_was_emptied_is_not_stamped(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path), lib_version=1) as foreign:
        with foreign.begin(write=True) as transaction:
            transaction.put(b"theirs", b"")
        with foreign.begin(write=True) as transaction:
            transaction.delete(b"theirs")
    with pytest.raises(StorageError, match="not one of Sortkey"):
        environment.open_folder(tmp_path)


# A process that dies between making the file and stamping it leaves this behind.
def test_a_file_without_commits_is_new(tmp_path: Path) -> None:
    lmdb.open(str(tmp_path), lib_version=1).close()
    environment.open_folder(tmp_path)[0].close()


@pytest.mark.parametrize("open_", [environment.open_folder, environment.open_existing])
def test_an_empty_file_is_damage_and_not_a_new_database(
    tmp_path: Path, open_: Callable[[Path], lmdb.Environment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "CREATION_SECONDS", 0.0)
    file = tmp_path / "data.mdb"
    file.touch()
    with pytest.raises(DamagedFolder, match=f"{file} is empty"):
        open_(tmp_path)
    assert file.stat().st_size == 0


# LMDB maps what the meta page says. A read behind the end of the file would end the process (SIGBUS).
@pytest.mark.parametrize("checked", [environment.CHECKED_BYTES, 0])
def test_a_file_that_was_cut_short_is_rejected(tmp_path: Path, checked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "CHECKED_BYTES", checked)
    store = open_store(tmp_path)
    store.write(put(b"k", b"v" * 100_000))
    store.close()
    file = tmp_path / "data.mdb"
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 2)
    with pytest.raises(DamagedFolder, match=f"the data folder {tmp_path} is damaged"):
        environment.open_folder(tmp_path)


def test_the_map_is_larger_than_any_disk_and_the_file_is_not(tmp_path: Path) -> None:
    opened, *_ = environment.open_folder(tmp_path)
    assert opened.info()["map_size"] == environment.MAP_BYTES
    assert (tmp_path / "data.mdb").stat().st_size < 100_000
    opened.close()


# Sort keys of 1,024 bytes with their escapes, a table's number and two hashes: 0.9 would take 511 bytes.
def test_keys_may_be_as_long_as_dynamodb_allows() -> None:
    opened = environment.open_memory()
    assert opened.max_key_size() == 1978
    opened.close()


# `ulimit -v` is common on shared machines.
@pytest.mark.slow
def test_little_address_space_means_a_smaller_map(tmp_path: Path, child: StartChild) -> None:
    size = int(child("map_size", tmp_path, 8 * GIB).line())
    assert environment.SMALLEST_MAP_BYTES <= size < 8 * GIB


@pytest.mark.slow
def test_too_little_address_space_is_a_clear_error(tmp_path: Path, child: StartChild) -> None:
    assert "address space is too small" in child("map_size", tmp_path, GIB // 2).line()


def test_memory_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MEMORY_FOLDER", tmp_path)
    store = open_store()
    store.write(put(b"k", b"v"))
    assert list(tmp_path.iterdir()) == []
    store.close()


# The files are unlinked before they hold anything.
@pytest.mark.slow
def test_memory_leaves_no_file_behind_when_killed(tmp_path: Path, child: StartChild) -> None:
    process = child("memory", tmp_path)
    assert process.line() == "written"
    process.murder()
    assert list(tmp_path.iterdir()) == []


def test_two_stores_in_memory_are_separate() -> None:
    one, other = open_store(), open_store()
    one.write(put(b"k", b"v"))
    assert read(other, b"k") is None
    one.close()
    other.close()


def test_bytes_used_grows_with_the_data() -> None:
    store = open_store()
    before = store.bytes_used()
    store.write(put(b"k", b"v" * 1_000_000))
    assert store.bytes_used() >= before + 1_000_000
    store.close()
