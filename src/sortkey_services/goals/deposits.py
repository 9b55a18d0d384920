"""Deposit events, written if they are newer than what is stored and than what the batch has seen.

A request reads which load is served, and the persons' views; then the newest event of each goal is one conditional put.
The view tells whether person and goal exist, up to when the batch has seen everything, and the person's tier, by which
the rules give the special rate.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.model import LIFETIME, REJECTED, Pending, PersonView, views
from sortkey_services.goals.rules import CurrentRules, Rules

CONCURRENT: Final = 64
CLOCKS_DIFFER: Final = timedelta(days=1)
"""A time that is further in the future comes from a wrong clock."""
AT_ONCE_SECONDS: Final = 1e-9
"""The age at which a remembered pointer is renewed: each request sees the load that is served now."""


class Missing(Enum):
    """Why there is no view of a person."""

    NOTHING_SERVED = "no batch was loaded yet"
    ABSENT = "the load that is served does not have it"
    UNREADABLE = "another program has changed the row"


Views = Mapping[str, PersonView | Missing]

_logger = logging.getLogger(__name__)


class Deposits:
    def __init__(self, session: sk.AsyncSession, rules: CurrentRules | None, clock: Clock) -> None:
        self._session = session
        self._rules = rules
        self._clock = clock
        self._views = views.reader(session, renew=AT_ONCE_SECONDS)

    async def views_of(self, persons: Sequence[str]) -> Views:
        """The views of these persons, as they are served now."""
        wanted = list(dict.fromkeys(persons))
        try:
            found = await self._views.lookup([{"person": person} for person in wanted])
        except sk.DecodeError:
            # Raises if it is the pointer: then all persons are unreadable, and nobody is unknown.
            await self._views.current()
            return dict(zip(wanted, await concurrent_map(self._view_of, wanted, CONCURRENT), strict=True))
        missing = Missing.ABSENT
        if None in found and await self._views.current() is None:
            missing = Missing.NOTHING_SERVED
        return {person: view or missing for person, view in zip(wanted, found, strict=True)}

    async def _view_of(self, person: str) -> PersonView | Missing:
        try:
            return await self._views.get(person=person) or Missing.ABSENT
        except sk.DecodeError as error:
            _logger.warning("the goals of %s cannot be read: %s", person, error)
            return Missing.UNREADABLE

    async def apply(self, events: Sequence[DepositEvent], known: Views) -> int:
        """How many were applied, one after the other; the others are stale. Person and goal must be in `known`."""
        rules = None if self._rules is None else await self._rules.get()
        of_goals: dict[tuple[str, str], list[DepositEvent]] = {}
        for event in events:
            rising = of_goals.setdefault((event.person_id, event.goal_id), [])
            # One that is not newer than all before it is stale, whatever is stored.
            if not rising or rising[-1].version < event.version:
                rising.append(event)

        async def apply_rising(rising: list[DepositEvent]) -> int:
            view = known[rising[0].person_id]
            return await self._apply(rising, view, rules) if isinstance(view, PersonView) else 0

        return sum(await concurrent_map(apply_rising, list(of_goals.values()), CONCURRENT))

    async def _apply(self, rising: Sequence[DepositEvent], view: PersonView, rules: Rules | None) -> int:
        """Events of one goal, each newer than the one before. Only the last one is written; how many of them would have
        been follows from what is stored."""
        unseen = [event for event in rising if event.updated_at > view.as_of]
        if not unseen:
            return 0
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        pending = _pending(unseen[-1], view, rules, now)
        if len(unseen) == 1:
            return int(await self._put_newer(pending, now))
        stored = await self._stored_version(pending.key, now)
        newer = sum(event.version > stored for event in unseen)
        return newer if newer and await self._put_newer(pending, now) else 0

    async def _stored_version(self, path: sk.AccessPath[Pending], now: datetime) -> str:
        """Empty, which is older than all others, if nothing is stored that counts."""
        try:
            stored = await self._session.get(path, consistent=True)
        except sk.DecodeError:
            return ""
        if stored is None or (stored.expires is not None and stored.expires < now):
            return ""
        return stored.version

    async def _put_newer(self, pending: Pending, now: datetime) -> bool:
        # An expired one counts as deleted: TTL deletes late, and the outcome must not depend on it.
        version, expires = sk.F(Pending.version), sk.F(Pending.expires)
        allowed = version.not_exists() | (version < pending.version) | (expires < now)
        try:
            return await self._session.put(pending, where=allowed)
        except sk.ConditionFailed:
            return False
        except sk.DecodeError as error:
            _logger.warning("a deposit replaces a row that cannot be read: %s", error)
            return await self._session.put(pending)


def why_unknown(event: DepositEvent, known: Views) -> str | None:
    """Why an event cannot be applied; None if its person has its goal."""
    view = known[event.person_id]
    if view is Missing.UNREADABLE:
        return f"personId: {unreadable(event.person_id)}"
    if view is Missing.NOTHING_SERVED:
        return f"personId: there is no person {event.person_id!r}, since no batch was loaded yet"
    if view is Missing.ABSENT:
        return f"personId: there is no person {event.person_id!r}"
    if all(goal.goal != event.goal_id for goal in view.goals):
        goals = ", ".join(goal.goal for goal in view.goals) or "none"
        return f"goalId: {event.person_id} has no goal {event.goal_id!r}; the goals are {goals}"
    return None


def unreadable(person: str) -> str:
    return f"the goals of {person} cannot be read, because another program has changed them"


def _pending(event: DepositEvent, view: PersonView, rules: Rules | None, now: datetime) -> Pending:
    updated = event.updated_at.astimezone(UTC)
    # A rejection stays until a batch has passed it. No batch would soon pass one that a wrong clock has put into the
    # future, and it would hide all deposits until then.
    stays = event.status == REJECTED and updated <= now + CLOCKS_DIFFER
    return Pending(
        person=event.person_id,
        goal=event.goal_id,
        balance_cents=event.balance_cents,
        status=event.status,
        rate=None if rules is None else rules.rate(event.goal_id, view.tier, updated.date()),
        updated=updated,
        came=now,
        event=event.event_id,
        version=event.version,
        expires=None if stays else now + LIFETIME,
    )
