"""Removes what nothing refers to any more: released spaces, ownerless expiry entries, old idempotency tokens.

All of it is invisible already, so it is removed in transactions that are too short to delay writers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from sortkey.engine.core import Core
from sortkey.engine.rows import expiry_index, records, spaces
from sortkey.engine.write_batch import WriteBatch
from sortkey.limits import TRANSACTION_TOKEN_SECONDS
from sortkey.storage import Transaction, after_prefix, ascending

CHUNK: Final = 500
"""Deletes of a commit. They take half a millisecond, and fifty while a large file is still being checked."""
TOKEN_INTERVAL_SECONDS: Final = 60.0
"""Tokens are not ordered by time, so a search for old ones reads them all. It does not run on every sweep."""


def empty_spaces(core: Core) -> Iterator[None]:
    """Delete the rows of dropped tables, indexes and streams, chunk by chunk."""
    while _has_garbage(core):
        core.store.write(_empty_chunk)
        yield


def _has_garbage(core: Core) -> bool:
    with core.read() as snapshot:
        return _first_garbage(snapshot) is not None


def _first_garbage(transaction: Transaction) -> bytes | None:
    for key, value in ascending(transaction, spaces.GARBAGE, after_prefix(spaces.GARBAGE)):
        # A damaged key could name a space that is in use.
        records.opened(transaction, key, value)
        return key[spaces.SPACE_BYTES :]
    return None


def _empty_chunk(batch: WriteBatch) -> None:
    space = _first_garbage(batch.transaction)
    if space is None:
        return
    keys = [key for key, _ in islice(ascending(batch.transaction, space, after_prefix(space)), CHUNK)]
    for key in keys:
        batch.delete(key)
    if len(keys) < CHUNK:
        batch.delete(spaces.COUNTS + space)
        batch.delete(spaces.GARBAGE + space)


def drop_ownerless_expiries(core: Core) -> Iterator[None]:
    """Delete the expiry entries of dropped tables, and of tables without TTL, chunk by chunk."""
    while _has_ownerless(core):
        core.store.write(lambda batch: _drop_ownerless(core, batch))
        yield


def _has_ownerless(core: Core) -> bool:
    with core.read() as snapshot:
        return next(expiry_index.ownerless(snapshot, _owned(core, snapshot)), None) is not None


def _drop_ownerless(core: Core, batch: WriteBatch) -> None:
    for key in list(islice(expiry_index.ownerless(batch.transaction, _owned(core, batch.transaction)), CHUNK)):
        batch.delete(key)


def _owned(core: Core, transaction: Transaction) -> set[bytes]:
    tables = core.catalog.tables(transaction).values()
    return {spaces.space_bytes(table.entry.ttl_number) for table in tables if table.ttl_attribute is not None}


class TokenSweep:
    """Deletes the idempotency tokens of transactions after ten minutes; runs once a minute."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, core: Core) -> Iterator[None]:
        now = core.clock.now()
        if now < self._next:
            return
        self._next = now + TOKEN_INTERVAL_SECONDS
        with core.read() as snapshot:
            old = _old_tokens(snapshot, now)
        for at in range(0, len(old), CHUNK):
            core.store.write(partial(_delete_tokens, old[at : at + CHUNK]))
            yield


def _delete_tokens(keys: list[bytes], batch: WriteBatch) -> None:
    for key in keys:
        value = batch.get_record(key)
        # The token may have been used again since the snapshot.
        if value is not None and _is_old(value, batch.now):
            batch.delete(key)


def _old_tokens(transaction: Transaction, now: float) -> list[bytes]:
    tokens = ascending(transaction, spaces.TOKENS, after_prefix(spaces.TOKENS))
    return [key for key, value in tokens if _is_old(records.opened(transaction, key, value), now)]


def _is_old(value: bytes, now: float) -> bool:
    return int.from_bytes(value[:8], "big") < now - TRANSACTION_TOKEN_SECONDS
