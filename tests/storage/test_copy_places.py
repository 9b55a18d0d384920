"""Places of copies: what is a copy there, which one is chosen, and what goes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import lmdb
import pytest

from sortkey.clock import ManualClock
from sortkey.object_storage import ObjectError
from sortkey.storage import StorageError, backup, open_existing, restore
from sortkey.storage.copy_places import (
    CopyPlace,
    copy_at,
    copy_place,
    make_copy,
    name_of,
    place_and_time,
    time_of,
)
from tests.object_storage import Bucket
from tests.storage.byte_store import open_store, put, read

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC).timestamp()
Names = Callable[[], list[str]]


def ignore(*_: object) -> None:
    pass


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one record."""
    write(tmp_path / "data", b"first")
    return tmp_path / "data"


def write(folder: Path, value: bytes) -> None:
    store = open_store(folder)
    store.write(put(b"k", value))
    store.close()


def restored(place: CopyPlace, at: float | None, folder: Path) -> bytes | None:
    restore(copy_at(place, at).packed, folder, ignore, ignore)
    store = open_store(folder)
    try:
        return read(store, b"k")
    finally:
        store.close()


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CopyPlace:
    if request.param == "folder":
        return copy_place(str(tmp_path / "copies"))
    bucket: Bucket = request.getfixturevalue("bucket")
    return copy_place(f"s3://{bucket.name}/copies")


def times(place: CopyPlace) -> list[float]:
    return [copy.at for copy in place.copies()]


