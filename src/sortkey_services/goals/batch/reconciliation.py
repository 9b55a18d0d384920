"""Reconciliation: what became of the deposits that were pending, now that a batch has passed them; what came unheard.

Looked at are the deposits between the batch before and this one, both ways:

* what is pending of each goal and month, against the person's view in the new load, or against gold's sum of its month;
* each goal and month for which the batch has a contribution since the batch before, against the events.

If the newest event of a goal and month is newer than the batch, it is still pending, whatever else came. Both ways read
a few hundred rows at a time, so memory does not grow with the number of deposits.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Final, NamedTuple, TypeVar

import msgspec

import sortkey as sk
from sortkey_services.goals.batch.batch_run import BatchRun, instant_of, micros_of
from sortkey_services.goals.batch.engine import Engine, Row
from sortkey_services.goals.ledger import Balance, balance, by_month
from sortkey_services.goals.model import (
    LIFETIME,
    REJECTED,
    KnownEvent,
    Pending,
    PersonView,
    Reconciliation,
    pending_row,
    views,
)
from sortkey_services.goals.months import bounds_of, month_after, month_of, zone_of

T = TypeVar("T")

_PART: Final = 500
"""Rows that are compared at a time."""
EXAMPLES: Final = 20
"""How many goals the report names for each outcome that somebody has to look at."""
_NAMED: Final = ("other_amount", "never_came", "without_event")
_CAME: Final = """
SELECT * FROM (
    SELECT contributions.person_id, contributions.goal_id, months.month,
           CAST(sum(amount_cents) AS BIGINT) AS saved_cents
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
SELECT asked.person_id, asked.goal_id, asked.month, CAST(sum(amount_cents) AS BIGINT), max(effective_micros)
FROM asked
JOIN contributions ON contributions.person_id = asked.person_id AND contributions.goal_id = asked.goal_id
                  AND effective_micros >= first_asked AND effective_micros < end_asked
CROSS JOIN batch_run
WHERE contributions.status = 'CONFIRMED' AND effective_micros <= as_of_micros
GROUP BY asked.person_id, asked.goal_id, asked.month
"""
"""What the batch would show of goals if it were of another month."""


class Awaited(NamedTuple):
    """What the events of a goal and month say, which the batch has passed."""

    person: str
    goal: str
    month: str
    said: Balance


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
        self._zone = zone_of(run.timezone)
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

    async def _pending(self) -> AsyncIterator[list[Awaited]]:
        """What this batch has passed, and the batch before had not; counts the others that are still pending."""
        part: list[Awaited] = []
        async for row in self._session.scan(Pending, undecodable="skip"):
            if any(self._may_expire(event) for event in row.events):
                await self._let_expire(row)
            part += self._passed(row)
            if len(part) >= _PART:
                yield part
                part = []
        yield part

    def _passed(self, row: Pending) -> Iterator[Awaited]:
        for month, events in by_month(self._alive(row), self._zone).items():
            if events[-1].updated > self._run.as_of:
                self._counts["still_pending"] += balance(events, None, self._run.as_of).is_pending
            elif self._since is None or events[-1].updated > self._since:
                yield Awaited(row.person, row.goal, month, balance(events, None, self._since))

    def _alive(self, row: Pending) -> list[KnownEvent]:
        return [event for event in row.events if not event.has_expired(self._now)]

    def _may_expire(self, event: KnownEvent) -> bool:
        """A rejection hides older events until a batch has passed it."""
        return event.status == REJECTED and event.until is None and event.updated <= self._run.as_of

    async def _let_expire(self, row: Pending) -> None:
        until = self._now + LIFETIME
        events = [
            msgspec.structs.replace(event, until=until) if self._may_expire(event) else event for event in row.events
        ]
        try:
            await self._session.put(pending_row(row.person, row.goal, events, row.revision), if_version="revision")
        except sk.ConditionFailed:
            pass  # another event came meanwhile; the next batch lets it expire

    async def _compare_with_views(self, part: list[Awaited]) -> None:
        of_month = [each for each in part if each.month == self._run.month]
        persons = await _each([{"person": each.person} for each in of_month], self._views.lookup)
        for each, person in zip(of_month, persons, strict=True):
            if isinstance(person, sk.DecodeError):
                self._counts["unreadable"] += 1
            else:
                self._count(each, _saved(person, each.goal))
        # At the turn of a month, the views no longer have the deposits of the days before.
        others = [each for each in part if each.month != self._run.month]
        if others:
            sums = await asyncio.to_thread(self._sums, others)
            for each in others:
                self._count(each, sums.get((each.person, each.goal, each.month)))

    def _sums(self, awaited: list[Awaited]) -> dict[tuple[str, str, str], Saved]:
        """What gold has for these, each in its month."""
        asked = [
            (each.person, each.goal, each.month, *map(micros_of, bounds_of(each.month, self._zone))) for each in awaited
        ]
        kinds = {
            "person_id": "STRING",
            "goal_id": "STRING",
            "month": "STRING",
            "first_asked": "BIGINT",
            "end_asked": "BIGINT",
        }
        self._engine.table("asked", kinds, asked)
        found = self._engine.ask(_SUMS)
        return {(person, goal, month): Saved(cents, instant_of(latest)) for person, goal, month, cents, latest in found}

    def _outcome(self, said: Balance, saved: Saved | None) -> str:
        if not said.is_pending:
            return "rejected"
        if saved is None:
            return "never_came"
        if saved.cents == said.cents:
            return "confirmed"
        has_come = saved.latest is not None and (self._since is None or saved.latest > self._since)
        if has_come and said.cents is None:
            # A rejection took off an amount that no event tells.
            return "confirmed"
        return "other_amount" if has_come else "never_came"

    async def _compare_with_events(self, since: datetime) -> None:
        await asyncio.to_thread(self._register_months, since)
        came = _CAME.format(since=micros_of(since))
        rows = chain.from_iterable(self._engine.rows(came, ("person_id", "goal_id", "month")))
        while part := await asyncio.to_thread(_next_part, rows):
            keys = [{"person": person, "goal": goal} for person, goal, *_ in part]
            pending = await _each(keys, partial(self._session.lookup, Pending.key))
            for (person, goal, month, saved_cents), row in zip(part, pending, strict=True):
                if isinstance(row, sk.DecodeError):
                    self._counts["unreadable"] += 1
                elif row is None or not self._was_announced(row, month, since):
                    self._counts["without_event"] += 1
                    self._name(Example("without_event", person, goal, None, saved_cents))

    def _was_announced(self, row: Pending, month: str, since: datetime) -> bool:
        return any(event.updated > since for event in by_month(self._alive(row), self._zone).get(month, []))

    def _register_months(self, since: datetime) -> None:
        kinds = {"month": "STRING", "first_micros": "BIGINT", "end_micros": "BIGINT"}
        months, month = [], month_of(since, self._zone)
        while (bounds := bounds_of(month, self._zone)).first <= self._run.as_of:
            months.append((month, *map(micros_of, bounds)))
            month = month_after(month)
        self._engine.table("months", kinds, months)

    def _count(self, awaited: Awaited, saved: Saved | None) -> None:
        outcome = self._outcome(awaited.said, saved)
        self._counts[outcome] += 1
        if outcome in self._examples:
            cents = None if saved is None else saved.cents
            self._name(Example(outcome, awaited.person, awaited.goal, awaited.said.cents, cents))

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
