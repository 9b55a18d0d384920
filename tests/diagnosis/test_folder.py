"""Data folders in every condition; none of them is changed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import pytest

from sortkey.clock import SystemClock
from sortkey.diagnosis import folder
from sortkey.diagnosis.finding import Finding
from sortkey.diagnosis.folder import examine_folder
from sortkey.engine.database import Database
from sortkey.storage import FolderState, Reader, environment
from tests.wire.serving import ServerProcess

GIB = 1 << 30


def examined(path: Path) -> dict[str, Finding]:
    """The findings by subject. Names and contents must be as before."""
    before = contents(path)
    findings = examine_folder(path, SystemClock())
    assert contents(path) == before
    assert [finding.subject for finding in findings if finding.status != "ok" and not finding.advice] == []
    return {finding.subject: finding for finding in findings}


def contents(path: Path) -> object:
    if not path.is_dir():
        return path.exists()
    # LMDB's own lock file has a slot for each reader.
    data = {file.name: file.read_bytes() for file in path.iterdir() if file.name != "lock.mdb"}
    return data, sorted(file.name for file in path.iterdir())


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    Database.open(path).close()
    return path


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user who owns nothing: root may read everything."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(own)


def test_a_sound_folder(database: Path) -> None:
    found = examined(database)
    assert list(found) == ["database", "last commit", "readers", "file system", "disk space", "sync"]
    assert [found[subject].status for subject in ("database", "last commit", "readers")] == ["ok"] * 3
    assert found["database"].found.startswith(f"format {environment.FORMAT.decode()}, ")
    assert 0 < found["sync"].numbers["median"] <= found["sync"].numbers["worst"]


# The write lock is free, and no commit is added.
@pytest.mark.slow
def test_a_folder_that_another_process_serves(database: Path) -> None:
    server = ServerProcess("--data", database)
    try:
        commits = examined(database)["database"].numbers["commits"]
        found = examined(database)
        assert found["database"].numbers["commits"] == commits
        assert found["readers"].status == "ok"
        assert f"process {server.process.pid}" in found["readers"].found
    finally:
        server.stop()


def test_a_missing_folder_is_not_created(tmp_path: Path) -> None:
    found = examined(tmp_path / "absent" / "data")
    assert (list(found), found["folder"].status) == (["folder"], "fail")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "is not a folder" in examined(tmp_path / "data")["folder"].found


# Nothing is wrong before the first start; but a disk that is not mounted looks the same.
def test_an_empty_folder(tmp_path: Path) -> None:
    found = examined(tmp_path)
    assert found["database"].status == "warn"
    assert "disk space" in found


def test_a_folder_of_another_format(database: Path) -> None:
    opened, *_ = environment.open_folder(database)
    with opened.begin(write=True) as transaction:
        transaction.put(environment.FORMAT_KEY, b"999")
    opened.close()
    found = examined(database)["database"]
    assert found.status == "fail"
    assert "data format 999" in found.found


def test_a_foreign_database(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path), lib_version=1) as foreign, foreign.begin(write=True) as transaction:
        transaction.put(b"theirs", b"")
    assert examined(tmp_path)["database"].status == "fail"


@pytest.mark.parametrize("content", [b"", b"shopping list" * 1000])
def test_a_file_that_is_not_a_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data.mdb").write_bytes(content)
    assert examined(tmp_path)["database"].status == "fail"


def test_a_backup_without_a_lock_file(database: Path) -> None:
    (database / "lock.mdb").unlink()
    assert examined(database)["database"].status == "ok"


# In a folder of its own: other users may not enter pytest's.
@pytest.mark.parametrize(("name", "mode"), [(".", 0o000), (".", 0o555), ("data.mdb", 0o400), ("lock.mdb", 0o444)])
def test_a_folder_of_another_user(name: str, mode: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        Database.open(path).close()
        path.chmod(0o755)
        (path / name).chmod(mode)
        with without_rights():
            findings = examine_folder(path, SystemClock())
        path.chmod(0o755)
    assert [finding.subject for finding in findings] == ["folder", "file system"]
    assert findings[0].status == "fail"
    assert "run this as the user" in findings[0].advice


# A folder inside one that may not be entered looks as if it were not there.
def test_a_folder_in_a_folder_of_another_user(database: Path) -> None:
    database.parent.chmod(0o000)
    try:
        with without_rights():
            (found,) = examine_folder(database, SystemClock())
    finally:
        database.parent.chmod(0o755)
    assert found.status == "fail"
    assert "Permission denied" in found.found


def test_a_commit_from_the_future(database: Path) -> None:
    tomorrow = SystemClock().now() + 86_400
    os.utime(database / "data.mdb", (tomorrow, tomorrow))
    found = examined(database)["last commit"]
    assert found.status == "warn"
    assert "ahead of this machine's clock" in found.found


def state(*readers: Reader, commits: int = 20_000) -> FolderState:
    return FolderState("1", GIB, commits, 2048, readers)


@pytest.mark.parametrize(
    ("readers", "status", "found"),
    [
        ((), "ok", "none"),
        ((Reader(7, 20_000, True), Reader(8, None, True)), "ok", "processes 7, 8"),
        ((Reader(7, 20_000, True), Reader(8, 3, False)), "warn", "1 left behind by ended processes (process 8)"),
        ((Reader(7, 3, True),), "warn", "19,997 commits behind"),
        ((Reader(7, None, True),) * 2000, "warn", "2,000 of 2,048 slots"),
    ],
)
def test_readers(readers: tuple[Reader, ...], status: str, found: str) -> None:
    judged = folder.judge_readers(state(*readers))
    assert judged.status == status
    assert found in judged.found


@pytest.mark.parametrize(
    ("free", "total", "status"),
    [
        (100 * GIB, 1000 * GIB, "ok"),
        (40 * GIB, 1000 * GIB, "warn"),
        (GIB // 2, 4 * GIB, "warn"),
        (10 << 20, 4 * GIB, "fail"),
    ],
)
def test_disk_space(free: int, total: int, status: str) -> None:
    assert folder.judge_space(free, total).status == status


@pytest.mark.parametrize(("median", "status"), [(0.000_001, "warn"), (0.000_3, "ok"), (0.004, "ok"), (0.020, "warn")])
def test_sync_latency(median: float, status: str) -> None:
    assert folder.judge_sync(median, 2 * median).status == status


def test_a_slow_disk_is_measured_for_a_bounded_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "SYNC_SECONDS", 0.0)
    assert len(folder.measured_syncs(tmp_path)) == 1


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    found = folder.examine_sync(tmp_path)
    assert found.status == "fail"
    assert "No space left on device" in found.found
    assert list(tmp_path.iterdir()) == []
