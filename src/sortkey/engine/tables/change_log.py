"""The change log of a table: what each changed row was before, so that any state since the log began can be read.

    space(4) partition(16) sort(…) moment(8)  → the row before the change, without its seal; nothing if there was none

A table has a log while point-in-time recovery is enabled, and while a backup or something else reads its state of one
moment in many small transactions. Only what a row *was* is stored, since its next change, or the table itself, has what
it became. So a change costs one record, and reading the present state costs nothing.

The log is ordered by row, not by time: whoever reads a moment walks rows and log side by side (`rows_at`), and the
first change of a row after that moment says what it was then. Of several changes of a row at one moment, the first is
kept; the states between them belong to no moment. Moments never decrease, whatever the clock does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import Source, TableEntry
from sortkey.engine.rows.job_records import sources_in_use
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Core, new_space, release_space
from sortkey.storage import Transaction, after_prefix, ascending, is_sound, payload_of

MOMENT_BYTES: Final = 8
_LAST: Final = b"\xff" * (MOMENT_BYTES + 1)
SECOND: Final = 1_000_000_000
"""In moments, which are nanoseconds."""
MICROSECOND: Final = 1000


def follow(batch: WriteBatch, log: bytes, row_key: bytes, old_row: bytes | None) -> None:
    """Keep what a row is, before it changes."""
    key = log + row_key[records.SPACE_BYTES :] + batch.moment().to_bytes(MOMENT_BYTES, "big")
    if batch.transaction.get(key) is None:
        batch.put_record(key, b"" if old_row is None else payload_of(old_row))


def begin(batch: WriteBatch, entry: TableEntry) -> TableEntry:
    """The table with a change log."""
    return entry if entry.log else msgspec.structs.replace(entry, log=new_space(batch))


def release(core: Core, batch: WriteBatch, source: Source) -> None:
    """Remove what nobody needs any more, after work with a table's earlier state has ended."""
    used: set[int] = set()
    used = used.union(*(other.spaces for other in sources_in_use(batch.transaction)))
    table = core.catalog.find(batch.transaction, source.table.name)
    if table is None or table.entry.id != source.table.id:
        for space in source.spaces - used:
            release_space(batch, space)
    elif table.entry.log and table.entry.recovery is None and table.entry.log not in used:
        release_space(batch, table.entry.log)
        core.catalog.save(batch, msgspec.structs.replace(table.entry, log=0))


def rows_at(transaction: Transaction, source: Source, position: str) -> Iterator[tuple[bytes, bytes]]:
    """The rows of a table at a moment, in order: the row key without its space, and the row without its seal.

    They begin after a position, which is such a key in hex.
    """
    after = bytes.fromhex(position)
    space = records.space_bytes(source.table.space)
    changes = _before_changes(transaction, source, after)
    changed = next(changes, None)
    start = space + after + b"\0" if after else space
    for key, row in ascending(transaction, start, after_prefix(space)):
        present = key[records.SPACE_BYTES :]
        while changed is not None and changed[0] < present:
            if changed[1]:
                yield changed
            changed = next(changes, None)
        if changed is not None and changed[0] == present:
            if changed[1]:
                yield changed
            changed = next(changes, None)
        elif is_sound(row):
            yield present, payload_of(row)
        else:
            raise records.damaged(transaction, key)
    while changed is not None:
        if changed[1]:
            yield changed
        changed = next(changes, None)


def _before_changes(transaction: Transaction, source: Source, after: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The rows that have changed since the moment, as they were at it; empty ones were not there."""
    if not source.table.log:
        return
    log = records.space_bytes(source.table.log)
    end = after_prefix(log)
    next_moment = (source.moment + 1).to_bytes(MOMENT_BYTES, "big")
    cursor = transaction.cursor()
    found = cursor.set_range(log + after + _LAST if after else log)
    while found and cursor.key() < end:
        row_key = cursor.key()[:-MOMENT_BYTES]
        if cursor.key()[-MOMENT_BYTES:] < next_moment:
            found = cursor.set_range(row_key + next_moment)
        if found and cursor.key()[:-MOMENT_BYTES] == row_key:
            yield row_key[records.SPACE_BYTES :], records.opened(transaction, *cursor.item())
            found = cursor.set_range(row_key + _LAST)


class Change(NamedTuple):
    """What became of a row between two moments."""

    key: bytes
    """Without its space."""
    before: bytes
    """The row without its seal; empty if there was none."""
    after: bytes
    last: int
    """The moment of the last change."""


def changes_between(transaction: Transaction, source: Source, since: int, position: str) -> Iterator[Change]:
    """The rows that have changed after one moment and not after another, the source's, in order; one that was made and
    deleted in between is left out."""
    start = Source(source.table, since)
    space = records.space_bytes(source.table.space)
    for key, before in _before_changes(transaction, start, bytes.fromhex(position)):
        last, after = _after(transaction, source, key)
        if last <= since:
            continue  # It has changed after both moments only.
        if after is None:
            row = transaction.get(space + key)
            if row is not None and not is_sound(row):
                raise records.damaged(transaction, space + key)
            after = b"" if row is None else payload_of(row)
        if before or after:
            yield Change(key, before, after, last)


def _after(transaction: Transaction, source: Source, key: bytes) -> tuple[int, bytes | None]:
    """The last change of a row that is not after a moment, 0 if there is none; and what the row was at the moment, None
    if it has not changed since."""
    prefix = records.space_bytes(source.table.log) + key
    last, after = 0, None
    cursor = transaction.cursor()
    target = prefix + (source.moment + 1).to_bytes(MOMENT_BYTES, "big")
    if cursor.set_range(target):
        if cursor.key()[:-MOMENT_BYTES] == prefix:
            after = records.opened(transaction, *cursor.item())
        found = cursor.prev()
    else:
        found = cursor.last()
    if found and cursor.key()[:-MOMENT_BYTES] == prefix:
        last = int.from_bytes(cursor.key()[-MOMENT_BYTES:], "big")
    return last, after
