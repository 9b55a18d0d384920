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
from sortkey.services.goals.batch.batch_run import BatchRun, micros_of
from sortkey.services.goals.batch.engine import Engine, Row
from sortkey.services.goals.model import LIFETIME, REJECTED, GoalView, Pending, PersonView, views
from sortkey.services.goals.reconciliation_item import Reconciliation

T = TypeVar("T")

_PART: Final = 500
"""Rows that are compared at a time."""
EXAMPLES: Final = 20
"""How many goals the report names for each outcome that somebody has to look at."""
_NAMED: Final = ("other_amount", "never_came", "without_event")
_CAME: Final = """
SELECT progress.person_id, progress.goal_id, progress.saved_cents
FROM progress JOIN gold_customers AS customers ON customers.person_id = progress.person_id
WHERE progress.latest_micros > {since}
"""


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
            await self._compare_with_events(micros_of(self._since))
        counts = Reconciliation(
            at=self._now,
            as_of=self._run.as_of,
            since=self._since,
            confirmed=self._counts["confirmed"],
            other_amount=self._counts["other_amount"],
            never_came=self._counts["never_came"],
            without_event=self._counts["without_event"],
            rejected=self._counts["rejected"],
            still_pending=self._counts["still_pending"],
            unreadable=self._counts["unreadable"],
        )
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
        persons = await _each([{"person": row.person} for row in part], self._views.lookup)
        for row, person in zip(part, persons, strict=True):
            if isinstance(person, sk.DecodeError):
                self._counts["unreadable"] += 1
                continue
            goal = _goal_of(person, row.goal)
            self._count(self._outcome(row, goal), row.person, row.goal, row, goal)

    def _outcome(self, row: Pending, goal: GoalView | None) -> str:
        if row.status == REJECTED:
            return "rejected"
        if goal is None:
            return "never_came"
        if goal.saved_cents == row.balance_cents:
            return "confirmed"
        has_come = goal.latest is not None and (self._since is None or goal.latest > self._since)
        return "other_amount" if has_come else "never_came"

    async def _compare_with_events(self, since: int) -> None:
        rows = chain.from_iterable(self._engine.rows(_CAME.format(since=since), ("person_id", "goal_id")))
        while part := await asyncio.to_thread(_next_part, rows):
            keys = [{"person": person, "goal": goal} for person, goal, _ in part]
            events = await _each(keys, partial(self._session.lookup, Pending.key))
            for (person, goal, saved_cents), event in zip(part, events, strict=True):
                if isinstance(event, sk.DecodeError):
                    self._counts["unreadable"] += 1
                elif event is None or self._has_expired(event) or (self._since and event.updated <= self._since):
                    self._counts["without_event"] += 1
                    self._name(Example("without_event", person, goal, None, saved_cents))

    def _count(self, outcome: str, person: str, goal: str, row: Pending, view: GoalView | None) -> None:
        self._counts[outcome] += 1
        if outcome in self._examples:
            saved_cents = None if view is None else view.saved_cents
            self._name(Example(outcome, person, goal, row.balance_cents, saved_cents))

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


def _goal_of(person: PersonView | None, goal: str) -> GoalView | None:
    if person is not None:
        for each in person.goals:
            if each.goal == goal:
                return each
    return None
