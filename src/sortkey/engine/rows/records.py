"""The records of the store: what their keys mean, and how what was sealed is read.

The first four bytes of a key are its *space*:

    space 0        the catalog and single values            text
    space 1        counts                                    space(4)                        → items(8) bytes(8)
    space 2        expiry index                              number(4) second(8) row(…)      → nothing
    space 3        idempotency tokens                        blake2b-128 of the token        → second(8) digest(16)
    space 4        released spaces, to be emptied            space(4)                        → nothing
    space 16 …     one per table, index, stream, change log and backup, two per vector index and per replicated table,
                   one per replica elsewhere; never reused

A table's or index's rows:

    table row      space(4) partition(16) sort(…)            → size and flags(4) item as DynamoDB JSON
    index row      space(4) partition(16) sort(…) owner(16)  → size and flags(4) projected item as DynamoDB JSON
    vector row     space(4) partition(16) owner(16)          → size(4) vector as float32 rest of the projected item
    vector change  space(4) number(8)                        → partition(16) owner(16)
    stream record  space(4) shard(4) sequence(8)             → millisecond and flag(8) record as DynamoDB Streams JSON
    change         space(4) partition(16) sort(…) moment(8)
                                                             → size and flags(4) the item before it
    block          space(4) number(4)                        → rows of a backup, compressed
    version        space(4) partition(16) sort(…)            → microsecond(8) deleted(1) region
    deleted row    space(4) microsecond(8) partition(16) sort(…)
                                                             → nothing
    queued change  space(4) number(8)                        → microsecond(8) now(8) partition(16) sort(…)
    trim mark      space(4) shard(4) 0(8)                    → the last sequence number removed from the shard(8)

Every value but the format version ends in its seal(8), the checksums of `storage/sealed.py`; it is left out above.

`partition` is the blake2b-128 of the partition key, so a partition is one contiguous range, a Scan walks in hash
order as DynamoDB's does, and parallel segments and stream shards are slices of the hash space. `sort` is order-
preserving and self-delimiting (`values/key_bytes.py`), so the attributes of a multi-attribute key follow one another,
and an index row can end in its `owner`: the blake2b-128 of its table row's partition and sort bytes, which keeps rows
with equal index keys apart. A vector row's partition is that of its HASH attribute, or zeros. The flag of a stream
record, as of an item, is the top bit: whether it holds binary.
An expiry entry ends in its item's row key without the space. Its number is a new space number for each time that TTL is
switched on for a table, so entries of an earlier time differ from present ones.

A damaged record is an error that names it, never an answer. Rows keep their seal in memory (`stored_item` skips it),
because cutting it off would cost as much as verifying it. All other records are read as their payload.

A damaged value is found by every read, so a folder that has one can be used. A damaged key is not: the record is simply
not found. So a folder is not opened if a record is not the one of its key (`check_when_opened`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from sortkey.engine.rows.catalog_entries import TableEntry
from sortkey.errors import InternalServerError
from sortkey.storage import (
    CHECKED_BYTES,
    DAMAGED_PAGE,
    FORMAT_KEY,
    Store,
    Transaction,
    ascending,
    belongs_to,
    damaged_folder,
    is_sound,
    payload_of,
)

CATALOG: Final = b"\0\0\0\0"
COUNTS: Final = b"\0\0\0\1"
EXPIRY: Final = b"\0\0\0\2"
TOKENS: Final = b"\0\0\0\3"
GARBAGE: Final = b"\0\0\0\4"
FIRST_FREE: Final = 16

CATALOG_VERSION: Final = CATALOG + b"version"
NEXT_SPACE: Final = CATALOG + b"next-space"
LAST_SEQUENCE: Final = CATALOG + b"last-sequence"
LAST_MOMENT: Final = CATALOG + b"last-moment"
LAST_WRITE_TIME: Final = CATALOG + b"last-write-time"
REGION: Final = CATALOG + b"region"
TABLE_PREFIX: Final = CATALOG + b"table/"
TABLE_END: Final = TABLE_PREFIX + b"\xff"

OWN: Final = {
    CATALOG: "the catalog",
    COUNTS: "the counts",
    EXPIRY: "the expiry index",
    TOKENS: "the idempotency tokens",
    GARBAGE: "the released spaces",
}
"""The spaces that belong to no table."""

PARTITION_BYTES: Final = 16
OWNER_BYTES: Final = 16
SPACE_BYTES: Final = 4
PARTITION_END: Final = SPACE_BYTES + PARTITION_BYTES
"""Row keys of one partition have so many bytes in common."""


def space_bytes(number: int) -> bytes:
    return number.to_bytes(SPACE_BYTES, "big")


_logger = logging.getLogger(__name__)


def read(transaction: Transaction, key: bytes) -> bytes | None:
    """The payload of a record; None if there is none."""
    value = transaction.get(key)
    return None if value is None else opened(transaction, key, value)


def read_number(transaction: Transaction, key: bytes) -> int:
    """A record that is a number; 0 if there is none."""
    return int.from_bytes(read(transaction, key) or b"", "big")


def opened(transaction: Transaction, key: bytes, value: bytes) -> bytes:
    """The payload of a value found under this key."""
    if not (is_sound(value) and belongs_to(key, value)):
        raise damaged(transaction, key)
    return payload_of(value)


def first_damaged(transaction: Transaction, keys: list[bytes]) -> InternalServerError:
    """The error for keys of which at least one has a damaged row."""
    return first_damaged_of(transaction, ((key, transaction.get(key)) for key in keys))


def first_damaged_of(transaction: Transaction, rows: Iterable[tuple[bytes, bytes | None]]) -> InternalServerError:
    """The error for rows of which at least one is damaged."""
    for key, row in rows:
        if row is not None and not is_sound(row):
            return damaged(transaction, key)
    return _error("a row changed while it was read")


def damaged(transaction: Transaction, key: bytes) -> InternalServerError:
    return _error(f"{owner_of(transaction, key)}, record {key.hex()}, does not match its checksum")


def damaged_page(error: Exception) -> InternalServerError:
    """The error for what LMDB (`storage.DAMAGED_PAGE`) or the check of a large folder found."""
    return _error(str(error))


def _error(what: str) -> InternalServerError:
    message = f"The stored data is damaged: {what}. Run `sortkey check` on the data folder."
    _logger.error(message)
    return InternalServerError(message)


def owner_of(transaction: Transaction, key: bytes) -> str:
    """What a record belongs to, by the first bytes of its key."""
    space = key[:SPACE_BYTES]
    if space in OWN:
        return OWN[space]
    for _, value in ascending(transaction, TABLE_PREFIX, TABLE_END):
        for number, owner in _owned(value):
            if space_bytes(number) == space:
                return owner
    return f"space {int.from_bytes(space, 'big')}"


def _owned(value: bytes) -> list[tuple[int, str]]:
    try:
        entry = msgspec.json.decode(payload_of(value), type=TableEntry)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    return [
        (entry.space, f"table {entry.name}"),
        *((index.space, f"index {entry.name}/{index.name}") for index in entry.indexes),
        *((index.space, f"vector index {entry.name}/{index.name}") for index in entry.vector_indexes),
        *((index.log, f"changes of vector index {entry.name}/{index.name}") for index in entry.vector_indexes),
        *((stream.space, f"stream {entry.name}/{stream.label}") for stream in entry.all_streams),
        (entry.log, f"the change log of table {entry.name}"),
        *((space, f"the replication of table {entry.name}") for space in entry.replication_spaces),
    ]


def damaged_records(snapshot: Transaction) -> Iterator[tuple[bytes, bool]]:
    """The keys of damaged records, and whether the key is as it was written."""
    cursor = snapshot.cursor()
    for key, value in cursor.iternext():
        if not (is_sound(value) and belongs_to(key, value)) and key != FORMAT_KEY:
            yield key, belongs_to(key, value)


def problem_of(snapshot: Transaction, key: bytes, has_key: bool) -> str:
    what = "does not match its checksum" if has_key else "is damaged, or its key is"
    return f"{owner_of(snapshot, key)}, record {key.hex()}: {what}"


def check_when_opened(store: Store[Any], path: Path) -> bool:
    """Raise DamagedFolder if records may be missing, and log damaged values; returns whether all records are sound.

    A large folder is not read, and may not be sound.
    """
    if store.bytes_used() > CHECKED_BYTES:
        return False
    is_whole = True
    try:
        with store.read() as snapshot:
            for key, has_key in damaged_records(snapshot):
                problem = problem_of(snapshot, key, has_key)
                if not has_key:
                    raise damaged_folder(path, problem)
                _logger.error("%s is damaged: %s", path, problem)
                is_whole = False
    except DAMAGED_PAGE as error:
        raise damaged_folder(path, str(error)) from error
    return is_whole
