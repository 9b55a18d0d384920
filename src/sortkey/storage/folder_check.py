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

from sortkey.storage.meta_pages import Damage, meta_of
from sortkey.storage.page_tree import check_trees

DATA_FILE: Final = "data.mdb"
TRIES: Final = 5


def check_writable(environment: lmdb.Environment, path: Path, most_bytes: int) -> None:
    """Raise Damage if the folder is damaged. The trees of a file larger than `most_bytes` are not walked."""
    try:
        _check_snapshot(environment, path, most_bytes)
    except Damage:
        transaction = environment.begin(write=True)
        try:
            _check(path, transaction.id() - 1, most_bytes)
        finally:
            transaction.abort()


def check_read_only(environment: lmdb.Environment, path: Path) -> None:
    """The same with all trees, for an environment that cannot stop other processes: tries again instead."""
    for left in reversed(range(TRIES)):
        try:
            _check_snapshot(environment, path, None)
        except Damage:
            if not left:
                raise
        else:
            return


def _check_snapshot(environment: lmdb.Environment, path: Path, most_bytes: int | None) -> None:
    # Beginning a snapshot reads no page of a tree.
    with environment.begin() as snapshot:
        _check(path, snapshot.id(), most_bytes)


def _check(path: Path, commit: int, most_bytes: int | None) -> None:
    file = os.open(path / DATA_FILE, os.O_RDONLY)
    try:
        read = partial(os.pread, file)
        meta = meta_of(read, commit)
        size = os.fstat(file).st_size
        is_short = size < (meta.last_page + 1) * meta.page_size
        if most_bytes is None or size <= most_bytes or is_short:
            check_trees(read, meta, size)
    finally:
        os.close(file)
