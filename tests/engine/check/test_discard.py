"""After damaged records are discarded, the folder is sound, and lacks no item but the damaged ones."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import lmdb
import orjson
import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check
from sortkey.engine.check.discard import Discarded, discard_damaged
from sortkey.engine.database import Database
from sortkey.engine.rows import records
from sortkey.errors import InternalServerError
from sortkey.storage import SEAL_BYTES, DamagedFolder, StorageError, environment
from tests.faults.flips.folder import NOW, write_folder

Records = list[tuple[bytes, bytes]]
TABLE = "orders"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("discard") / "data"
    write_folder(folder)
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "data"))


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.CRITICAL):
        yield


def all_records(folder: Path) -> Records:
    opened = environment.open_existing(folder)
    with opened.begin() as snapshot:
        found = list(snapshot.cursor())
    opened.close()
    return found


def damage(folder: Path, *keys: bytes) -> None:
    """Flip a bit of these values."""
    with lmdb.open(str(folder), lib_version=1) as opened, opened.begin(write=True) as transaction:
        for key in keys:
            value = bytearray(transaction.get(key, b""))
            # Of the payload; if there is none, of the last checksum.
            value[0 if len(value) > SEAL_BYTES else -1] ^= 8
            transaction.put(key, bytes(value))


def discard(folder: Path) -> list[Discarded]:
    discarded: list[Discarded] = []
    discard_damaged(folder, discarded.append)
    assert check(folder).problems == []
    return discarded


def items(folder: Path) -> dict[str, Any]:
    with closing(Database(folder, ManualClock(NOW))) as database:
        page = database.call("Scan", {"TableName": TABLE})
    return {orjson.dumps((item["customer"], item["number"])).decode(): item for item in page["Items"]}


def spaces_of(folder: Path) -> dict[str, bytes]:
    with closing(Database(folder, ManualClock(NOW))) as database, database.read() as snapshot:
        table = database.catalog.tables(snapshot)[TABLE]
    indexes = {name: index.space for name, index in table.indexes.items()}
    return {TABLE: table.space, "stream": records.space_bytes(table.entry.streams[0].space), **indexes}


def keys_of(folder: Path, space: bytes) -> list[bytes]:
    return [key for key, _ in all_records(folder) if key.startswith(space)]


def test_sound_folder_stays_as_it_is(folder: Path) -> None:
    before = all_records(folder)
    assert discard(folder) == []
    assert all_records(folder) == before


# Its index rows and its expiry entry go with it. All else stays, and it can be put again.
@pytest.mark.parametrize("number", [0, 1, 57, 100, 191])
def test_damaged_item_is_removed_with_all_that_follows_from_it(folder: Path, number: int) -> None:
    before = items(folder)
    key = keys_of(folder, spaces_of(folder)[TABLE])[number]
    damage(folder, key)
    with pytest.raises(InternalServerError, match=f"table {TABLE}, record {key.hex()}"):
        items(folder)
    (discarded,) = discard(folder)
    assert (discarded.owner, discarded.record, discarded.lost) == (f"table {TABLE}", key.hex(), True)
    after = items(folder)
    (lost,) = before.keys() - after.keys()
    assert after == {name: item for name, item in before.items() if name != lost}
    put_again(folder, before[lost])
    assert items(folder) == before
    assert check(folder).problems == []


def put_again(folder: Path, item: Any) -> None:
    with closing(Database(folder, ManualClock(NOW))) as database:
        database.call("PutItem", {"TableName": TABLE, "Item": item})


# The key is hashed: only the text tells which item it was.
def test_discarded_item_is_reported_with_its_text(folder: Path) -> None:
    key = keys_of(folder, spaces_of(folder)[TABLE])[3]
    item = orjson.loads(dict(all_records(folder))[key][4:-SEAL_BYTES])
    damage(folder, key)
    (discarded,) = discard(folder)
    assert orjson.loads(discarded.found) == item


@pytest.mark.parametrize("space", ["whole", "keys"])
def test_damaged_index_row_is_made_again(folder: Path, space: str) -> None:
    before = all_records(folder)
    damage(folder, *keys_of(folder, spaces_of(folder)[space])[::7])
    discarded = discard(folder)
    assert {(each.owner, each.lost) for each in discarded} == {(f"index {TABLE}/{space}", False)}
    assert all_records(folder) == before


@pytest.mark.parametrize("space", [records.COUNTS, records.EXPIRY, records.GARBAGE])
def test_damaged_record_that_can_be_known_is_made_again(folder: Path, space: bytes) -> None:
    before = all_records(folder)
    damage(folder, *keys_of(folder, space))
    discarded = discard(folder)
    assert discarded
    assert not any(each.lost for each in discarded)
    assert {key for key, _ in before} - {key for key, _ in all_records(folder)} <= ownerless(folder, space)


def ownerless(folder: Path, space: bytes) -> set[bytes]:
    """Counts of released spaces are not needed."""
    released = [key[4:] for key in keys_of(folder, records.GARBAGE)]
    return {records.COUNTS + each for each in released} if space == records.COUNTS else set()


def test_damaged_stream_record_is_lost(folder: Path) -> None:
    key = keys_of(folder, spaces_of(folder)["stream"])[10]
    damage(folder, key)
    (discarded,) = discard(folder)
    assert (discarded.owner.split("/")[0], discarded.lost) == (f"stream {TABLE}", True)
    assert orjson.loads(discarded.found)["eventName"] == "INSERT"
    assert key not in dict(all_records(folder))


def test_damaged_tokens_are_lost(folder: Path) -> None:
    damage(folder, *keys_of(folder, records.TOKENS))
    assert {each.lost for each in discard(folder)} == {True}


def test_records_of_all_kinds_at_once(folder: Path) -> None:
    keys = [key for key, _ in all_records(folder) if not key.startswith(records.CATALOG)]
    damage(folder, *keys[::5])
    assert len(discard(folder)) == len(keys[::5])


# The catalog says what all other records mean.
def test_damaged_catalog_is_rejected_and_nothing_changes(folder: Path) -> None:
    table = next(key for key in keys_of(folder, records.TABLE_PREFIX) if key.endswith(b"plain"))
    damage(folder, table, *keys_of(folder, records.COUNTS))
    before = all_records(folder)
    with pytest.raises(DamagedFolder, match="of the catalog is, and cannot be discarded; restore a backup"):
        discard_damaged(folder, lambda _: None)
    assert all_records(folder) == before


def test_missing_folder_is_rejected_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is not a data folder"):
        discard_damaged(tmp_path / "absent", lambda _: None)
    assert not (tmp_path / "absent").exists()


@pytest.fixture
def large_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(environment, "CHECKED_BYTES", 0)
    monkeypatch.setattr("sortkey.engine.rows.records.CHECKED_BYTES", 0)
    return folder


def test_damaged_item_of_a_large_folder_is_removed(large_folder: Path) -> None:
    damage(large_folder, keys_of(large_folder, spaces_of(large_folder)[TABLE])[5])
    assert len(discard(large_folder)) == 1


# A record under a wrong key hides another, and nobody knows which.
def test_damaged_key_is_rejected_and_nothing_changes(large_folder: Path) -> None:
    file = large_folder / "data.mdb"
    key = keys_of(large_folder, spaces_of(large_folder)[TABLE])[5]
    file.write_bytes(file.read_bytes().replace(key, key[:-3] + bytes([key[-3] ^ 1]) + key[-2:]))
    before = file.read_bytes()
    # Which check finds it first depends on where the page is that has the key.
    with pytest.raises(DamagedFolder, match="restore a backup"):
        discard_damaged(large_folder, lambda _: None)
    assert file.read_bytes() == before
