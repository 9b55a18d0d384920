"""Checks the pages of a folder's `data.mdb`, while other processes may write to it.

The check follows a snapshot, whose pages LMDB does not use again. Only the meta pages can change meanwhile, so damage
counts when it is seen again while no process can commit.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Final

import lmdb

from sortkey.storage.gradual_check import GradualCheck
from sortkey.storage.meta_pages import Damage, meta_of
from sortkey.storage.page_tree import check_trees

DATA_FILE: Final = "data.mdb"
TRIES: Final = 5


def check_writable(environment: lmdb.Environment, path: Path, most_bytes: int, unsealed: bytes) -> GradualCheck | None:
    """Raise Damage if the folder is damaged.

    The leaves of a file larger than `most_bytes` are left to the check that is returned.
    """
    try:
        return _begin_check(environment, path, most_bytes, unsealed)
    except Damage:
        transaction = environment.begin(write=True)
        try:
            return _begin_check(environment, path, most_bytes, unsealed)
        finally:
            transaction.abort()


def _begin_check(environment: lmdb.Environment, path: Path, most_bytes: int, unsealed: bytes) -> GradualCheck | None:
    if (path / DATA_FILE).stat().st_size > most_bytes:
        return GradualCheck(environment, path / DATA_FILE, unsealed)
    _check_snapshot(environment, path)
    return None


def check_read_only(environment: lmdb.Environment, path: Path) -> None:
    """The same with all leaves, for an environment that cannot stop other processes: tries again instead."""
    for left in reversed(range(TRIES)):
        try:
            _check_snapshot(environment, path)
        except Damage:
            if not left:
                raise
        else:
            return


def _check_snapshot(environment: lmdb.Environment, path: Path) -> None:
    # Beginning a snapshot reads no page of a tree.
    with environment.begin() as snapshot:
        file = os.open(path / DATA_FILE, os.O_RDONLY)
        try:
            read = partial(os.pread, file)
            check_trees(read, meta_of(read, snapshot.id()), os.fstat(file).st_size)
        finally:
            os.close(file)
