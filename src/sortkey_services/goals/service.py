"""The goals service, called by HTTP and feeds: what a person has saved, as the batch and the newest deposits say."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import sortkey as sk
from sortkey_services.goals.current_rules import CurrentRules
from sortkey_services.goals.demo import Demo
from sortkey_services.goals.deposits import Deposits, Missing, unreadable, why_unknown
from sortkey_services.goals.event import DepositEvent, error_in_id, read_message
from sortkey_services.goals.metrics import FAMILIES, samples_of
from sortkey_services.goals.model import TABLES, Choice, GoalView, PersonView, pending_over_views, views
from sortkey_services.goals.reconciliation_item import Reconciliation
from sortkey_services.goals.rules import RulesError, open_rules, read_rules
from sortkey_services.goals.settings import Settings

DEFAULTS: Final = Settings()
REMOVAL_SECONDS: Final = 60.0
REMOVAL_RATE: Final = 1_000.0
"""Read units a second: the table is read beside the requests."""

_logger = logging.getLogger(__name__)


class Shown(NamedTuple):
    """A person as the app shows it."""

    view: PersonView
    chosen: frozenset[str]
    """The goals that the customer has chosen."""


class Applied(NamedTuple):
    applied: int
    stale: int


class Goals:
    name = "goals"
    feeds: Sequence[sk.feeds.ChangeFeed[Any]] = ()
    families = FAMILIES

    def __init__(
        self, session: sk.AsyncSession, settings: Settings = DEFAULTS, now: Callable[[], float] = time.time
    ) -> None:
        self._session = session
        self._now = now
        self._views = views.reader(session)
        self._reader = pending_over_views.reader(session, base=self._views.get, undecodable="skip")
        self._deposits = Deposits(session, _rules_of(settings), now)
        self._demo = Demo(session, now)

    async def start(self) -> None:
        await self._session.create_tables(*TABLES)

    def maintenance(self) -> sk.patterns.Remover:
        """Removes the rows of loads that are no longer served."""
        return views.remover(self._session, every=REMOVAL_SECONDS, rate=REMOVAL_RATE)

    async def samples(self) -> dict[str, float]:
        return samples_of(await self._views.current(), await self._reconciled())

    async def _reconciled(self) -> Reconciliation | None:
        try:
            return await self._session.get(Reconciliation.key(of=self.name))
        except sk.DecodeError as error:
            _logger.warning("the last reconciliation cannot be read, so it is not in the metrics: %s", error)
            return None

    async def load_demo(self, progress: sk.services.Progress) -> None:
        await self._demo.load(progress)

    async def run_demo(self) -> None:
        """Visitors make deposits, and a batch confirms them, until it is cancelled or a real batch comes."""
        await self._demo.run(self.apply)

    async def read(self, person: str) -> Shown:
        """What the person has saved: one GetItem and one Query. Raises NotFound, and Conflict if another program has
        changed the row so that it cannot be read."""
        found = None
        if error_in_id(person) is None:
            try:
                found = await self._reader.get_with(Choice, person=person)
            except sk.DecodeError as error:
                _logger.warning("the goals of %s cannot be read: %s", person, error)
                raise sk.services.Conflict(unreadable(person), "unreadable") from error
        if found is None:
            raise _no_person(person)
        view, choices = found
        return Shown(view, frozenset(choice.goal for choice in choices))

    async def choose(self, person: str, goal: str) -> datetime:
        """The customer chooses a goal; returns since when it is chosen. Raises NotFound."""
        await self._require_goal(person, goal)
        choice = Choice(person=person, goal=goal, since=datetime.fromtimestamp(self._now(), UTC))
        while not await self._session.put(choice, if_absent=True):
            stored = await self._session.get(choice.key, consistent=True)
            if stored is not None:
                return stored.since
            # It was taken back between the two requests.
        return choice.since

    async def take_back(self, person: str, goal: str) -> None:
        """The customer no longer chooses a goal: also one that the person no longer has. Raises NotFound."""
        for value in (person, goal):
            if error_in_id(value) is not None:
                raise _no_goal(person, goal)
        if await self._session.delete(Choice.key(person=person, goal=goal)) is None:
            await self._require_goal(person, goal)

    async def apply(self, events: Sequence[DepositEvent]) -> Applied:
        """Raises BadRequest, and applies none, if the person or the goal of one of them does not exist."""
        known = await self._deposits.views_of([event.person_id for event in events])
        errors = [
            f"[{index}].{error}" if len(events) > 1 else error
            for index, event in enumerate(events)
            if (error := why_unknown(event, known)) is not None
        ]
        if errors:
            raise sk.services.BadRequest(errors[0], errors)
        applied = await self._deposits.apply(events, known)
        return Applied(applied, len(events) - applied)

    async def consume(self, messages: Sequence[sk.feeds.Message]) -> list[sk.feeds.Rejected]:
        rejected: dict[int, sk.feeds.Rejected] = {}
        read: dict[int, DepositEvent] = {}
        for index, message in enumerate(messages):
            try:
                read[index] = read_message(message.value)
            except sk.services.BadRequest as error:
                rejected[index] = sk.feeds.Rejected(message, str(error))
        known = await self._deposits.views_of([event.person_id for event in read.values()])
        applicable: list[DepositEvent] = []
        for index, event in read.items():
            reason = why_unknown(event, known)
            if reason is None:
                applicable.append(event)
            else:
                rejected[index] = sk.feeds.Rejected(messages[index], reason)
        await self._deposits.apply(applicable, known)
        return [rejected[index] for index in sorted(rejected)]

    async def _require_goal(self, person: str, goal: str) -> GoalView:
        if error_in_id(person) is not None:
            raise _no_person(person)
        view = (await self._deposits.views_of([person]))[person]
        if view is Missing.UNREADABLE:
            raise sk.services.Conflict(unreadable(person), "unreadable")
        if isinstance(view, Missing):
            raise _no_person(person)
        for each in view.goals:
            if each.goal == goal:
                return each
        raise _no_goal(person, goal)


def _no_person(person: str) -> sk.services.NotFound:
    return sk.services.NotFound(f"there is no person {person!r}")


def _no_goal(person: str, goal: str) -> sk.services.NotFound:
    return sk.services.NotFound(f"the person {person!r} has no goal {goal!r}")


def _rules_of(settings: Settings) -> CurrentRules | None:
    url = settings.rules
    if url is None:
        return None
    try:
        # A mistake in the URL is found now; a database that cannot be reached may come back.
        open_rules(url).close()
    except RulesError as error:
        raise sk.services.BadSettings(f"goals: rules: {error}") from None
    return CurrentRules(lambda: read_rules(url), settings.refresh_seconds, settings.patience_seconds)
