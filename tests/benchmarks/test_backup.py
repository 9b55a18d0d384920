"""The benchmark of backups: it notices a copy that is not of one moment."""

from __future__ import annotations

from pathlib import Path

import pytest

import sortkey as sk
from benchmarks import backup


def test_a_copy_of_one_moment_is_accepted(tmp_path: Path) -> None:
    backup.fill(tmp_path, 50)
    with sk.client(tmp_path) as client:
        for put in (1, 2, 3):
            client.put_item(TableName=backup.TABLE, Item=backup.wire(backup.place(put, 50), put))
        backup.check(client, backup.TABLE, 50, puts=3)
        client.put_item(TableName=backup.TABLE, Item=backup.wire(backup.place(5, 50), 5))
        with pytest.raises(ValueError, match="is not what it was after put 5"):
            backup.check(client, backup.TABLE, 50, puts=5)


@pytest.mark.slow
def test_a_small_store_is_measured() -> None:
    names = [result.name for result in backup.run(2000, 100, 0.3)]
    assert "put during CreateBackup, p99" in names
