"""Checks the seals of all records in a snapshot (`storage/sealed.py`).

A damaged value is found by every read, so a folder that has one can be used. A damaged key is not: the record is simply
not found. So a folder is not opened if a record is not the one of its key.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sortkey.engine.rows.records import owner_of
from sortkey.storage import (
    CHECKED_BYTES,
    DAMAGED_PAGE,
    FORMAT_KEY,
    Store,
    Transaction,
    belongs_to,
    damaged_folder,
    is_sound,
)

_logger = logging.getLogger(__name__)


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
