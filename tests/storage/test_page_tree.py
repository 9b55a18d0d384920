"""The pages of every folder that LMDB writes are sound, and a damaged page is found before LMDB reads it."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from random import Random

import lmdb
import pytest

from sortkey.storage import DamagedFolder, environment, gradual_check
from sortkey.storage.write_lock import WriteLock
from tests.storage.byte_store import open_store, put

MAP = 1 << 30
PAGE = 4096
FIRST_PAGE = 2


def check_pages(folder: Path, opened: lmdb.Environment) -> None:
    with closing(WriteLock(folder)) as lock:
        gradual_check.check_writable(opened, lock, folder, MAP, environment.FORMAT_KEY)


# A sound folder that is rejected would be worse than damage: splits, merges, long values, free pages, open snapshots.
@pytest.mark.parametrize("seed", range(12))
def test_what_lmdb_writes_is_sound(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    key_bytes, value_bytes = chance.choice([8, 40, 600, 1500]), chance.choice([5, 300, 3000, 20_000])
    keys = [chance.randbytes(3) + bytes(chance.randrange(key_bytes)) for _ in range(chance.choice([20, 300, 2000]))]
    with lmdb.open(str(tmp_path), map_size=MAP, lib_version=1, sync=False) as opened:
        check_pages(tmp_path, opened)
        for _ in range(12):
            reader = opened.begin()
            deleted = chance.choice([0.2, 0.5, 0.9])
            with opened.begin(write=True) as transaction:
                for key in chance.choices(keys, k=300):
                    if chance.random() < deleted:
                        transaction.delete(key)
                    else:
                        transaction.put(key, chance.randbytes(chance.randrange(value_bytes)))
            check_pages(tmp_path, opened)
            if chance.random() < 0.7:
                reader.abort()


@pytest.mark.parametrize("compact", [False, True])
def test_copy_of_a_folder_is_sound(tmp_path: Path, compact: bool) -> None:
    store = open_store(tmp_path / "first")
    for number in range(200):
        store.write(put(b"%d" % number, b"v" * 50 * number))
    store.close()
    (tmp_path / "copy").mkdir()
    with lmdb.open(str(tmp_path / "first"), map_size=MAP, lib_version=1) as opened:
        opened.copy(str(tmp_path / "copy"), compact=compact)
    environment.open_folder(tmp_path / "copy")[0].close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages") / "data"
    store = open_store(folder)
    for start in range(0, 600, 100):
        for number in range(start, start + 100):
            store.write(put(b"key %04d" % number, b"v" * 60))
    store.close()
    return folder


def damaged(written: Path, folder: Path, at: int, new: bytes) -> Path:
    shutil.copytree(written, folder)
    with (folder / "data.mdb").open("r+b") as file:
        file.seek(at)
        file.write(new)
    return folder


def root_of(folder: Path) -> int:
    return int.from_bytes(_newest(folder)[24 + 24 + 48 + 40 :][:8], "little")


def _newest(folder: Path) -> bytes:
    data = (folder / "data.mdb").read_bytes()
    metas = [data[:PAGE], data[PAGE : 2 * PAGE]]
    return max(metas, key=lambda meta: int.from_bytes(meta[24 + 24 + 96 + 8 :][:8], "little"))


def flip(written: Path, at: int, mask: int) -> bytes:
    return bytes([(written / "data.mdb").read_bytes()[at] ^ mask])


# Each hides rows without touching one: no checksum of a row can show it.
@pytest.mark.parametrize(
    ("offset", "mask", "problem"),
    [
        pytest.param(20, 4, "", id="fewer entries"),
        pytest.param(24, 2, "", id="an entry elsewhere"),
        pytest.param(0, 1, "another place", id="page number"),
        pytest.param(18, 1, "wrong header", id="type of page"),
    ],
)
def test_damaged_root_page_is_found(written: Path, tmp_path: Path, offset: int, mask: int, problem: str) -> None:
    at = root_of(written) * PAGE + offset
    folder = damaged(written, tmp_path / "data", at, flip(written, at, mask))
    with pytest.raises(DamagedFolder, match=f"is damaged: .*{problem}"):
        environment.open_folder(folder)


# The other meta page is sound, and has the commit before. LMDB would open that one.
@pytest.mark.parametrize("bit", range(16))
def test_damaged_number_of_the_last_commit_does_not_bring_back_the_one_before(
    written: Path, tmp_path: Path, bit: int
) -> None:
    newest = (written / "data.mdb").read_bytes().index(_newest(written))
    at = newest + 24 + 24 + 96 + 8 + bit // 8
    folder = damaged(written, tmp_path / "data", at, flip(written, at, 1 << bit % 8))
    with pytest.raises(DamagedFolder, match="commit"):
        environment.open_folder(folder)
