"""Backups, and work that the janitor does for a request: records of the catalog's space, stored as JSON.

They are not part of the catalog that is cached: their progress changes often, and concerns no request.

    backup/ID          a `BackupEntry`, ordered by creation
    restore/TABLE ID   a `RestoreEntry`, until the table is restored
    export/ID          an `ExportEntry`, ordered by creation
    import/ID          an `ImportEntry`, likewise
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

import msgspec

from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import BackupEntry, ExportEntry, ImportEntry, RestoreEntry, Source
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.storage import Transaction, after_prefix, ascending

Entry = TypeVar("Entry", bound=msgspec.Struct)


class JobRecords(Generic[Entry]):
    """The records of one kind."""

    def __init__(self, name: str, kind: type[Entry]) -> None:
        self._prefix = records.CATALOG + f"{name}/".encode()
        self._decode = msgspec.json.Decoder(kind).decode

    def all(self, transaction: Transaction) -> Iterator[Entry]:
        for key, value in ascending(transaction, self._prefix, after_prefix(self._prefix)):
            yield self._decode(records.opened(transaction, key, value))

    def find(self, transaction: Transaction, id_: str) -> Entry | None:
        found = records.read(transaction, self._prefix + id_.encode())
        return None if found is None else self._decode(found)

    def save(self, batch: WriteBatch, id_: str, entry: Entry) -> None:
        batch.put_record(self._prefix + id_.encode(), msgspec.json.encode(entry))

    def remove(self, batch: WriteBatch, id_: str) -> None:
        batch.delete(self._prefix + id_.encode())


BACKUPS: Final = JobRecords("backup", BackupEntry)
RESTORES: Final = JobRecords("restore", RestoreEntry)
EXPORTS: Final = JobRecords("export", ExportEntry)
IMPORTS: Final = JobRecords("import", ImportEntry)


def sources_in_use(transaction: Transaction) -> Iterator[Source]:
    """What unfinished work still reads."""
    yield from (backup.source for backup in BACKUPS.all(transaction) if backup.position is not None)
    yield from (restore.source for restore in RESTORES.all(transaction) if restore.source is not None)
    for export in EXPORTS.all(transaction):
        if export.position is not None:
            # The earlier of its two moments, if it is incremental: the log is needed from there on.
            yield Source(export.source.table, export.source.moment if export.since is None else export.since)


def spaces_in_use(transaction: Transaction) -> set[int]:
    """The spaces of backups, and those that unfinished work reads, maybe of deleted tables."""
    used = {backup.space for backup in BACKUPS.all(transaction)}
    return used.union(*(source.spaces for source in sources_in_use(transaction)))
