"""Accepting changes, one to 10,000 in a request, all or none; cancelling and moving those that are to come.

One change is a transaction, and so are a few that are to come: the rows of their prices, each with a new entry, and
the rows of the changes. More than a transaction can hold are a batch (`batches.py`): all rows are written, with entries
that do not count yet, and one write commits them. Several changes that are due are a batch, too: a transaction could
come between two requests of a read. Price rows are replaced on the condition that their version is the one that was
read.

A change is cancelled, or moved to another instant, by one transaction, as long as its instant has not come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Final, NamedTuple

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.pricing.batches import Batches
from sortkey_services.pricing.checks import CheckedChange
from sortkey_services.pricing.model import ChangeRow, Entry, PriceRow, key_of, loaded_change, price_path
from sortkey_services.pricing.prices import (
    PriceChange,
    PriceKey,
    instant_of,
    is_instant,
    micros_at,
    micros_of,
)
from sortkey_services.pricing.reads import ChangeId, ChangeNumbers, shown_change
from sortkey_services.pricing.timeline import MAX_TO_COME, NEVER, batches_of, compacted, with_entries, without_entry

MAX_IN_TRANSACTION: Final = 33
"""Each change has its row, that of its price, and perhaps one for a loaded price: 99 of 100 actions."""
ROWS_AT_ONCE: Final = 1000
PARALLEL: Final = 64
LEAST_AHEAD: Final = 20_000
"""How far ahead of its write a commit's instant is, in microseconds. To it comes half the time that the entries took:
the rows of the changes take about a third."""
ATTEMPTS: Final = 40
"""To replace a row that others replace at the same time."""


class Planned(NamedTuple):
    """What to write."""

    entries: Mapping[PriceKey, list[Entry]]
    order: Sequence[tuple[PriceKey, Entry]]
    """The same, in the order of the request."""

    def changes(self, committed: int | None = None) -> list[ChangeRow]:
        """The rows of the changes. Those that take effect with the commit have its instant."""
        return [
            change_row(key, entry, committed if committed is not None and entry.on_commit else entry.at)
            for key, entry in self.order
        ]


class ChangeWrites:
    def __init__(self, session: sk.AsyncSession, batches: Batches, clock: Clock) -> None:
        self._session = session
        self._batches = batches
        self._clock = clock
        self._draw = Random()
        self._numbers = ChangeNumbers(self._draw)

    async def accept(self, changes: Sequence[CheckedChange], by: str | None) -> list[PriceChange[Decimal]]:
        """Raises Conflict if a price has too many changes to come."""
        now = micros_at(self._clock.now())
        due = any(change.at is None or change.at <= now for change in changes)
        if len(changes) > MAX_IN_TRANSACTION or (due and len(changes) > 1):
            return await self._in_batch(changes, by)
        for attempt in range(ATTEMPTS):
            # Planned anew each time: a change without an instant takes effect when it is written.
            plan = self._plan(changes, by, None)
            rows = plan.changes()
            if await self._transact(plan, rows):
                return self._shown(rows)
            await self.pause(attempt)
        raise busy()

    async def _transact(self, plan: Planned, changes: Sequence[ChangeRow]) -> bool:
        rows = await self.rows(list(plan.entries))
        commits = await self._batches.commits({batch for row in rows.values() for batch in batches_of(row)})
        together = sk.Transaction()
        for key, entries in plan.entries.items():
            self._put(together, key, rows[key], entries, commits)
        for change in changes:
            together.put(change)
        return await self.commit(together)

    async def commit(self, together: sk.Transaction) -> bool:
        """Whether it was written. If not, another writer was faster."""
        try:
            await self._session.transact(together)
        except sk.TransactionFailed as error:
            if "ConditionalCheckFailed" not in error.reasons:
                raise
            return False
        return True

    def _put(
        self, together: sk.Transaction, key: PriceKey, row: PriceRow, entries: list[Entry], commits: Mapping[str, int]
    ) -> None:
        now = micros_at(self._clock.now())
        loaded = unlisted(key, row)
        if loaded is not None:
            together.put(loaded)
            row = sk.replace(row, number=loaded.number)
        together.put(with_new(compacted(row, commits, now), entries, now), if_version="version")

    async def rows(self, keys: Sequence[PriceKey]) -> dict[PriceKey, PriceRow]:
        """As they are stored, or new ones. Raises Conflict for one that cannot be read."""
        try:
            found = await self._session.get_many([price_path(key) for key in keys], consistent=True)
        except sk.DecodeError as error:
            raise sk.services.Conflict(
                f"a price cannot be changed, because another program has made its row unreadable: {error}", "unreadable"
            ) from error
        return {key: _versioned(key, row) for key, row in zip(keys, found, strict=True)}

    async def pause(self, attempt: int) -> None:
        await asyncio.sleep(self._draw.uniform(0, min(0.2, 0.002 * 2**attempt)))

    def _plan(self, changes: Sequence[CheckedChange], by: str | None, batch: str | None) -> Planned:
        now = micros_at(self._clock.now())
        number = self._numbers.take(now, len(changes))
        entries: dict[PriceKey, list[Entry]] = {}
        order: list[tuple[PriceKey, Entry]] = []
        for index, change in enumerate(changes):
            key, at = change.key, now if change.at is None else change.at
            on_commit = True if batch is not None and change.at is None else None
            entry = Entry(at, number(index), change.cents, by, now, batch, on_commit)
            entries.setdefault(key, []).append(entry)
            order.append((key, entry))
        return Planned(entries, order)

    def _shown(self, rows: Sequence[ChangeRow]) -> list[PriceChange[Decimal]]:
        now = micros_at(self._clock.now())
        return [shown_change(row, now) for row in rows]

    async def _in_batch(self, changes: Sequence[CheckedChange], by: str | None) -> list[PriceChange[Decimal]]:
        opened = micros_at(self._clock.now())
        batch = self._numbers.take(opened, 1)(0)
        plan = self._plan(changes, by, batch)
        await self._batches.open(batch, len(changes))
        rows: list[ChangeRow] = []
        try:
            await self._write_entries(plan)
            now = micros_at(self._clock.now())
            committed = now + LEAST_AHEAD + (now - opened) // 2
            rows = plan.changes(committed)
            await self._session.batch(put=rows)
            await self._batches.commit(batch, committed)
        except Exception:
            # It may be committed though its answer was lost.
            committed = await self._batches.abort(batch)
            if committed == NEVER:
                await self._clean_up(plan, batch, rows)
                raise
            await self._batches.wait_until(committed)
        return self._shown(rows)

    async def _write_entries(self, plan: Planned) -> None:
        keys = iter(plan.entries)
        while some := list(islice(keys, ROWS_AT_ONCE)):
            rows = await self.rows(some)
            await concurrent_map(lambda row: self._add(row, plan.entries[key_of(row)]), list(rows.values()), PARALLEL)

    async def _add(self, row: PriceRow, entries: list[Entry]) -> None:
        key = key_of(row)
        for attempt in range(ATTEMPTS):
            commits = await self._batches.commits(set(batches_of(row)))
            now = micros_at(self._clock.now())
            loaded = unlisted(key, row)
            if loaded is not None:
                # Written again if the price row is not: it is the same.
                await self._session.put(loaded)
                row = sk.replace(row, number=loaded.number)
            try:
                await self._session.put(with_new(compacted(row, commits, now), entries, now), if_version="version")
            except sk.ConditionFailed:
                await self.pause(attempt)
                row = (await self.rows([key]))[key]
            else:
                return
        raise busy()

    async def _clean_up(self, plan: Planned, batch: str, changes: Sequence[ChangeRow]) -> None:
        """Takes out what an aborted batch has written. Nobody counts it, so this only saves space."""
        keys = list(plan.entries)
        for row in (await self.rows(keys)).values():
            if batch in batches_of(row):
                await self._add(row, [])
        await self._session.batch(delete=[change.key for change in changes])

    async def cancel(self, change: ChangeId, by: str | None) -> PriceChange[Decimal]:
        """A change that is cancelled already stays so. Raises NotFound, and Conflict if its instant has come."""
        for attempt in range(ATTEMPTS):
            found = await self._found(change)
            if found.status == "CANCELLED":
                break
            self._require_pending(found)
            if await self._replace(found, by, None):
                break
            await self.pause(attempt)
        else:
            raise busy()
        return shown_change(sk.replace(found, status="CANCELLED"), micros_at(self._clock.now()))

    async def reschedule(self, change: ChangeId, at: int, by: str | None) -> PriceChange[Decimal]:
        """The change that takes its place. Raises as `cancel` does, and Conflict for one that is cancelled."""
        for attempt in range(ATTEMPTS):
            row = await self._found(change)
            if row.status == "CANCELLED":
                raise sk.services.Conflict("the change was cancelled; ask for a new one", "cancelled")
            self._require_pending(row)
            plan = self._plan([CheckedChange(key_of(row), row.cents, at)], by or row.by, None)
            if await self._replace(row, by, plan):
                return shown_change(plan.changes()[0], micros_at(self._clock.now()))
            await self.pause(attempt)
        raise busy()

    async def _replace(self, row: ChangeRow, by: str | None, plan: Planned | None) -> bool:
        """Takes the change out of its price's row, and puts another one in; whether no other writer was faster."""
        key = key_of(row)
        price = (await self.rows([key]))[key]
        kept = without_entry(price, row.number)
        if kept is None and price.number == row.number:
            # Another process has found it due, by its clock.
            raise _applied()
        if kept is None and micros_of(row.effective_at) <= micros_at(self._clock.now()):
            # It has come due meanwhile, and was superseded.
            return False
        together = sk.Transaction()
        if kept is not None or plan is not None:
            entries = [] if plan is None else plan.entries[key]
            together.put(with_new(kept or price, entries, micros_at(self._clock.now())), if_version="version")
        for each in () if plan is None else plan.changes():
            together.put(each)
        together.update(row.key, {"status": "CANCELLED", "cancelled_by": by}, where={"status": "SCHEDULED"})
        return await self.commit(together)

    async def _found(self, change: ChangeId) -> ChangeRow:
        row = await self._session.get(change.path, consistent=True)
        if row is not None:
            commits = await self._batches.commits(() if row.batch is None else {row.batch})
            accepted = row.batch is None or row.status != "SCHEDULED" or commits.get(row.batch, NEVER) != NEVER
            if accepted:
                return row
        raise sk.services.NotFound(f"there is no price change {change.text!r}")

    def _require_pending(self, row: ChangeRow) -> None:
        if micros_of(row.effective_at) <= micros_at(self._clock.now()):
            raise _applied()


