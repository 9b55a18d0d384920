"""Who may read the data: its owner alone, whatever the umask is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sortkey.storage import open_existing
from tests.storage.byte_store import open_store, put


@pytest.fixture(params=[0o000, 0o022, 0o027, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}


@pytest.mark.usefixtures("umask")
def test_a_new_folder_and_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    store = open_store(folder)
    store.write(put(b"k", b"v"))
    found = modes(folder)
    store.close()
    assert found.pop("data") == 0o700
    assert found.keys() >= {"data.mdb", "lock.mdb"}
    assert set(found.values()) == {0o600}


# A group may have been given access on purpose.
@pytest.mark.usefixtures("umask")
def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o750)
    open_store(folder).close()
    found = modes(folder)
    assert found.pop("data") == 0o750
    assert set(found.values()) == {0o600}


@pytest.mark.usefixtures("umask")
def test_a_lock_file_that_was_missing(tmp_path: Path) -> None:
    open_store(tmp_path / "data").close()
    (tmp_path / "data" / "lock.mdb").unlink()
    open_existing(tmp_path / "data").close()
    assert modes(tmp_path / "data")["lock.mdb"] == 0o600
