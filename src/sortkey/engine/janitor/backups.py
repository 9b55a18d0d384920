"""Copies tables into backups, block by block, and removes system backups when they expire.

A block is read and compressed in a snapshot, and only then written, in a transaction that also stores the position. So
writers wait for one write of some fifty kilobytes at a time, and a killed process, or another one, goes on where the
last block ends. What changes meanwhile does not matter: the change log has it.

    block   rows, compressed; each is  length(2) row key without its space  length(4) row without its seal
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

import msgspec

from sortkey.engine.janitor.table_chunks import in_turn
from sortkey.engine.operations.backups import is_read, remove
from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import BackupEntry
from sortkey.engine.rows.job_records import BACKUPS
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import change_log
from sortkey.engine.tables.core import Core
from sortkey.errors import InternalServerError
from sortkey.limits import KIB
from sortkey.storage import Transaction

BLOCK_BYTES: Final = 256 * KIB
"""Of a block, before it is compressed."""
COMPRESSION: Final = 1
"""zlib's quickest level."""
LENGTHS: Final = struct.Struct(">HI")


class _Block(NamedTuple):
    compressed: bytes
    position: str | None
    """What it ends with; None at the table's end."""


def copy_backups(core: Core) -> Iterator[None]:
    """Make every backup whole that has been begun, block by block."""
    while (found := _next_block(core)) is not None:
        if not core.store.write(partial(_write_block, core, *found)):
            return
        yield


def _next_block(core: Core) -> tuple[BackupEntry, _Block] | None:
    with core.read() as snapshot:
        for backup in BACKUPS.all(snapshot):
            if backup.position is not None:
                return backup, _read_block(snapshot, backup, backup.position)
    return None


def _read_block(snapshot: Transaction, backup: BackupEntry, position: str) -> _Block:
    parts: list[bytes] = []
    size = 0
    last: str | None = None
    for key, payload in in_turn(change_log.rows_at(snapshot, backup.source, position)):
        parts += LENGTHS.pack(len(key), len(payload)), key, payload
        size += len(key) + len(payload)
        if size >= BLOCK_BYTES:
            last = key.hex()
            break
    return _Block(zlib.compress(b"".join(parts), COMPRESSION), last)


def _write_block(core: Core, backup: BackupEntry, block: _Block, batch: WriteBatch) -> bool:
    """False if another process has written the block: then that one may have the next ones, too, until it is gone."""
    if BACKUPS.find(batch.transaction, backup.id) != backup:
        return False
    batch.put_record(block_key(backup.space, backup.blocks), block.compressed)
    written = msgspec.structs.replace(backup, blocks=backup.blocks + 1, position=block.position)
    BACKUPS.save(batch, backup.id, written)
    if block.position is None:
        change_log.release(core, batch, backup.source)
    return True


def block_key(space: int, number: int) -> bytes:
    return records.space_bytes(space) + number.to_bytes(4, "big")


def rows_of_block(transaction: Transaction, backup: BackupEntry, number: int) -> Iterator[tuple[bytes, bytes]]:
    """The rows of a block: row keys without their space, and rows without their seals."""
    compressed = records.read(transaction, block_key(backup.space, number))
    if compressed is None:
        raise InternalServerError(f"The stored data is damaged: block {number} of backup {backup.id} is missing.")
    text = zlib.decompress(compressed)
    at = 0
    while at < len(text):
        of_key, of_row = LENGTHS.unpack_from(text, at)
        at += LENGTHS.size
        yield text[at : at + of_key], text[at + of_key : at + of_key + of_row]
        at += of_key + of_row


def drop_expired_backups(core: Core) -> Iterator[None]:
    """Remove the system backups whose time has come."""
    now = core.clock.now()
    with core.read() as snapshot:
        expired = [backup for backup in BACKUPS.all(snapshot) if _is_expired(backup, now)]
    for backup in expired:
        core.store.write(partial(_drop, backup))
        yield


def _is_expired(backup: BackupEntry, now: float) -> bool:
    return backup.expires is not None and backup.expires <= now and backup.position is None


def _drop(backup: BackupEntry, batch: WriteBatch) -> None:
    if BACKUPS.find(batch.transaction, backup.id) == backup and not is_read(batch, backup):
        remove(batch, backup)
