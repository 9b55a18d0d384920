"""Cancelling a change, and moving it to another instant: one transaction, as long as its instant has not come."""

from __future__ import annotations

from collections.abc import Callable

import sortkey as sk
from sortkey_services.pricing.batches import Batches
from sortkey_services.pricing.change_ids import ChangeId
from sortkey_services.pricing.change_reads import shown_change
from sortkey_services.pricing.change_writes import ATTEMPTS, ChangeWrites, Planned, busy, with_new
from sortkey_services.pricing.checks import CheckedChange
from sortkey_services.pricing.instants import micros_at, micros_of
from sortkey_services.pricing.model import ChangeRow, key_of
from sortkey_services.pricing.timeline import NEVER, without_entry
from sortkey_services.pricing.types import PriceAction, PriceChange


class ChangeEdits:
    def __init__(
        self, session: sk.AsyncSession, batches: Batches, writes: ChangeWrites, now: Callable[[], float]
    ) -> None:
        self._session = session
        self._batches = batches
        self._writes = writes
        self._now = now

    async def cancel(self, change: ChangeId, by: str | None) -> PriceChange:
        """A change that is cancelled already stays so. Raises NotFound, and Conflict if its instant has come."""
        for attempt in range(ATTEMPTS):
            found = await self._found(change)
            if found.status == "CANCELLED":
                break
            self._require_pending(found)
            if await self._replace(found, by, None):
                break
            await self._writes.pause(attempt)
        else:
            raise busy()
        return shown_change(sk.replace(found, status="CANCELLED"), micros_at(self._now()))

    async def reschedule(self, change: ChangeId, at: int, by: str | None) -> PriceChange:
        """The change that takes its place. Raises as `cancel` does, and Conflict for one that is cancelled."""
        for attempt in range(ATTEMPTS):
            row = await self._found(change)
            if row.status == "CANCELLED":
                raise sk.services.Conflict("the change was cancelled; ask for a new one", "cancelled")
            self._require_pending(row)
            action = PriceAction.DELETE if row.cents is None else PriceAction.SET
            plan = self._writes.plan_one(CheckedChange(key_of(row), action, row.cents, at), by or row.by)
            if await self._replace(row, by, plan):
                return shown_change(plan.changes()[0], micros_at(self._now()))
            await self._writes.pause(attempt)
        raise busy()

    async def _replace(self, row: ChangeRow, by: str | None, plan: Planned | None) -> bool:
        """Takes the change out of its price's row, and puts another one in; whether no other writer was faster."""
        key = key_of(row)
        price = (await self._writes.rows([key]))[key]
        kept = without_entry(price, row.number)
        if kept is None and price.number == row.number:
            # Another process has found it due, by its clock.
            raise _applied()
        if kept is None and micros_of(row.effective_at) <= micros_at(self._now()):
            # It has come due meanwhile, and was superseded.
            return False
        together = sk.Transaction()
        if kept is not None or plan is not None:
            entries = [] if plan is None else plan.entries[key]
            together.put(with_new(kept or price, entries, micros_at(self._now())), if_version="version")
        for each in () if plan is None else plan.changes():
            together.put(each)
        together.update(row.key, {"status": "CANCELLED", "cancelled_by": by}, where={"status": "SCHEDULED"})
        return await self._writes.commit(together)

    async def _found(self, change: ChangeId) -> ChangeRow:
        row = await self._session.get(change.path, consistent=True)
        if row is not None:
            commits = await self._batches.commits(() if row.batch is None else {row.batch})
            accepted = row.batch is None or row.status != "SCHEDULED" or commits.get(row.batch, NEVER) != NEVER
            if accepted:
                return row
        raise sk.services.NotFound(f"there is no price change {change.text!r}")

    def _require_pending(self, row: ChangeRow) -> None:
        if micros_of(row.effective_at) <= micros_at(self._now()):
            raise _applied()


def _applied() -> sk.services.Conflict:
    return sk.services.Conflict("the change has taken effect already; change the price again instead", "applied")
