"""Beginning a snapshot that can be read.

A reader of LMDB first notes the number of the newest commit, then copies where that commit's tree begins. If it is
held up between the two while others commit twice, it copies the place of a newer tree: a sound snapshot, only newer
than its number says, and protected all the same, since pages are kept for the older number. But the binding's copy of
LMDB 1.0 checks that no page is newer than the snapshot's number, takes this for damage, and raises CorruptedError at
the first page: the root, which every commit rewrites. (Seen once in 300,000 snapshots, with four processes writing on
two cores.)

So a snapshot is tried, by one look into it, before anybody gets it, and begun anew if that fails. Real damage fails
every time. Whoever has a key to look up anyway gives that one, and the trial costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import lmdb

from sortkey.storage.environment import FORMAT_KEY, Transaction

TRIES: Final = 20


def begin_snapshot(begin: Callable[[], Transaction]) -> Transaction:
    return begin_with(begin, FORMAT_KEY)[0]


def begin_with(begin: Callable[[], Transaction], key: bytes) -> tuple[Transaction, bytes | None]:
    """A snapshot, and what it has for a key."""
    for _ in range(TRIES):
        snapshot = begin()
        try:
            return snapshot, snapshot.get(key)
        except lmdb.CorruptedError:
            snapshot.abort()
    # Not bad luck any more: whoever reads shall hear of it.
    snapshot = begin()
    return snapshot, snapshot.get(key)
