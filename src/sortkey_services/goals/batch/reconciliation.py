"""Reconciliation: what became of the deposits that were pending, now that a batch has passed them; what came unheard.

Looked at are the deposits between the batch before and this one, both ways:

* each pending row of the store, against the person's view in the new load;
* each goal for which the batch has a contribution since the batch before, against its pending row.

A row has only the newest event of a goal. If that is newer than the batch, the goal is still pending, whatever else
came. Both ways read a few hundred rows at a time, so memory does not grow with the number of deposits.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Final, NamedTuple, TypeVar

import sortkey as sk
from sortkey_services.goals.batch.batch_run import BatchRun, batch_run, instant_of, micros_of
from sortkey_services.goals.batch.engine import Engine, Row
from sortkey_services.goals.model import LIFETIME, REJECTED, Pending, PersonView, Reconciliation, views

T = TypeVar("T")

_PART: Final = 500
"""Rows that are compared at a time."""
EXAMPLES: Final = 20
"""How many goals the report names for each outcome that somebody has to look at."""
_NAMED: Final = ("other_amount", "never_came", "without_event")
_CAME: Final = """
SELECT * FROM (
    SELECT contributions.person_id, contributions.goal_id, CAST(sum(amount_cents) AS BIGINT) AS saved_cents
    FROM contributions
    JOIN months ON effective_micros >= months.first_micros AND effective_micros < months.end_micros
    JOIN gold_goals AS goals ON goals.person_id = contributions.person_id AND goals.goal_id = contributions.goal_id
                            AND goals.month = months.month
    JOIN gold_customers AS customers ON customers.person_id = contributions.person_id
    CROSS JOIN batch_run
    WHERE contributions.status = 'CONFIRMED' AND effective_micros <= as_of_micros
    GROUP BY contributions.person_id, contributions.goal_id, months.month
    HAVING max(effective_micros) > {since}
) AS came
"""
"""The goals with a contribution since the batch before, in the months since then."""
_SUMS: Final = """
SELECT asked.person_id, asked.goal_id, CAST(sum(amount_cents) AS BIGINT), max(effective_micros)
FROM asked
JOIN contributions ON contributions.person_id = asked.person_id AND contributions.goal_id = asked.goal_id
                  AND effective_micros >= first_asked AND effective_micros < end_asked
