from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import lmdb
import pytest

from sortkey.storage.environment import FORMAT, Transaction, open_folder
from sortkey.storage.store import SNAPSHOT_TRIES, begin_snapshot


class Unlucky:
    """A snapshot whose tree is newer than its number, as LMDB's check sees it."""

    def __init__(self) -> None:
        self.aborted = False

    def get(self, _key: bytes) -> bytes:
        raise lmdb.CorruptedError("mdb_get")

    def abort(self) -> None:
        self.aborted = True


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[lmdb.Environment]:
    environment, *_ = open_folder(tmp_path)
    yield environment
    environment.close()


# With four processes writing, a reader gets such a snapshot at times; the data is sound.
def test_an_unlucky_snapshot_is_begun_again(environment: lmdb.Environment) -> None:
    unlucky = [Unlucky() for _ in range(3)]
    begun: list[Transaction | Unlucky] = [*unlucky, environment.begin()]
    snapshot, found = begin_snapshot(lambda: cast(Transaction, begun.pop(0)))
    with snapshot:
        assert snapshot.get(b"\0\0\0\0format") == found == FORMAT
    assert all(each.aborted for each in unlucky)


def test_real_damage_is_not_hidden() -> None:
    begun: list[Unlucky] = []

    def begin() -> Transaction:
        begun.append(Unlucky())
        return cast(Transaction, begun[-1])

    with pytest.raises(lmdb.CorruptedError):
        begin_snapshot(begin)[0].get(b"k")
    assert len(begun) == SNAPSHOT_TRIES + 1
