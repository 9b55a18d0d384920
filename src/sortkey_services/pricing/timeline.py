"""What a price's row says at an instant, and how changes come into it and leave it. Pure: nothing is read or written.

An entry of a batch counts for a read that began when the batch was committed already. A read that began before counts
none of them, so it never sees a part of a request: all entries were written before the commit. In the same way, an
entry that leaves with a batch counts until that is committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

import sortkey as sk
from sortkey_services.pricing.model import LOADED, ChangeRow, Entry, PriceRow
from sortkey_services.pricing.prices import SECOND

Commits = Mapping[str, int]
"""When batches were committed; those that are not decided are missing."""

NEVER: Final = 1 << 62
"""When an aborted batch was committed."""
DECIDED: Final = NEVER - 1
"""A read that counts every committed batch."""
GRACE: Final = 3 * SECOND
"""How long after its commit a batch stays in the entries: longer than reads that began before it take."""
MAX_TO_COME: Final = 400
"""How many changes to come a price may have. A row is limited to 400 KB, and an entry has up to 600 bytes."""
KEPT: Final = 50
"""How many entries a row has at most that are no longer in force: those of the latest batches."""


class Moment(NamedTuple):
    """What is in force since an instant. They compare as they follow each other."""

    at: int
    number: str
    cents: int | None
    """None: no price."""


def batches_of(row: PriceRow) -> Iterable[str]:
    named = ((entry.batch, entry.leaves_with) for entry in row.entries or ())
    return (batch for both in named for batch in both if batch is not None)


def batches_of_changes(rows: Iterable[ChangeRow]) -> set[str]:
    """Those on which it depends what these rows say."""
    found = {row.batch for row in rows if row.batch is not None}
    return found | {row.departs_with for row in rows if row.departs_with is not None}


def after_departure(row: ChangeRow, commits: Commits, began: int) -> ChangeRow:
    """The change as it is for a read that began at this instant: cancelled if it has departed by then."""
    departure = row.departure
    if row.departs_with is None or departure is None:
        return row
    stays = sk.replace(row, departs_with=None, departure=None)
    if commits.get(row.departs_with, NEVER) > began:
        return stays
    return sk.replace(stays, status="CANCELLED", steps=departure.steps, moved_to=departure.moved_to)


def takes_effect(entry: Entry, commits: Commits, began: int) -> int | None:
    """When; None if the entry does not count for a read that began at this instant."""
    if entry.leaves_with is not None and commits.get(entry.leaves_with, NEVER) <= began:
        return None
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


def needs_history(row: PriceRow, at: int, commits: Commits, began: int) -> bool:
    """Whether what was in force at an instant may be in the history alone."""
    if row.older and (row.since is None or at < row.since):
        return True
    gaps = (takes_effect(entry, commits, began) for entry in row.entries or () if entry.gap)
    return any(effective is None or at < effective for effective in gaps)


def with_entries(row: PriceRow, added: Collection[Entry], now: int) -> PriceRow:
    """Of the added entries that are due, only the newest comes into the row: the others are history at once."""
    due = [entry for entry in added if entry.on_commit or entry.at <= now]
    entries = [*(row.entries or ()), *(entry for entry in added if not (entry.on_commit or entry.at <= now))]
    if due:
        newest = max(due, key=lambda entry: (entry.on_commit is True, entry.at, entry.number))
        entries.append(newest if len(due) == 1 else msgspec.structs.replace(newest, gap=True))
    entries.sort(key=lambda entry: (entry.at, entry.number))
    return sk.replace(row, entries=entries or None)


def without_entry(row: PriceRow, number: str) -> PriceRow | None:
    """None if the row has no such entry."""
    kept = [entry for entry in row.entries or () if entry.number != number]
    return None if len(kept) == len(row.entries or ()) else sk.replace(row, entries=kept or None)


def compacted(row: PriceRow, commits: Commits, now: int) -> PriceRow:
    """Without the entries that are no longer in force, and those of aborted batches; what is in force is the base.

    Entries of a batch that was committed a moment ago stay as they are. What is left out is among the changes."""
    if not row.entries:
        return row
    due: list[tuple[Moment, Entry]] = []
    kept: list[Entry] = []
    for entry in row.entries:
        if entry.leaves_with is not None:
            left = commits.get(entry.leaves_with)
            if left is None or now - GRACE < left < NEVER:
                kept.append(entry)
                continue
            if left != NEVER:
                continue
        at = takes_effect(entry, commits, now - GRACE)
        if at is not None and at <= now:
            due.append((Moment(at, entry.number, entry.cents), entry))
        elif entry.batch is None or commits.get(entry.batch) != NEVER:
            kept.append(entry)
    kept = _without_oldest(kept, commits, now)
    if not due:
        return row if len(kept) == len(row.entries) else sk.replace(row, entries=kept or None)
    base = base_of(row)
    moment, newest = max(due, key=lambda each: _order(each[0]))
    if base is not None and _order(base) > _order(moment):
        return sk.replace(row, entries=kept or None, older=True)
    return sk.replace(
        row,
        cents=newest.cents,
        since=moment.at,
        number=newest.number,
        by=newest.by,
        recorded=newest.recorded,
        entries=kept or None,
        older=True if base is not None or len(due) > 1 or newest.gap else row.older,
    )


def _without_oldest(entries: list[Entry], commits: Commits, now: int) -> list[Entry]:
    """Without the oldest ones that have taken effect, if a row has more of them than it may."""
    known = [
        (at, entry) for entry in entries if (at := takes_effect(entry, commits, DECIDED)) is not None and at <= now
    ]
    if len(known) <= KEPT:
        return entries
    known.sort(key=lambda each: (each[0], each[1].number))
    dropped = {entry.number for _, entry in known[:-KEPT]}
    oldest = known[-KEPT][1].number
    return [
        msgspec.structs.replace(entry, gap=True) if entry.number == oldest else entry
        for entry in entries
        if entry.number not in dropped
    ]
