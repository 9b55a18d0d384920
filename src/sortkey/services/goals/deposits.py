"""Deposit events, written if they are newer than what is stored and than what the batch has seen.

A request reads which load is served, and the persons' views; then each event is one conditional put. The view tells
whether person and goal exist, up to when the batch has seen everything, and the person's tier, by which the rules give
the special rate.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import sortkey as sk
from sortkey.services.concurrent_map import concurrent_map
from sortkey.services.goals.current_rules import CurrentRules
from sortkey.services.goals.event import DepositEvent
from sortkey.services.goals.model import LIFETIME, REJECTED, Pending, PersonView, views
from sortkey.services.goals.rules import Rules

CONCURRENT: Final = 64
AT_ONCE_SECONDS: Final = 1e-9
"""The age at which a remembered pointer is renewed: each request sees the load that is served now."""

Views = Mapping[str, PersonView | None]

_logger = logging.getLogger(__name__)


class Deposits:
    def __init__(self, session: sk.AsyncSession, rules: CurrentRules | None, now: Callable[[], float]) -> None:
        self._session = session
        self._rules = rules
        self._now = now
        self._views = views.reader(session, renew=AT_ONCE_SECONDS)

    async def views_of(self, persons: Sequence[str]) -> Views:
        """The views of these persons, as they are served now. One that cannot be read is as good as none."""
        wanted = list(dict.fromkeys(persons))
        try:
            found = await self._views.lookup([{"person": person} for person in wanted])
        except sk.DecodeError:
            found = await concurrent_map(self._readable_view, wanted, CONCURRENT)
        return dict(zip(wanted, found, strict=True))

    async def _readable_view(self, person: str) -> PersonView | None:
        try:
            return await self._views.get(person=person)
        except sk.DecodeError as error:
            _logger.warning("the goals of %s cannot be read: %s", person, error)
            return None

    async def apply(self, events: Sequence[DepositEvent], known: Views) -> list[bool]:
        """Whether each was applied, in their order; the others are stale. Person and goal must be in `known`."""
        rules = None if self._rules is None else await self._rules.get()
        of_goals: dict[tuple[str, str], list[int]] = {}
        for index, event in enumerate(events):
            of_goals.setdefault((event.person_id, event.goal_id), []).append(index)
        applied = [False] * len(events)

        async def in_order(indexes: list[int]) -> None:
            for index in indexes:
                event = events[index]
                view = known[event.person_id]
                applied[index] = view is not None and await self._apply(event, view, rules)

        await concurrent_map(in_order, list(of_goals.values()), CONCURRENT)
        return applied

    async def _apply(self, event: DepositEvent, view: PersonView, rules: Rules | None) -> bool:
        if event.updated_at <= view.as_of:
            return False
        now = datetime.fromtimestamp(self._now(), UTC)
        pending = _pending(event, view, rules, now)
        # An expired one counts as deleted: TTL deletes late, and the outcome must not depend on it.
        older: dict[str, Any] = {"version": sk.absent | sk.below(event.version)}
        try:
            return await self._session.put(pending, where=sk.any_of(older, {"expires": sk.below(now)}))
        except sk.ConditionFailed:
            return False


def unknown(event: DepositEvent, known: Views) -> str | None:
    """Why an event cannot be applied; None if its person has its goal."""
    view = known[event.person_id]
    if view is None:
        return f"personId: there is no person {event.person_id!r}"
    if all(goal.goal != event.goal_id for goal in view.goals):
        goals = ", ".join(goal.goal for goal in view.goals) or "none"
        return f"goalId: {event.person_id} has no goal {event.goal_id!r}; the goals are {goals}"
    return None


def _pending(event: DepositEvent, view: PersonView, rules: Rules | None, now: datetime) -> Pending:
    of_batch = next(goal.rate for goal in view.goals if goal.goal == event.goal_id)
    updated = event.updated_at.astimezone(UTC)
    of_rules = None if rules is None else rules.rate(event.goal_id, view.tier, updated.date())
    return Pending(
        person=event.person_id,
        goal=event.goal_id,
        balance_cents=event.balance_cents,
        status=event.status,
        rate=of_batch if of_rules is None else of_rules,
        updated=updated,
        event=event.event_id,
        version=event.version,
        expires=None if event.status == REJECTED else now + LIFETIME,
    )