def test_copies_are_chosen_by_time(data: Path, place: CopyPlace, tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    make_copy(data, place, None, clock, ignore)
    write(data, b"second")
    clock.advance(900)
    size = make_copy(data, place, None, clock, ignore)
    assert times(place) == [NOON, NOON + 900]
    assert place.copies()[-1].packed.size == size
    assert restored(place, None, tmp_path / "1") == b"second"
    assert restored(place, NOON + 900, tmp_path / "2") == b"second"
    assert restored(place, NOON + 899, tmp_path / "3") == b"first"
    with pytest.raises(
        StorageError, match=r"has no copy of 2026-08-24T11:59:59Z or before: its oldest is of 2026-08-24T12:00:00Z"
    ):
        copy_at(place, NOON - 1)


def test_an_empty_place_has_none(place: CopyPlace) -> None:
    with pytest.raises(StorageError, match=r"there is no copy in .*; sortkey backup makes them"):
        copy_at(place, None)


def test_the_oldest_copies_go(data: Path, place: CopyPlace) -> None:
    clock = ManualClock(NOON)
    for _ in range(4):
        make_copy(data, place, 2, clock, ignore)
        clock.advance(60)
    assert times(place) == [NOON + 120, NOON + 180]


# The error comes from LMDB's thread, when all that it wrote has been read.
def test_a_copy_that_lmdb_did_not_end_is_none(
    data: Path, place: CopyPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def __init__(self, environment: lmdb.Environment) -> None:
            self._environment = environment

        def __getattr__(self, name: str) -> object:
            return getattr(self._environment, name)

        def copyfd(self, sink: int, **_: object) -> None:
            os.write(sink, b"half a file")
            raise lmdb.DiskError("no")

    opened = open_existing
    monkeypatch.setattr(backup, "open_existing", lambda *given, **options: Failing(opened(*given, **options)))
    with pytest.raises(lmdb.DiskError):
        make_copy(data, place, None, ManualClock(NOON), ignore)
    assert place.copies() == []
    assert not list(tmp_path.glob("copies/*"))


def test_what_else_is_in_a_folder_stays(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    others = ["notes.txt", "data.gz", "2026-13-01T00-00-00.000Z.gz", ".hidden", "2026-08-24T12-00-00.000Z.gz.old"]
    for name in others:
        (folder / name).write_bytes(b"x")
    make_copy(data, copy_place(str(folder)), 1, ManualClock(NOON), ignore)
    make_copy(data, copy_place(str(folder)), 1, ManualClock(NOON + 1), ignore)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*others, name_of(NOON + 1)])


def test_what_else_is_in_a_bucket_stays(data: Path, bucket: Bucket) -> None:
    others = ["copies", "copies/notes.txt", f"copies/deeper/{name_of(NOON)}", f"copies-of-others/{name_of(NOON)}"]
    for key in others:
        bucket.put(key, b"x")
    place = copy_place(f"s3://{bucket.name}/copies")
    for second in range(2):
        make_copy(data, place, 1, ManualClock(NOON + second), ignore)
    listed = bucket.server.client.list_objects_v2(Bucket=bucket.name)["Contents"]
    assert sorted(each["Key"] for each in listed) == sorted([*others, f"copies/{name_of(NOON + 1)}"])


# A kill leaves an unfinished file. One that still grows is another process's.
def test_unfinished_files_go_when_nobody_writes_them(data: Path, tmp_path: Path) -> None:
    folder, clock = tmp_path / "copies", ManualClock(NOON)
    folder.mkdir()
    for number, age in enumerate((3000, 4000)):
        left = folder / f"{name_of(NOON - number - 1)}.unfinished"
        left.write_bytes(b"half")
        os.utime(left, (NOON - age, NOON - age))
    place = copy_place(str(folder))
    assert place.copies() == []
    make_copy(data, place, None, clock, ignore)
    assert sorted(path.name for path in folder.iterdir()) == [f"{name_of(NOON - 1)}.unfinished", name_of(NOON)]


def test_the_unfinished_object_of_a_killed_process_is_no_copy(data: Path, bucket: Bucket) -> None:
    client = bucket.server.client
    begun = client.create_multipart_upload(Bucket=bucket.name, Key=f"copies/{name_of(NOON)}")
    part = {"Bucket": bucket.name, "Key": begun["Key"], "UploadId": begun["UploadId"], "PartNumber": 1}
    client.upload_part(**part, Body=b"x" * 100)
    place = copy_place(f"s3://{bucket.name}/copies")
    assert place.copies() == []
    make_copy(data, place, None, ManualClock(NOON + 1), ignore)
    assert times(place) == [NOON + 1]


def test_a_copy_that_was_cut_is_told(data: Path, place: CopyPlace, tmp_path: Path, bucket: Bucket) -> None:
    make_copy(data, place, None, ManualClock(NOON), ignore)
    (copy,) = place.copies()
    if copy.packed.name.startswith("s3://"):
        _, _, key = copy.packed.name.removeprefix("s3://").partition("/")
        body = bucket.server.client.get_object(Bucket=bucket.name, Key=key)["Body"].read()
        bucket.put(key, body[:-9])
    else:
        os.truncate(copy.packed.name, copy.packed.size - 9)
    with pytest.raises(StorageError, match=rf"{re.escape(copy.packed.name)} is not a whole backup: "):
        restored(place, None, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_a_name_is_the_instant() -> None:
    assert name_of(NOON + 0.25) == "2026-08-24T12-00-00.250Z.gz"
    assert time_of("2026-08-24T12-00-00.250Z.gz") == NOON + 0.25
    assert [time_of(name) for name in ("x", "2026-08-24T12-00-00Z.gz", "2026-08-99T12-00-00.250Z.gz")] == [None] * 3


def test_a_place_may_have_a_time() -> None:
    assert place_and_time("s3://b/p") == ("s3://b/p", None)
    assert place_and_time("s3://b/a@b") == ("s3://b/a@b", None)
    assert place_and_time("s3://b/a@b@2026-08-24T14:00:00+02:00") == ("s3://b/a@b", NOON)
    for wrong in ("2026-08-24", "2026-08-24T12:00:00", "2026-08-24Tnoon"):
        with pytest.raises(StorageError, match=rf"'{wrong}' is no time with an offset; write @2026-08-24T12:30:00Z"):
            place_and_time(f"p@{wrong}")


@pytest.mark.usefixtures("bucket")
def test_places_that_cannot_be(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ObjectError, match="gs:// cannot be read"):
        copy_place("gs://b/k")
    with pytest.raises(ObjectError, match="there is no such bucket"):
        copy_place("s3://absent-bucket/k").copies()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=r"cannot read .*/file: Not a directory"):
        copy_place(str(tmp_path / "file")).copies()
    with pytest.raises(StorageError, match=r"cannot make the folder .*/no/copies: No such file or directory"):
        make_copy(data, copy_place(str(tmp_path / "no" / "copies")), None, ManualClock(NOON), ignore)