CROSS JOIN batch_run
WHERE contributions.status = 'CONFIRMED' AND effective_micros <= as_of_micros
GROUP BY asked.person_id, asked.goal_id
"""
"""What the batch would show of goals if it were of another month."""


class Saved(NamedTuple):
    """What the batch has of a goal."""

    cents: int
    latest: datetime | None


class Example(NamedTuple):
    outcome: str
    person: str
    goal: str
    pending_cents: int | None
    saved_cents: int | None


class Reconciled(NamedTuple):
    counts: Reconciliation
    examples: list[Example]


class Reconciler:
    def __init__(self, session: sk.AsyncSession, engine: Engine, run: BatchRun, now: datetime) -> None:
        self._session = session
        self._engine = engine
        self._run = run
        self._now = now
        self._views = views.reader(session)
        self._since: datetime | None = None
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[Example]] = {name: [] for name in _NAMED}

    async def run(self) -> Reconciled:
        """To be called when the load is served. A batch that runs again, with the same as-of, finds the same."""
        self._since = await self._batch_before()
        async for part in self._pending():
            await self._compare_with_views(part)
        if self._since is not None:
            # Before the first batch nothing was shown, so nothing was missing.
            await self._compare_with_events(self._since)
        counts = sk.replace(Reconciliation(at=self._now, as_of=self._run.as_of, since=self._since), **self._counts)
        await self._session.put(counts)
        return Reconciled(counts, [*chain.from_iterable(self._examples.values())])

    async def _batch_before(self) -> datetime | None:
        try:
            last = await self._session.get(Reconciliation.key(of="goals"), consistent=True)
        except sk.DecodeError:
            # It is replaced at the end.
            last = None
        if last is None:
            return None
        since = last.as_of if last.as_of < self._run.as_of else last.since
        return since if since is not None and since < self._run.as_of else None

    async def _pending(self) -> AsyncIterator[list[Pending]]:
        """What this batch has passed, and the batch before had not; counts the others that are still pending."""
        part: list[Pending] = []
        async for row in self._session.scan(Pending, undecodable="skip"):
            if row.updated > self._run.as_of:
                self._counts["still_pending"] += row.status != REJECTED and not self._has_expired(row)
                continue
            if row.status == REJECTED and row.expires is None:
                await self._let_expire(row)
            if not self._has_expired(row) and (self._since is None or row.updated > self._since):
                part.append(row)
            if len(part) == _PART:
                yield part
                part = []
        yield part

    def _has_expired(self, row: Pending) -> bool:
        return row.expires is not None and row.expires < self._now

    async def _let_expire(self, row: Pending) -> None:
        """A rejection hides older events until a batch has passed it."""
        try:
            await self._session.update(row.key, {"expires": self._now + LIFETIME}, where={"version": row.version})
        except sk.ConditionFailed:
            pass  # a newer event came meanwhile

    async def _compare_with_views(self, part: list[Pending]) -> None:
        of_month = [row for row in part if self._run.first <= row.updated < self._run.end]
        persons = await _each([{"person": row.person} for row in of_month], self._views.lookup)
        for row, person in zip(of_month, persons, strict=True):
            if isinstance(person, sk.DecodeError):
                self._counts["unreadable"] += 1
            else:
                self._count(row, _saved(person, row.goal))
        # At the turn of a month, the views no longer have the deposits of the days before.
        others = [row for row in part if not self._run.first <= row.updated < self._run.end]
        if others:
            sums = await asyncio.to_thread(self._sums, others)
            for row in others:
                self._count(row, sums.get((row.person, row.goal)))

    def _sums(self, rows: list[Pending]) -> dict[tuple[str, str], Saved]:
        """What gold has for these, each in the month of its event."""
        months = [(row, batch_run(row.updated, None)) for row in rows]
        asked = [(row.person, row.goal, micros_of(month.first), micros_of(month.end)) for row, month in months]
        kinds = {"person_id": "STRING", "goal_id": "STRING", "first_asked": "BIGINT", "end_asked": "BIGINT"}
        self._engine.table("asked", kinds, asked)
        found = self._engine.ask(_SUMS)
        return {(person, goal): Saved(cents, instant_of(latest)) for person, goal, cents, latest in found}

    def _outcome(self, row: Pending, saved: Saved | None) -> str:
        if row.status == REJECTED:
            return "rejected"
        if saved is None:
            return "never_came"
        if saved.cents == row.balance_cents:
            return "confirmed"
        has_come = saved.latest is not None and (self._since is None or saved.latest > self._since)
        return "other_amount" if has_come else "never_came"

    async def _compare_with_events(self, since: datetime) -> None:
        await asyncio.to_thread(self._register_months, since)
        came = _CAME.format(since=micros_of(since))
        rows = chain.from_iterable(self._engine.rows(came, ("person_id", "goal_id")))
        while part := await asyncio.to_thread(_next_part, rows):
            keys = [{"person": person, "goal": goal} for person, goal, _ in part]
            events = await _each(keys, partial(self._session.lookup, Pending.key))
            for (person, goal, saved_cents), event in zip(part, events, strict=True):
                if isinstance(event, sk.DecodeError):
                    self._counts["unreadable"] += 1
                elif event is None or self._has_expired(event) or event.updated <= since:
                    self._counts["without_event"] += 1
                    self._name(Example("without_event", person, goal, None, saved_cents))

    def _register_months(self, since: datetime) -> None:
        kinds = {"month": "STRING", "first_micros": "BIGINT", "end_micros": "BIGINT"}
        months, month = [], batch_run(since, None)
        while month.first <= self._run.as_of:
            months.append((month.month, micros_of(month.first), micros_of(month.end)))
            month = batch_run(month.end, None)
        self._engine.table("months", kinds, months)

    def _count(self, row: Pending, saved: Saved | None) -> None:
        outcome = self._outcome(row, saved)
        self._counts[outcome] += 1
        if outcome in self._examples:
            cents = None if saved is None else saved.cents
            self._name(Example(outcome, row.person, row.goal, row.balance_cents, cents))

    def _name(self, example: Example) -> None:
        if len(self._examples[example.outcome]) < EXAMPLES:
            self._examples[example.outcome].append(example)


async def _each(
    keys: list[dict[str, str]], lookup: Callable[[list[dict[str, str]]], Awaitable[list[T | None]]]
) -> list[T | sk.DecodeError | None]:
    """The items with these keys. One that cannot be read is found by halves, and spoils no other."""
    try:
        return [*await lookup(keys)]
    except sk.DecodeError as error:
        if len(keys) == 1:
            return [error]
    half = len(keys) // 2
    return [*await _each(keys[:half], lookup), *await _each(keys[half:], lookup)]


def _next_part(rows: Iterator[Row]) -> list[Row]:
    return list(islice(rows, _PART))


def _saved(person: PersonView | None, goal: str) -> Saved | None:
    if person is not None:
        for each in person.goals:
            if each.goal == goal:
                return Saved(each.saved_cents, each.latest)
    return None
