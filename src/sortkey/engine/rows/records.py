"""Records: how the engine reads what it has sealed. A damaged record is an error that names it, never an answer.

Rows keep their seal in memory (`stored_item` skips it), because cutting it off would cost as much as verifying it. All
other records are read as their payload.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from sortkey.engine.rows import spaces
from sortkey.engine.tables.catalog_entries import TableEntry
from sortkey.errors import InternalServerError
from sortkey.storage import Transaction, ascending, belongs_to, is_sound, payload_of

_logger = logging.getLogger(__name__)


def read(transaction: Transaction, key: bytes) -> bytes | None:
    """The payload of a record; None if there is none."""
    value = transaction.get(key)
    return None if value is None else opened(transaction, key, value)


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
    space = key[: spaces.SPACE_BYTES]
    if space in spaces.OWN:
        return spaces.OWN[space]
    for _, value in ascending(transaction, spaces.TABLE_PREFIX, spaces.TABLE_END):
        for number, owner in _owned(value):
            if spaces.space_bytes(number) == space:
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
        *((stream.space, f"stream {entry.name}/{stream.label}") for stream in entry.streams),
    ]
