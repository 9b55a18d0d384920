"""The transition: makes what is due permanent. Prices are right without it, so it may be late, repeated or concurrent.

It takes the changes of a store at an instant, in transactions of some changes each. A price's row keeps what is in
force and what is to come. The change becomes APPLIED, with the amount before: who, when, from, to. A change that is
applied is not touched again. In the end a row says that the store was updated. The events follow from these rows
(`events.py`).

Readers cannot tell how far it is: they resolve a row in the same way before and after.
"""

from __future__ import annotations

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
from sortkey_services.pricing.timeline import DECIDED, NEVER, Commits, Moment, batches_of, compacted, in_force, moments

IN_TRANSACTION: Final = 50
"""Each change has its row and that of its price: 100 actions."""


class Transition:
    def __init__(self, session: sk.AsyncSession, batches: Batches, writes: ChangeWrites, clock: Clock) -> None:
        self._session = session
        self._batches = batches
        self._writes = writes
        self._clock = clock

    async def apply_due(self, store: str, instant: datetime) -> int:
        """How many changes of the store at this instant this call has made permanent. Raises Conflict before
        their time."""
        if micros_of(instant) > micros_at(self._clock.now()):
            raise sk.services.Conflict(f"the changes of {instant.isoformat()} are not due yet", "early")
        rows = await self._changes(store, instant)
        due = [row for row in rows if row.status == "SCHEDULED"]
        commits = await self._batches.decisions({row.batch for row in due if row.batch is not None})
        aborted = [row for row in due if row.batch is not None and commits[row.batch] == NEVER]
        counted = [row for row in due if row.batch is None or commits[row.batch] != NEVER]
        applied = 0
        for first in range(0, len(counted), IN_TRANSACTION):
            applied += await self._settle(counted[first : first + IN_TRANSACTION])
        await self._session.batch(delete=[row.key for row in aborted])
        await self._say_updated(store, instant, [row for row in rows if row.status == "APPLIED"] + counted)
        return applied

    async def _changes(self, store: str, instant: datetime) -> list[ChangeRow]:
        path = ChangeRow.key(store=store, effective_at=instant)
        return [row async for row in self._session.iterate(path, consistent=True, undecodable="skip")]

    async def _say_updated(self, store: str, instant: datetime, applied: Sequence[ChangeRow]) -> None:
        """Once for so many changes: a later call says so if an earlier one could not."""
        if applied:
            channels = {row.channel for row in applied}
            made = StoreUpdate(store=store, effective_at=instant, changes=len(applied), channels=channels)
            await self._session.put(made, newer_by="changes")

    async def _settle(self, changes: Sequence[ChangeRow]) -> int:
        """How many this call has made permanent: others may be at work, too."""
        for attempt in range(ATTEMPTS):
            rows = await self._writes.rows(list({key_of(change): None for change in changes}))
            named = {batch for row in rows.values() for batch in batches_of(row)}
            commits = await self._batches.commits(named | {each.batch for each in changes if each.batch is not None})
            together = await self._transaction(changes, rows, commits)
            if await self._writes.commit(together):
                return len(changes)
            await self._writes.pause(attempt)
            found = await self._session.get_many([change.key for change in changes], consistent=True)
            changes = [change for change in found if change is not None and change.status == "SCHEDULED"]
            if not changes:
                return 0
        raise busy()

    async def _transaction(
        self, changes: Sequence[ChangeRow], rows: Mapping[PriceKey, PriceRow], commits: Commits
    ) -> sk.Transaction:
        together = sk.Transaction()
        for row in rows.values():
            made = compacted(row, commits, micros_at(self._clock.now()))
            if made is not row:
                together.put(made, if_version="version")
        found = ((change, change_moment(change, commits, DECIDED)) for change in changes)
        for change, moment in ((change, moment) for change, moment in found if moment is not None):
            noted: dict[str, object] = {"status": "APPLIED"}
            before = await self._before(rows[key_of(change)], key_of(change), moment, commits)
            if before is not None and before.cents is not None:
                noted["previous"] = before.cents
            together.update(change.key, noted, where={"status": "SCHEDULED"})
        return together

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
