"""Accepting changes, one to 10,000 in a request, all or none; cancelling and moving those that are to come.

One change is a transaction, and so are a few that are to come: the rows of their prices, each with a new entry, and the
rows of the changes. More than a transaction can hold are a batch (`batches.py`): all rows are written, with entries
that do not count yet, and one write commits them. Several changes that are due are a batch, too: a transaction could
come between two requests of a read. On a store without transactions, everything is a batch. Price rows are replaced on
the condition that their version is the one that was read.

A change is cancelled, or moved to another instant, by one transaction or one batch, as long as its instant has not
come. A moved change is the newest one of its new instant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.pricing.batches import Batches
from sortkey_services.pricing.checks import CheckedChange
from sortkey_services.pricing.model import (
    ChangeRow,
    Departure,
    Entry,
    PriceRow,
    Step,
    key_of,
    loaded_change,
    price_path,
)
from sortkey_services.pricing.prices import (
    PriceChange,
    PriceKey,
    Requester,
    StepKind,
    instant_of,
    is_instant,
    micros_at,
    micros_of,
)
from sortkey_services.pricing.reads import ChangeId, ChangeNumbers, change_id, found_change, public_id, shown_change
from sortkey_services.pricing.timeline import MAX_TO_COME, NEVER, batches_of, compacted, with_entries, without_entry
from sortkey_services.slices import in_slices, mapped

MAX_IN_TRANSACTION: Final = 33
"""Each change has its row, that of its price, and perhaps one for a loaded price: 99 of 100 actions."""
ROWS_AT_ONCE: Final = 256
GROUPS_AT_ONCE: Final = 2
"""One is prepared while the other goes to the disk."""
LEAST_AHEAD: Final = 20_000
"""How far ahead of its write a commit's instant is, in microseconds. To it comes half the time that the entries took:
the rows of the changes take about a third."""
MAX_STEPS: Final = 100
"""How often a change may be moved: its row has all steps."""
ATTEMPTS: Final = 40
"""To replace a row that others replace at the same time."""


class Planned(NamedTuple):
    """What to write."""

    entries: Mapping[PriceKey, list[Entry]]
    order: Sequence[tuple[PriceKey, Entry]]
    """The same, in the order of the request."""

    async def changes(self, committed: int | None = None) -> list[ChangeRow]:
        """The rows of the changes. Those that take effect with the commit have its instant."""

        def row(planned: tuple[PriceKey, Entry]) -> ChangeRow:
            key, entry = planned
            return change_row(key, entry, committed if committed is not None and entry.on_commit else entry.at)

        return await mapped(row, self.order)


class ChangeWrites:
    def __init__(self, session: sk.AsyncSession, batches: Batches, clock: Clock) -> None:
        self._session = session
        self._batches = batches
        self._clock = clock
        self._draw = Random()
        self._numbers = ChangeNumbers(self._draw)
        self._has_none = not session.capabilities.transactions
        """Whether the store has no transactions."""

    async def accept(
        self, changes: Sequence[CheckedChange], by: Requester, operation: sk.services.Operation | None = None
    ) -> list[PriceChange[Decimal]]:
        """Raises Conflict if a price has too many changes to come. An operation that was accepted before changes
        nothing more, and has the same answer."""
        accepted = await self._accepted(operation, changes, by, decides=True)
        if accepted is not None:
            return accepted
        now = micros_at(self._clock.now())
        due = any(change.at is None or change.at <= now for change in changes)
        if self._has_none or len(changes) > MAX_IN_TRANSACTION or (due and len(changes) > 1):
            return await self._in_batch(changes, by, operation)
        for attempt in range(ATTEMPTS):
            # Planned anew each time: a change without an instant takes effect when it is written.
            plan = await self._plan(changes, by, None)
            rows = await plan.changes()
            if await self._transact(plan, rows, _note(operation, plan, None)):
                return await self._shown(rows)
            # Another writer was faster: perhaps an attempt at the same operation.
            accepted = await self._accepted(operation, changes, by)
            if accepted is not None:
                return accepted
            await self.pause(attempt)
        raise busy()

    async def _accepted(
        self,
        operation: sk.services.Operation | None,
        changes: Sequence[CheckedChange],
        by: Requester,
        *,
        decides: bool = False,
    ) -> list[PriceChange[Decimal]] | None:
        """What an earlier attempt at the operation was answered; None if none was accepted. One that has ended before
        its commit is aborted by the attempt that `decides`."""
        noted = None if operation is None else await operation.done()
        if operation is None or noted is None:
            return None
        if noted["batch"] is not None and not await self._is_committed(noted["batch"], decides):
            if decides:
                await operation.forget(noted)
            return None
        first, process = int(noted["number"][:14], 16), noted["number"][14:]
        plan = await self._planned(
            changes, by, noted["batch"], noted["recorded"], lambda index: f"{first + index:014x}{process}"
        )
        return await self._shown(await plan.changes(noted["committed"]))

    async def _is_committed(self, batch: str, decides: bool) -> bool:
        if decides:
            return await self._batches.abort(batch) != NEVER
        return (await self._batches.commits([batch])).get(batch, NEVER) != NEVER

    async def _transact(
        self, plan: Planned, changes: Sequence[ChangeRow], note: sk.services.OperationNote | None
    ) -> bool:
        rows = await self.rows(list(plan.entries))
        commits = await self._batches.commits({batch for row in rows.values() for batch in batches_of(row)})
        together = sk.Transaction()
        for key, entries in plan.entries.items():
            self._put(together, key, rows[key], entries, commits)
        for change in changes:
            together.put(change)
        if note is not None:
            together.put(note, if_absent=True)
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

    async def _plan(self, changes: Sequence[CheckedChange], by: Requester, batch: str | None) -> Planned:
        now = micros_at(self._clock.now())
        return await self._planned(changes, by, batch, now, self._numbers.take(now, len(changes)))

    async def _planned(
        self,
        changes: Sequence[CheckedChange],
        by: Requester,
        batch: str | None,
        now: int,
        number: Callable[[int], str],
    ) -> Planned:
        entries: dict[PriceKey, list[Entry]] = {}
        order: list[tuple[PriceKey, Entry]] = []
        async for some in in_slices(enumerate(changes)):
            for index, change in some:
                key, at = change.key, now if change.at is None else change.at
                on_commit = True if batch is not None and change.at is None else None
                entry = Entry(at, number(index), change.cents, by.claimed, now, batch, on_commit, caller=by.caller)
                entries.setdefault(key, []).append(entry)
                order.append((key, entry))
        return Planned(entries, order)

    async def _shown(self, rows: Sequence[ChangeRow]) -> list[PriceChange[Decimal]]:
        now = micros_at(self._clock.now())
        return await mapped(lambda row: shown_change(row, now), rows)

    async def _in_batch(
        self, changes: Sequence[CheckedChange], by: Requester, operation: sk.services.Operation | None
    ) -> list[PriceChange[Decimal]]:
        opened = micros_at(self._clock.now())
        batch = self._numbers.take(opened, 1)(0)
        plan = await self._plan(changes, by, batch)
        await self._batches.open(batch, len(changes))
        rows: list[ChangeRow] = []
        try:
            await self._write_entries(plan)
            now = micros_at(self._clock.now())
            committed = now + LEAST_AHEAD + (now - opened) // 2
            rows = await plan.changes(committed)
            await self._session.put_many(rows)
            await self._batches.commit(batch, committed, _note(operation, plan, committed))
        except Exception:
            # It may be committed though its answer was lost.
            committed = await self._batches.abort(batch)
            if committed == NEVER:
                await self._clean_up(plan, batch, rows)
                accepted = await self._accepted(operation, changes, by)
                if accepted is not None:
                    return accepted
                raise
            await self._batches.wait_until(committed)
        return await self._shown(rows)

    async def _write_entries(self, plan: Planned) -> None:
        groups = [some async for some in in_slices(plan.entries, ROWS_AT_ONCE)]
        await concurrent_map(lambda some: self._add(some, plan.entries), groups, GROUPS_AT_ONCE)

    async def _add(self, keys: Sequence[PriceKey], entries: Mapping[PriceKey, list[Entry]]) -> None:
        """Puts entries into the rows of these prices, and takes out what is no longer in force."""
        for attempt in range(ATTEMPTS):
            rows = (await self.rows(keys)).values()
            commits = await self._batches.commits({batch for row in rows for batch in batches_of(row)})
            # Written again if the price rows are not: they are the same.
            await self._session.put_many([each for row in rows if (each := unlisted(key_of(row), row)) is not None])
            now = micros_at(self._clock.now())
            made: list[PriceRow] = []
            async for some in in_slices(rows):
                made += [_with_added(row, entries.get(key_of(row), ()), commits, now) for row in some]
            keys = [key_of(row) for row in await self._session.put_many(made, if_version="version")]
            if not keys:
                return
            await self.pause(attempt)
        raise busy()

    async def _clean_up(self, plan: Planned, batch: str, changes: Sequence[ChangeRow]) -> None:
        """Takes out what an aborted batch has written. Nobody counts it, so this only saves space."""
        async for some in in_slices(plan.entries, ROWS_AT_ONCE):
            named = [key for key, row in (await self.rows(some)).items() if batch in batches_of(row)]
            if named:
                await self._add(named, {})
        async for rows in in_slices(changes, ROWS_AT_ONCE):
            await self._session.batch(delete=[row.key for row in rows])

    async def cancel(self, change: ChangeId, by: Requester) -> PriceChange[Decimal]:
        """A change that is cancelled already stays so. Raises NotFound, and Conflict if its instant has come."""
        for attempt in range(ATTEMPTS):
            row = await found_change(self._session, self._batches, change)
            if row.status == "CANCELLED":
                break
            self._require_pending(row)
            cancelled = self._after_step(row, by, None)
            if await self._replace(row, {"status": "CANCELLED", "steps": cancelled.steps}, None):
                row = sk.replace(cancelled, status="CANCELLED")
                break
            await self.pause(attempt)
        else:
            raise busy()
        return shown_change(row, micros_at(self._clock.now()))

    async def reschedule(self, change: ChangeId, at: int, by: Requester) -> PriceChange[Decimal]:
        """The change at its new instant; one that was moved there already stays so. Raises as `cancel` does, and
        Conflict for one that is cancelled, or was moved too often."""
        for attempt in range(ATTEMPTS):
            row = await found_change(self._session, self._batches, change)
            if row.status == "CANCELLED":
                raise sk.services.Conflict("the change was cancelled; ask for a new one", "cancelled")
            if micros_of(row.effective_at) == at and (row.first is not None or at > micros_at(self._clock.now())):
                return shown_change(row, micros_at(self._clock.now()))
            self._require_pending(row)
            if len(row.steps or ()) >= MAX_STEPS:
                raise sk.services.Conflict(
                    f"the change was moved {MAX_STEPS} times; cancel it and ask for a new one", "full"
                )
            number = self._numbers.take(micros_at(self._clock.now()), 1)(0)
            moved = sk.replace(
                self._after_step(row, by, at),
                effective_at=instant_of(at),
                number=number,
                batch=None,
                first=public_id(row),
            )
            moved_to = ChangeId(row.store, at, number).text
            if await self._replace(row, {"status": "CANCELLED", "moved_to": moved_to}, moved):
                return shown_change(moved, micros_at(self._clock.now()))
            await self.pause(attempt)
        raise busy()

    def _after_step(self, row: ChangeRow, by: Requester, at: int | None) -> ChangeRow:
        kind = StepKind.CANCELLED if at is None else StepKind.RESCHEDULED
        now = micros_at(self._clock.now())
        step = Step(kind, now, micros_of(row.effective_at), at, by.claimed, by.caller)
        return sk.replace(row, steps=[*(row.steps or ()), step])

    async def _replace(self, row: ChangeRow, changes: Mapping[str, object], moved: ChangeRow | None) -> bool:
        """Takes the change out of its price's row, and puts it in at another instant; whether no other writer was
        faster."""
        key = key_of(row)
        price = (await self.rows([key]))[key]
        kept = without_entry(price, row.number)
        if kept is None and price.number == row.number:
            # Another process has found it due, by its clock.
            raise _applied()
        if kept is None and micros_of(row.effective_at) <= micros_at(self._clock.now()):
            # It has come due meanwhile, and was superseded.
            return False
        if self._has_none:
            return await self._depart(row, price, changes, moved)
        together = sk.Transaction()
        if kept is not None or moved is not None:
            entries = [] if moved is None else [_entry(moved)]
            together.put(with_new(kept or price, entries, micros_at(self._clock.now())), if_version="version")
        together.update(row.key, changes, where={"status": "SCHEDULED"})
        if moved is not None:
            together.put(moved)
            if row.first is not None:
                together.update(change_id(row.first).path, {"moved_to": changes["moved_to"]})
        return await self.commit(together)

    async def _depart(
        self, row: ChangeRow, price: PriceRow, changes: Mapping[str, Any], moved: ChangeRow | None
    ) -> bool:
        """The same by a batch, which has the change leave, and come again at its other instant."""
        if row.departs_with is not None and await self._batches.abort(row.departs_with) != NEVER:
            return False
        batch = self._numbers.take(micros_at(self._clock.now()), 1)(0)
        departure = Departure(changes.get("steps", row.steps), changes.get("moved_to"))
        await self._batches.open(batch, 1)
        is_due = False
        try:
            prepared = await self._prepare(row, price, batch, departure, moved)
            committed = micros_at(self._clock.now()) + LEAST_AHEAD
            # From here on the transition would meet the departure: it waits for the batch, or aborts it.
            is_due = committed >= micros_of(row.effective_at)
            if prepared and not is_due:
                await self._batches.commit(batch, committed)
        except sk.services.Conflict:
            # Others who want to cancel or to move the change have aborted the batch.
            prepared = False
        finally:
            # It may be committed though its answer was lost.
            committed = await self._batches.abort(batch)
        if committed == NEVER:
            if moved is not None:
                await self._session.batch(delete=[moved.key])
            if is_due:
                raise _applied()
            return False
        await self._batches.wait_until(committed)
        await self._note_departure(row, batch, departure)
        return True

    async def _prepare(
        self, row: ChangeRow, price: PriceRow, batch: str, departure: Departure, moved: ChangeRow | None
    ) -> bool:
        """Has both rows name the batch. The change's is the first: two who depart from one change meet there."""
        unchanged = {"status": "SCHEDULED", "departs_with": row.departs_with}
        try:
            await self._session.update(row.key, {"departs_with": batch, "departure": departure}, where=unchanged)
        except sk.ConditionFailed:
            return False
        if moved is not None:
            await self._session.put(sk.replace(moved, batch=batch))
        return await self._leave(price, row.number, batch, moved)

    async def _leave(self, price: PriceRow, number: str, batch: str, moved: ChangeRow | None) -> bool:
        """Has an entry leave with the batch, and another one come with it; whether no other writer was faster."""
        entries = [
            msgspec.structs.replace(entry, leaves_with=batch) if entry.number == number else entry
            for entry in price.entries or ()
        ]
        added = [] if moved is None else [msgspec.structs.replace(_entry(moved), batch=batch)]
        made = with_new(sk.replace(price, entries=entries or None), added, micros_at(self._clock.now()))
        return not await self._session.put_many([made], if_version="version")

    async def _note_departure(self, row: ChangeRow, batch: str, departure: Departure) -> None:
        """What readers conclude from the commit. If this process ends before, the transition does it."""
        noted: sk.Changes = {
            "status": "CANCELLED",
            "steps": departure.steps,
            "moved_to": departure.moved_to,
            "departs_with": None,
            "departure": None,
        }
        with suppress(sk.ConditionFailed):
            await self._session.update(row.key, noted, where={"departs_with": batch})
        if departure.moved_to is not None and row.first is not None:
            await self._session.update(change_id(row.first).path, {"moved_to": departure.moved_to})

    def _require_pending(self, row: ChangeRow) -> None:
        if micros_of(row.effective_at) <= micros_at(self._clock.now()):
            raise _applied()


def _note(
    operation: sk.services.Operation | None, plan: Planned, committed: int | None
) -> sk.services.OperationNote | None:
    """From which, and the request, an answer follows."""
    if operation is None:
        return None
    _, first = plan.order[0]
    return operation.note(
        {"number": first.number, "recorded": first.recorded, "batch": first.batch, "committed": committed}
    )


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
        caller=entry.caller,
    )


def _entry(row: ChangeRow) -> Entry:
    return Entry(micros_of(row.effective_at), row.number, row.cents, row.by, row.recorded, caller=row.caller)


def unlisted(key: PriceKey, row: PriceRow) -> ChangeRow | None:
    """A loaded price as a change, if it is not among the changes yet. The first change of a price lists it."""
    if row.since is None or row.number is not None or not is_instant(row.since):
        return None
    return loaded_change(key, row.since, row.cents)


def _with_added(row: PriceRow, entries: Collection[Entry], commits: Mapping[str, int], now: int) -> PriceRow:
    loaded = unlisted(key_of(row), row)
    if loaded is not None:
        row = sk.replace(row, number=loaded.number)
    return with_new(compacted(row, commits, now), entries, now)


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
