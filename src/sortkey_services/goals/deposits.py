"""Deposit events, kept beside what is known of their goals until the batch has seen them.

The events of a goal are one row: it is read, and written if no other write came between. What the batch has of a person
only helps: its as-of tells that an event is stale, the person's tier which rate the rules give. An event of a person
whom no batch has brought yet is kept all the same: batch and events meet when a person is read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.ledger import added
from sortkey_services.goals.model import (
    GOALS,
    LIFETIME,
    REJECTED,
    KnownEvent,
    Pending,
    PersonView,
    pending_row,
    views,
)
from sortkey_services.goals.months import month_of
from sortkey_services.goals.rules import CurrentRules, Rules
from sortkey_services.slices import in_slices

CONCURRENT: Final = 32
VIEWS_AT_ONCE: Final = 100
CLOCKS_DIFFER: Final = timedelta(days=1)
"""A time that is further in the future comes from a wrong clock."""
AT_ONCE_SECONDS: Final = 1e-9
"""The age at which a remembered pointer is renewed: each request sees the load that is served now."""

Views = Mapping[str, PersonView]

_logger = logging.getLogger(__name__)


class Known(NamedTuple):
    """What is known when events come."""

    views: Views
    """Of the persons whom the batch has brought."""
    rules: Rules | None
    goals: frozenset[str] | None
    """Those that exist; None if there are rules, and they could not be read yet."""

    def why_unknown(self, event: DepositEvent) -> str | None:
        """Why an event can never be applied; None if its goal exists."""
        if self.goals is None or event.goal_id in self.goals:
            return None
        view = self.views.get(event.person_id)
        if view is not None and any(goal.goal == event.goal_id for goal in view.goals):
            return None
        return f"goalId: there is no goal {event.goal_id!r}; the goals are {', '.join(sorted(self.goals))}"


class Deposits:
    def __init__(self, session: sk.AsyncSession, rules: CurrentRules | None, clock: Clock, zone: ZoneInfo) -> None:
        self._session = session
        self._rules = rules
        self._clock = clock
        self._zone = zone
        self._views = views.reader(session, renew=AT_ONCE_SECONDS)

    async def known(self, persons: Sequence[str]) -> Known:
        """What is known of these persons and of the goals, as it is served now."""
        found = await self._views_of(list(dict.fromkeys(persons)))
        if self._rules is None:
            return Known(found, None, frozenset(GOALS))
        rules = await self._rules.get()
        return Known(found, rules, None if rules is None else rules.goals)

    async def view_of(self, person: str) -> PersonView | None:
        """Raises DecodeError."""
        return await self._views.get(person=person)

    async def _views_of(self, persons: list[str]) -> Views:
        try:
            found: list[PersonView | None] = []
            async for some in in_slices(persons, VIEWS_AT_ONCE):
                found += await self._views.lookup([{"person": person} for person in some])
        except sk.DecodeError:
            found = await concurrent_map(self._readable_view_of, persons, CONCURRENT)
        return {view.person: view for view in found if view is not None}

    async def _readable_view_of(self, person: str) -> PersonView | None:
        try:
            return await self.view_of(person)
        except sk.DecodeError as error:
            _logger.warning("a deposit is kept, but the goals of %s cannot be read: %s", person, error)
            return None

    async def apply(self, events: Sequence[DepositEvent], known: Known) -> int:
        """How many were applied, one after the other; the others are stale. Their goals must exist."""
        of_goals: dict[tuple[str, str], list[KnownEvent]] = {}
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        async for some in in_slices(events):
            for event in some:
                of_goal = of_goals.setdefault((event.person_id, event.goal_id), [])
                of_goal.append(self._known_event(event, known, now))

        async def apply_of(person_and_goal: tuple[str, str]) -> int:
            view = known.views.get(person_and_goal[0])
            after = None if view is None else view.as_of
            return await self._apply(person_and_goal, of_goals[person_and_goal], after, now)

        return sum(await concurrent_map(apply_of, list(of_goals), CONCURRENT))

    async def _apply(
        self, person_and_goal: tuple[str, str], events: list[KnownEvent], after: datetime | None, now: datetime
    ) -> int:
        """Events of one goal, in one write."""
        if after is not None and all(event.updated <= after for event in events):
            return 0
        person, goal = person_and_goal
        stored = await self._stored(Pending.key(person=person, goal=goal))
        while True:
            kept = [] if stored is None else stored.events
            applied = 0
            async for some in in_slices(events):
                for event in some:
                    kept, is_applied = added(kept, event, now, after, self._zone)
                    applied += is_applied
            if not kept or (stored is not None and kept == stored.events):
                return applied
            row = pending_row(person, goal, kept, 0 if stored is None else stored.revision)
            try:
                await self._session.put(row, if_version="revision")
            except sk.ConditionFailed as error:
                # Another event of the goal was written meanwhile.
                stored = error.item
            except sk.DecodeError as error:
                _logger.warning("a deposit replaces a row that cannot be read: %s", error)
                await self._session.put(row)
                return applied
            else:
                return applied

    async def _stored(self, path: sk.AccessPath[Pending]) -> Pending | None:
        try:
            return await self._session.get(path)
        except sk.DecodeError:
            return None

    def _known_event(self, event: DepositEvent, known: Known, now: datetime) -> KnownEvent:
        updated = event.updated_at.astimezone(UTC)
        # A rejection stays until a batch has passed it. No batch would soon pass one that a wrong clock has put into
        # the future, and it would hide deposits until then.
        stays = event.status == REJECTED and updated <= now + CLOCKS_DIFFER
        view = known.views.get(event.person_id)
        rate = None
        if known.rules is not None and view is not None:
            rate = known.rules.rate(event.goal_id, view.tier, updated.date())
        return KnownEvent(
            event=event.event_id,
            status=event.status,
            updated=updated,
            balance_cents=event.balance_cents,
            contribution=event.contribution_id,
            month=event.month or month_of(updated, self._zone),
            rate=rate,
            came=now,
            until=None if stays else now + LIFETIME,
        )


def unreadable(person: str) -> str:
    return f"the goals of {person} cannot be read, because another program has changed them"
