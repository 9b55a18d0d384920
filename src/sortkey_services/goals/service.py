"""The goals service, called by HTTP and feeds: what a person has saved, as the batch and the newest deposits say.

    [goals]
    rules = "postgresql://goals@db.internal/goals"
    refresh_seconds = 5

The rules are those of the batch, so that an event gets the rate that the next batch would give. Without `rules`, events
keep the rates of the last batch.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from litestar import delete, get, post, put
from litestar.params import FromPath, JSONBody
from litestar.types import ControllerRouterHandler
from msgspec import Meta

import sortkey as sk
from sortkey.clock import Clock, SystemClock
from sortkey_services.goals.demo import Demo
from sortkey_services.goals.deposits import Deposits, Missing, unreadable, why_unknown
from sortkey_services.goals.event import DepositEvent, Events, check_events, error_in_id, read_message
from sortkey_services.goals.model import (
    DEMO_COMPETES_AS,
    OUTCOMES,
    TABLES,
    Choice,
    GoalStatus,
    GoalView,
    PersonView,
    Reconciliation,
    pending_over_views,
    views,
)
from sortkey_services.goals.rules import CurrentRules, RulesError, open_rules, read_rules

REMOVAL_SECONDS: Final = 60.0
REMOVAL_RATE: Final = 1_000.0
"""Read units a second: the table is read beside the requests."""
FAMILIES: Final[Mapping[str, tuple[str, str]]] = {
    "sortkey_goals_persons": ("gauge", "Persons in the load that is served."),
    "sortkey_goals_served_timestamp_seconds": ("gauge", "Since when the load is served, in seconds since 1970."),
    "sortkey_goals_as_of_timestamp_seconds": (
        "gauge",
        "The instant up to which the data of the load that is served is complete, in seconds since 1970.",
    ),
    "sortkey_goals_reconciled": ("gauge", "Goals of persons by what the last batch made of their deposits."),
}

_logger = logging.getLogger(__name__)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: str | None = None
    """The URL of the database with the table goal_rules: sqlite:///FILE or postgresql://…"""
    refresh_seconds: Annotated[float, Meta(gt=0, le=3600)] = 5.0
    """How old the rules may be that an event is enriched with."""
    patience_seconds: Annotated[float, Meta(gt=0, le=3600)] = 2.0
    """How long an event waits for the database."""


DEFAULTS: Final = Settings()


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Raises BadSettings."""
    try:
        return msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"goals: {error}") from None


class Preferences(msgspec.Struct, frozen=True):
    notifications: bool
    language: str


class GoalAnswer(msgspec.Struct, frozen=True, rename="camel"):
    goal_id: str
    target_amount: float
    saved_amount: float
    status: GoalStatus
    special_rate: float | None
    chosen: bool


class PersonAnswer(msgspec.Struct, frozen=True, rename="camel"):
    person_id: str
    name: str
    preferences: Preferences
    goals: list[GoalAnswer]
    last_updated: datetime
    """When the batch ran."""
    as_of: datetime
    """The instant up to which the batch's data is complete."""


class ChoiceAnswer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    person_id: str
    goal_id: str
    chosen: bool
    since: datetime | None = None


class EventsAnswer(msgspec.Struct, frozen=True):
    applied: int
    stale: int


class Shown(NamedTuple):
    """A person as the app shows it."""

    view: PersonView
    chosen: frozenset[str]
    """The goals that the customer has chosen."""


class GoalsService:
    name = "goals"
    feeds: Sequence[sk.feeds.ChangeFeed[Any]] = ()
    families = FAMILIES

    def __init__(self, session: sk.AsyncSession, settings: Settings = DEFAULTS, clock: Clock | None = None) -> None:
        self._session = session
        self._clock = clock or SystemClock()
        self._views = views.reader(session)
        self._reader = pending_over_views.reader(session, base=self._views.get, undecodable="skip")
        self._deposits = Deposits(session, _rules_of(settings), self._clock)
        self._demo = Demo(session, self._clock)

    async def start(self) -> None:
        await self._session.create_tables(*TABLES)

    def maintenance(self) -> sk.patterns.Remover:
        """Removes the rows of loads that are no longer served."""
        return views.remover(self._session, every=REMOVAL_SECONDS, rate=REMOVAL_RATE)

    async def samples(self) -> dict[str, float]:
        return _samples(await self._views.current(), await self._reconciled())

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
        choice = Choice(person=person, goal=goal, since=datetime.fromtimestamp(self._clock.now(), UTC))
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

    async def apply(self, events: Sequence[DepositEvent]) -> EventsAnswer:
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
        return EventsAnswer(applied, len(events) - applied)

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

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        @get("/goals/{person_id:str}", opt={"fast": True}, summary="What a person has saved, and for what")
        async def show(person_id: FromPath[str]) -> PersonAnswer:
            """As the last batch has computed it, with the balances of deposits that it has not seen yet: those are
            PENDING_CONFIRMATION."""
            return _person_answer(await self.read(person_id))

        @post("/goals/events", status_code=202, opt={"fast": True}, summary="Deposits, or their rejections")
        async def events(data: JSONBody[DepositEvent | Events]) -> EventsAnswer:
            """One event or a list. If one of a list is invalid, or its person or goal does not exist, none is applied.
            Older and repeated events, and those that the batch has seen, are stale and change nothing."""
            return await self.apply(check_events(data))

        @put("/goals/{person_id:str}/choices/{goal_id:str}", opt={"fast": True}, summary="Choose a goal")
        async def choose(person_id: FromPath[str], goal_id: FromPath[str]) -> ChoiceAnswer:
            """A goal that is chosen already stays as it is."""
            return ChoiceAnswer(person_id, goal_id, True, await self.choose(person_id, goal_id))

        @delete(
            "/goals/{person_id:str}/choices/{goal_id:str}",
            status_code=200,
            opt={"fast": True},
            summary="No longer choose a goal",
        )
        async def take_back(person_id: FromPath[str], goal_id: FromPath[str]) -> ChoiceAnswer:
            """Also if it is not chosen."""
            await self.take_back(person_id, goal_id)
            return ChoiceAnswer(person_id, goal_id, False)

        return [show, events, choose, take_back]


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


def _samples(served: sk.patterns.Served | None, reconciled: Reconciliation | None) -> dict[str, float]:
    """Which load is served, and what became of the deposits before it."""
    samples: dict[str, float] = {}
    if served is not None:
        samples["sortkey_goals_persons"] = served.rows
        samples["sortkey_goals_served_timestamp_seconds"] = served.published.timestamp()
        if served.as_of != DEMO_COMPETES_AS:
            samples["sortkey_goals_as_of_timestamp_seconds"] = served.as_of.timestamp()
    if reconciled is not None:
        for outcome in OUTCOMES:
            samples[f'sortkey_goals_reconciled{{outcome="{outcome}"}}'] = getattr(reconciled, outcome)
    return samples


def _person_answer(shown: Shown) -> PersonAnswer:
    view = shown.view
    return PersonAnswer(
        person_id=view.person,
        name=view.name,
        preferences=Preferences(view.notifications, view.language),
        goals=[_goal_answer(goal, goal.goal in shown.chosen) for goal in view.goals],
        last_updated=view.updated,
        as_of=view.as_of,
    )


def _goal_answer(goal: GoalView, chosen: bool) -> GoalAnswer:
    return GoalAnswer(
        goal_id=goal.goal,
        target_amount=goal.target_cents / 100,
        saved_amount=goal.saved_cents / 100,
        status=goal.status,
        special_rate=None if goal.rate is None else float(goal.rate),
        chosen=chosen,
    )
