"""A backup is one snapshot, whole or not there; a restored folder is what it was."""

from __future__ import annotations

import gzip
import os
import random
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest

from sortkey.storage import StorageError, back_up, backup, restore
from tests.storage.byte_store import open_store, put
from tests.storage.conftest import StartChild

ROWS = 3000
PAGE = 4096


def ignore(*_: object) -> None:
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a few hundred pages, some of them free."""
    made = tmp_path / "data"
    store = open_store(made)
    for number in range(ROWS):
        store.submit(put(b"row %d" % number, b"%d" % number * 100), ignore)
    store.write(put(b"last", b"x"))
    store.close()
    return made


@pytest.fixture
def file(folder: Path) -> Path:
    made = folder.with_suffix(".gz")
    back_up(folder, made, ignore)
    return made


def content(folder: Path) -> dict[bytes, bytes]:
    store = open_store(folder)
    try:
        with store.read() as snapshot:
            return dict(snapshot.cursor())
    finally:
        store.close()


@pytest.fixture
def shuffled(tmp_path: Path) -> Path:
    """A folder whose keys came in random order, and its backup."""
    made = tmp_path / "shuffled"
    store = open_store(made)
    for number in random.Random(7).sample(range(ROWS), ROWS):
        store.submit(put(b"row %06d" % number, b"x" * 200), ignore)
    store.write(put(b"last", b"x"))
    store.close()
    back_up(made, made.with_suffix(".gz"), ignore)
    return made


def leaf_bytes(folder: Path) -> int:
    store = open_store(folder)
    try:
        found = store._environment.stat()
    finally:
        store.close()
    return int(found["leaf_pages"]) * PAGE


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_restored_folder_is_what_it_was(folder: Path, file: Path, tmp_path: Path) -> None:
    restored = tmp_path / "restored"
    restore(file, restored, ignore, ignore)
    assert names(restored) == {"data.mdb"}
    assert content(restored) == content(folder)
    assert len(content(restored)) > ROWS


# A user without Sortkey has his data.
@pytest.mark.slow
def test_gunzip_makes_a_data_file_of_it(folder: Path, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "data.mdb").write_bytes(gzip.decompress(file.read_bytes()))
    assert content(other) == content(folder)


# Writes in random order leave a third of each page free.
def test_a_restored_folder_has_full_pages(shuffled: Path, tmp_path: Path) -> None:
    restore(shuffled.with_suffix(".gz"), tmp_path / "restored", ignore, ignore)
    assert content(tmp_path / "restored") == content(shuffled)
    before, after = (leaf_bytes(folder) for folder in (shuffled, tmp_path / "restored"))
    assert after < before * 0.8
    assert after < sum(map(len, chain(*content(shuffled).items()))) * 1.15


# A restore after the disk was full must not need twice the data's space.
def test_without_room_for_a_second_copy_the_pages_are_those_of_the_backup(
    shuffled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gzip.decompress(shuffled.with_suffix(".gz").read_bytes())
    blocks = len(whole) // PAGE
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=blocks, f_frsize=PAGE))
    restore(shuffled.with_suffix(".gz"), tmp_path / "restored", ignore, ignore)
    assert (tmp_path / "restored" / "data.mdb").read_bytes() == whole


def test_long_values_are_restored_too(tmp_path: Path) -> None:
    store = open_store(tmp_path / "data")
    for number in range(20):
        store.write(put(b"row %d" % number, b"%d" % number * 20_000))
    store.close()
    back_up(tmp_path / "data", tmp_path / "data.gz", ignore)
    restore(tmp_path / "data.gz", tmp_path / "restored", ignore, ignore)
    assert content(tmp_path / "restored") == content(tmp_path / "data")


def test_only_the_owner_may_read_them(file: Path, tmp_path: Path) -> None:
    restored = tmp_path / "restored"
    restore(file, restored, ignore, ignore)
    modes = [path.stat().st_mode & 0o777 for path in (file, restored, restored / "data.mdb")]
    assert modes == [0o600, 0o700, 0o600]


def test_progress_ends_with_all_of_it(folder: Path, tmp_path: Path) -> None:
    copied: list[tuple[int, int]] = []
    file = tmp_path / "data.gz"
    back_up(folder, file, lambda done, total: copied.append((done, total)))
    whole = len(gzip.decompress(file.read_bytes()))
    assert copied[-1] == (whole, whole)
    read_: list[tuple[int, int]] = []
    restore(file, tmp_path / "restored", ignore, lambda done, total: read_.append((done, total)))
    assert read_[-1] == (file.stat().st_size, file.stat().st_size)


@pytest.mark.slow
def test_every_backup_of_a_folder_in_use_is_one_commit(tmp_path: Path, child: StartChild) -> None:
    folder = tmp_path / "data"
    writer = child("count_pairs", folder)
    for number in range(5):
        answered = int(writer.line())
        back_up(folder, tmp_path / f"{number}.gz", ignore)
        # The writer would wait for a reader of its lines.
        for _ in range(100):
            written = int(writer.line())
        restore(tmp_path / f"{number}.gz", tmp_path / f"{number}", ignore, ignore)
        found = content(tmp_path / f"{number}")
        assert found[b"m"] == found[b"n"]
        assert answered <= int(found[b"n"])
        assert written > answered


@pytest.mark.slow
def test_a_killed_backup_leaves_no_file_and_the_next_one_is_whole(folder: Path, child: StartChild) -> None:
    killed = child("begin_backup", folder)
    assert killed.line() == "begun"
    killed.murder()
    file = folder.with_suffix(".gz")
    assert not file.exists()
    back_up(folder, file, ignore)
    assert names(folder.parent) == {"data", "data.gz"}
    store = open_store(folder)
    store.write(put(b"after", b"the kill"))
    store.close()


@pytest.mark.slow
def test_a_killed_restore_leaves_no_database_and_the_next_one_is_whole(
    folder: Path, file: Path, child: StartChild
) -> None:
    before = content(folder)
    folder.rename(folder.with_name("old"))
    killed = child("begin_restore", folder)
    assert killed.line() == "begun"
    killed.murder()
    assert "data.mdb" not in names(folder)
    restore(file, folder, ignore, ignore)
    assert names(folder) == {"data.mdb"}
    assert content(folder) == before


@pytest.mark.slow
def test_a_full_disk_leaves_no_file(folder: Path, child: StartChild) -> None:
    process = child("full_backup", folder, 10_000)
    printed, _ = process.communicate(timeout=60)
    assert printed == f"cannot write {folder.with_suffix('.gz')}: File too large\n"
    assert names(folder.parent) == {"data"}


def test_a_file_is_replaced_only_when_asked_for_and_only_by_a_whole_one(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"data\.gz is there already; .* --replace"):
        back_up(folder, file, ignore)
    with monkeypatch.context() as patched:
        patched.setattr(backup, "_unpacked", lambda _: iter([b"what another disk read"]))
        with pytest.raises(StorageError, match="read back otherwise than it was written"):
            back_up(folder, file, ignore, replace=True)
    assert file.read_bytes() == before
    assert names(folder.parent) == {"data", "data.gz"}
    store = open_store(folder)
    store.write(put(b"new", b"x"))
    store.close()
    back_up(folder, file, ignore, replace=True)
    assert file.read_bytes() != before


def flipped(whole: bytes) -> bytes:
    """One bit, near the middle. In a run of zeros, a flip may unpack to the same pages; that is no damage."""
    for position in range(len(whole) // 2, len(whole)):
        damaged = whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :]
        try:
            gzip.decompress(damaged)
        except (OSError, EOFError, zlib.error):
            return damaged
    raise AssertionError("no flip damages the file")


@pytest.fixture(params=["cut", "flipped", "longer", "no gzip", "empty"])
def wrong(request: pytest.FixtureRequest, file: Path) -> Path:
    whole = file.read_bytes()
    content: dict[str, bytes] = {
        "cut": whole[:-5],
        "flipped": flipped(whole),
        "longer": whole + b"more",
        "no gzip": b"hello" * 1000,
        "empty": b"",
    }
    made = file.with_name("wrong.gz")
    made.write_bytes(content[request.param])
    return made


@pytest.mark.slow
def test_a_damaged_file_is_not_restored(wrong: Path, tmp_path: Path) -> None:
    restored = tmp_path / "restored"
    with pytest.raises(StorageError, match=r"wrong\.gz is not a whole backup: "):
        restore(wrong, restored, ignore, ignore)
    assert not restored.exists()


def test_an_empty_folder_is_restored_to_and_another_is_not(folder: Path, file: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    restore(file, empty, ignore, ignore)
    assert content(empty) == content(folder)
    before = content(folder)
    with pytest.raises(StorageError, match="is not empty; name a new folder, or move this one away first"):
        restore(file, folder, ignore, ignore)
    assert content(folder) == before
    with pytest.raises(StorageError, match="is not a folder"):
        restore(file, file, ignore, ignore)


# A service manager may start the service again while its folder is restored.
def test_a_database_that_another_process_makes_meanwhile_stays(file: Path, tmp_path: Path) -> None:
    restored = tmp_path / "restored"

    def start_service(_: Path) -> None:
        store = open_store(restored)
        store.write(put(b"k", b"of the service"))
        store.close()

    with pytest.raises(StorageError, match=r"another process has made a database in .*restored meanwhile"):
        restore(file, restored, start_service, ignore)
    assert content(restored)[b"k"] == b"of the service"


def test_what_the_check_raises_leaves_nothing(file: Path, tmp_path: Path) -> None:
    def fail(unfinished: Path) -> None:
        assert (unfinished / "data.mdb").is_file()
        raise StorageError("not sound")

    with pytest.raises(StorageError, match="not sound"):
        restore(file, tmp_path / "restored", fail, ignore)
    assert not (tmp_path / "restored").exists()


def test_a_damaged_folder_is_not_backed_up(folder: Path, tmp_path: Path) -> None:
    data = folder / "data.mdb"
    with data.open("r+b") as opened:
        opened.truncate(data.stat().st_size // 2)
    with pytest.raises(StorageError, match="is damaged: "):
        back_up(folder, tmp_path / "data.gz", ignore)
    assert names(tmp_path) == {"data"}


@pytest.fixture(params=["missing", "empty"])
def no_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "none"
    if request.param == "empty":
        made.mkdir()
    yield made
    assert not made.exists() or not any(made.iterdir())


def test_what_is_no_data_folder(no_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is not a data folder of Sortkey"):
        back_up(no_folder, tmp_path / "data.gz", ignore)
    assert not (tmp_path / "data.gz").exists()