def change_row(key: PriceKey, entry: Entry, at: int) -> ChangeRow:
    return ChangeRow(
        store=key.store,
        effective_at=instant_of(at),
        number=entry.number,
        channel=key.channel,
        kind=key.kind,
        product=key.product,
        cents=entry.cents,
        recorded=entry.recorded,
        by=entry.by,
        batch=entry.batch,
    )


def unlisted(key: PriceKey, row: PriceRow) -> ChangeRow | None:
    """A loaded price as a change, if it is not among the changes yet. The first change of a price lists it."""
    if row.since is None or row.number is not None or not is_instant(row.since):
        return None
    return loaded_change(key, row.since, row.cents)


def with_new(row: PriceRow, entries: Collection[Entry], now: int) -> PriceRow:
    """Raises Conflict if too many changes are to come then."""
    made = with_entries(row, entries, now)
    if entries and sum(entry.at > now for entry in made.entries or ()) > MAX_TO_COME:
        raise sk.services.Conflict(
            f"the price of {row.product!r} in {row.store!r} has {MAX_TO_COME} changes to come; cancel some first",
            "full",
        )
    return made


def _versioned(key: PriceKey, row: PriceRow | None) -> PriceRow:
    if row is None:
        return PriceRow(store=key.store, channel=key.channel, kind=key.kind, product=key.product, version=0)
    return row if row.version is not None else sk.replace(row, version=0)


def busy() -> sk.services.Conflict:
    return sk.services.Conflict("others are changing the same prices all the while; try again", "busy")


def _applied() -> sk.services.Conflict:
    return sk.services.Conflict("the change has taken effect already; change the price again instead", "applied")
