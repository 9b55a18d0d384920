"""What a price's row says at an instant, and how changes come into it and leave it. Pure: nothing is read or written.

An entry of a batch counts for a read that began when the batch was committed already. A read that began before counts
none of them, so it never sees a part of a request: all entries were written before the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import sortkey as sk
from sortkey.services.pricing.instants import SECOND
from sortkey.services.pricing.model import LOADED, Entry, PriceRow

Commits = Mapping[str, int]
"""When batches were committed; those that are not decided are missing."""

NEVER: Final = 1 << 62
"""When an aborted batch was committed."""
GRACE: Final = 60 * SECOND
"""How long after its commit a batch stays in the entries: longer than any read that began before it."""
MAX_ENTRIES: Final = 400
"""Of one row, whose size is limited to 400 KB; an entry has at most 400 bytes, or 700 with a long `requested_by`."""


class Moment(NamedTuple):
    """What is in force since an instant. They compare as they follow each other."""

    at: int
    number: str
    cents: int | None
    """None: no price."""


def batches_of(row: PriceRow) -> Iterable[str]:
    return () if row.entries is None else (entry.batch for entry in row.entries if entry.batch is not None)


def takes_effect(entry: Entry, commits: Commits, began: int) -> int | None:
    """When; None if the entry does not count for a read that began at this instant."""
    if entry.batch is None:
        return entry.at
    committed = commits.get(entry.batch, NEVER)
    if committed > began:
        return None
    return max(entry.at, committed) if entry.on_commit else entry.at


def base_of(row: PriceRow) -> Moment | None:
    return None if row.since is None else Moment(row.since, row.number or LOADED, row.cents)


def moments(row: PriceRow, commits: Commits, began: int) -> list[Moment]:
    """All that counts, in order."""
    base = base_of(row)
    found = [] if base is None else [base]
    for entry in row.entries or ():
        at = takes_effect(entry, commits, began)
        if at is not None:
            found.append(Moment(at, entry.number, entry.cents))
    found.sort(key=_order)
    return found


def _order(moment: Moment) -> tuple[int, str]:
    return moment.at, moment.number


def in_force(found: Iterable[Moment], at: int) -> Moment | None:
    """The newest one not after the instant; None if there is none."""
    newest = None
    for moment in found:
        if moment.at > at:
            break
        newest = moment
    return newest


def with_entries(row: PriceRow, added: Iterable[Entry]) -> PriceRow:
    entries = sorted([*(row.entries or ()), *added], key=lambda entry: (entry.at, entry.number))
    return sk.replace(row, entries=entries or None)


def without_entry(row: PriceRow, number: str) -> PriceRow | None:
    """None if the row has no such entry."""
    kept = [entry for entry in row.entries or () if entry.number != number]
    return None if len(kept) == len(row.entries or ()) else sk.replace(row, entries=kept or None)


class Compacted(NamedTuple):
    row: PriceRow
    retired: Moment | None
    """A loaded price that is no longer in force. It needs a row among the changes, which all others have."""


def compacted(row: PriceRow, commits: Commits, now: int) -> Compacted:
    """Without the entries that are no longer in force, and those of aborted batches; what is in force is the base.

    Entries of a batch that was committed within the last minute stay as they are."""
    if not row.entries:
        return Compacted(row, None)
    due: list[tuple[Moment, Entry]] = []
    kept: list[Entry] = []
    for entry in row.entries:
        at = takes_effect(entry, commits, now - GRACE)
        if at is not None and at <= now:
            due.append((Moment(at, entry.number, entry.cents), entry))
        elif entry.batch is None or commits.get(entry.batch) != NEVER:
            kept.append(entry)
    if not due:
        return Compacted(row if len(kept) == len(row.entries) else sk.replace(row, entries=kept or None), None)
    base = base_of(row)
    moment, newest = max(due, key=lambda each: _order(each[0]))
    if base is not None and _order(base) > _order(moment):
        return Compacted(sk.replace(row, entries=kept or None, older=True), None)
    made = sk.replace(
        row,
        cents=newest.cents,
        since=moment.at,
        number=newest.number,
        by=newest.by,
        recorded=newest.recorded,
        entries=kept or None,
        older=True if base is not None or len(due) > 1 else row.older,
    )
    return Compacted(made, base if base is not None and base.number == LOADED else None)
