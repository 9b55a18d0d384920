"""The transition: makes what is due permanent. Prices are right without it, so it may be late, repeated or concurrent.

It takes the changes of a store at an instant, in groups. First the rows of their prices keep what is in force and what
is to come. Then the changes become APPLIED, with the amount before: who, when, from, to. A change that is applied is
not touched again, and what a call could not finish, the next one does. In the end a row says that the store was
updated. The events follow from these rows (`events.py`).

Readers cannot tell how far it is: they resolve a row in the same way before and after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.pricing.batches import Batches, SeenBatches
from sortkey_services.pricing.change_writes import ATTEMPTS, ChangeWrites, busy
from sortkey_services.pricing.model import ChangeRow, PriceRow, StoreUpdate, key_of
from sortkey_services.pricing.prices import PriceKey, micros_at, micros_of
from sortkey_services.pricing.reads import change_moment, listed_in_force
from sortkey_services.pricing.timeline import (
    DECIDED,
    NEVER,
    Commits,
    Moment,
    after_departure,
    batches_of,
    batches_of_changes,
    compacted,
    in_force,
    moments,
)
from sortkey_services.slices import in_slices

AT_ONCE: Final = 256
"""Changes of one group."""
PARALLEL: Final = 4
"""Groups that are made permanent at the same time: at a midnight, all stores have one."""


class Transition:
    def __init__(self, session: sk.AsyncSession, batches: Batches, writes: ChangeWrites, clock: Clock) -> None:
        self._session = session
        self._batches = batches
        self._writes = writes
        self._clock = clock
        self._groups = asyncio.Semaphore(PARALLEL)

    async def apply_due(self, store: str, instant: datetime) -> int:
        """How many changes of the store at this instant this call has made permanent. Raises Conflict before
        their time."""
        if micros_of(instant) > micros_at(self._clock.now()):
            raise sk.services.Conflict(f"the changes of {instant.isoformat()} are not due yet", "early")
        applied = listed = 0
        channels: set[str] = set()
        cursor: str | None = None
        path = ChangeRow.key(store=store, effective_at=instant)
        while True:
            async with self._groups:
                page = await self._session.page(path, first=AT_ONCE, after=cursor, consistent=True, undecodable="skip")
                # A read of a store in the process waits for nothing: others have their turn.
                await asyncio.sleep(0)
            counted = await self._counted(page.items)
            async with self._groups:
                applied += await self._settle([row for row in counted if row.status == "SCHEDULED"])
            listed += len(counted)
            channels.update(row.channel for row in counted)
            if not page.has_next:
                break
            cursor = page.end_cursor
        if listed:
            # Once for so many changes: a later call says so if an earlier one could not.
            made = StoreUpdate(store=store, effective_at=instant, changes=listed, channels=channels)
            await self._session.put(made, newer_by="changes")
        return applied

    async def _counted(self, rows: Sequence[ChangeRow]) -> list[ChangeRow]:
        """Those that are permanent, or shall be; the changes of aborted batches are deleted, departures are noted."""
        due = [row for row in rows if row.status == "SCHEDULED"]
        commits = await self._batches.decisions(batches_of_changes(due))
        departed = [after_departure(row, commits, DECIDED) for row in due if row.departs_with is not None]
        await self._session.put_many(
            [row for row in departed if row.status == "CANCELLED"], where={"status": "SCHEDULED"}
        )
        rows = [after_departure(row, commits, DECIDED) for row in rows]
        due = [row for row in rows if row.status == "SCHEDULED"]
        aborted = [row for row in due if row.batch is not None and commits[row.batch] == NEVER]
        await self._session.batch(delete=[row.key for row in aborted])
        gone = {row.number for row in aborted}
        return [row for row in rows if row.status != "CANCELLED" and row.number not in gone]

    async def _settle(self, changes: Sequence[ChangeRow]) -> int:
        """How many this call has made permanent: others may be at work, too."""
        for attempt in range(ATTEMPTS):
            if not changes:
                return 0
            rows = await self._writes.rows(list({key_of(change): None for change in changes}))
            named = {batch for row in rows.values() for batch in batches_of(row)}
            commits = await self._batches.commits(named | {each.batch for each in changes if each.batch is not None})
            now = micros_at(self._clock.now())
            made: list[PriceRow] = []
            async for some in in_slices(rows.values()):
                made += [new for row in some if (new := compacted(row, commits, now)) is not row]
            noted = await self._noted(changes, rows, commits)
            if not await self._session.put_many(made, if_version="version"):
                left = await self._session.put_many(noted, where={"status": "SCHEDULED"})
                return len(noted) - len(left)
            await self._writes.pause(attempt)
            found = await self._session.get_many([change.key for change in changes], consistent=True)
            changes = [
                after_departure(change, {}, DECIDED)
                for change in found
                if change is not None and change.status == "SCHEDULED"
            ]
        raise busy()

    async def _noted(
        self, changes: Sequence[ChangeRow], rows: Mapping[PriceKey, PriceRow], commits: Commits
    ) -> list[ChangeRow]:
        """The changes that count, applied, each with the amount before."""
        noted: list[ChangeRow] = []
        async for some in in_slices(changes):
            for change in some:
                moment = change_moment(change, commits, DECIDED)
                if moment is not None:
                    before = await self._before(rows[key_of(change)], key_of(change), moment, commits)
                    previous = None if before is None else before.cents
                    noted.append(sk.replace(change, status="APPLIED", previous=previous))
        return noted

    async def _before(self, row: PriceRow, key: PriceKey, moment: Moment, commits: Commits) -> Moment | None:
        """What was in force until the change took effect. Every batch that is committed counts, also by a clock that is
        ahead."""
        own = in_force((each for each in moments(row, commits, DECIDED) if each[:2] < moment[:2]), moment.at)
        gaps = any(entry.gap for entry in row.entries or ())
        if not gaps and (own is not None or not row.older):
            return own
        seen = SeenBatches(self._batches, DECIDED)
        listed = await listed_in_force(self._session, key, moment.at, seen, earlier=moment)
        return max((each for each in (own, listed) if each is not None), key=lambda each: each[:2], default=None)
