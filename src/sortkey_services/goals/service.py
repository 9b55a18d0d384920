"""The goals service, called by HTTP and feeds: what a person has saved, as the batch and the newest deposits say.

    [goals]
    rules = "postgresql://goals@db.internal/goals"
    refresh_seconds = 5
    timezone = "Europe/Lisbon"         # in which a month begins, also for the batch; UTC by default
    kafka = "localhost:9092"           # events of goals that were reached; also eventbridge and sns
    topic = "goals-reached"

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
from sortkey_services.goals.deposits import Deposits, unreadable
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
    views,
)
from sortkey_services.goals.months import month_of, zone_of
from sortkey_services.goals.reached import KIND, event_feeds
from sortkey_services.goals.rules import CurrentRules, RulesError, open_rules, read_rules
from sortkey_services.goals.shown import in_month, pending_over_views

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


class Settings(sk.services.EventSettings, frozen=True, forbid_unknown_fields=True):
    rules: str | None = None
    """The URL of the database with the table goal_rules: sqlite:///FILE or postgresql://…"""
    refresh_seconds: Annotated[float, Meta(gt=0, le=3600)] = 5.0
    """How old the rules may be that an event is enriched with."""
    patience_seconds: Annotated[float, Meta(gt=0, le=3600)] = 2.0
    """How long an event waits for the database."""
    timezone: str = "UTC"
    """In which a month begins."""
    topic: str = KIND
    """Of Kafka, for the events of goals that were reached."""
    max_ahead_seconds: sk.services.MaxAheadSeconds = sk.services.MAX_AHEAD_SECONDS
    """How far ahead of the clock an event's `updatedAt` may be."""


DEFAULTS: Final = Settings()


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Raises BadSettings."""
    try:
        settings = msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"goals: {error}") from None
    try:
        zone_of(settings.timezone)
    except ValueError as error:
        raise sk.services.BadSettings(f"goals: timezone: {error}") from None
    return settings


class Preferences(msgspec.Struct, frozen=True):
    notifications: bool
    language: str


class GoalAnswer(msgspec.Struct, frozen=True, rename="camel"):
    goal_id: str
    month: str
    """As 2026-05."""
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
    families = FAMILIES

    def __init__(self, session: sk.AsyncSession, settings: Settings = DEFAULTS, clock: Clock | None = None) -> None:
        self._session = session
        self._clock = clock or SystemClock()
        self._zone = zone_of(settings.timezone)
        self._views = views.reader(session)
        overlay = pending_over_views(self._now, self._zone)
        self._reader = overlay.reader(session, base=self._view, undecodable="skip")
        self._deposits = Deposits(session, _rules_of(settings), self._clock, self._zone)
        self._demo = Demo(session, self._clock, settings.timezone)
        self._ahead = sk.services.AheadLimit(self._clock, settings.max_ahead_seconds)
        self.feeds: Sequence[sk.feeds.ChangeFeed[Any]] = event_feeds(settings, settings.topic)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    async def _view(self, **fields: Any) -> PersonView | None:
        """What the batch has, in the month that it is now."""
        view = await self._views.get(**fields)
        return None if view is None else in_month(view, month_of(self._now(), self._zone), self._zone)

    async def start(self) -> None:
        await self._session.create_tables(*TABLES)

    def maintenance(self) -> sk.patterns.Remover:
        """Removes the rows of loads that are no longer served."""
        # Without consumed capacity there is nothing to hold a rate by, and nothing to pay.
        rate = REMOVAL_RATE if self._session.capabilities.consumed_capacity else None
        return views.remover(self._session, every=REMOVAL_SECONDS, rate=rate)

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
        choice = Choice(person=person, goal=goal, since=self._now())
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
        """Raises BadRequest, and applies none, if the goal of one of them does not exist, or its time is too far
        ahead."""
        ahead = [
            f"[{index}].{error}" if len(events) > 1 else error
            for index, event in enumerate(events)
            if (error := self._ahead_error(event)) is not None
        ]
        if ahead:
            raise sk.services.BadRequest(ahead[0], ahead)
        known = await self._deposits.known([event.person_id for event in events])
        errors = [
            f"[{index}].{error}" if len(events) > 1 else error
            for index, event in enumerate(events)
            if (error := known.why_unknown(event)) is not None
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
                event = read_message(message.value)
            except sk.services.BadRequest as error:
                rejected[index] = sk.feeds.Rejected(message, str(error))
                continue
            ahead = self._ahead_error(event)
            if ahead is None:
                read[index] = event
            else:
                rejected[index] = sk.feeds.Rejected(message, ahead)
        known = await self._deposits.known([event.person_id for event in read.values()])
        applicable: list[DepositEvent] = []
        for index, event in read.items():
            reason = known.why_unknown(event)
            if reason is None:
                applicable.append(event)
            else:
                rejected[index] = sk.feeds.Rejected(messages[index], reason)
        await self._deposits.apply(applicable, known)
        return [rejected[index] for index in sorted(rejected)]

    def _ahead_error(self, event: DepositEvent) -> str | None:
        ahead = self._ahead.error(event.updated_at)
        return None if ahead is None else f"{ahead}; event {event.event_id!r}"

    async def _require_goal(self, person: str, goal: str) -> GoalView:
        if error_in_id(person) is not None:
            raise _no_person(person)
        try:
            view = await self._deposits.view_of(person)
        except sk.DecodeError as error:
            _logger.warning("the goals of %s cannot be read: %s", person, error)
            raise sk.services.Conflict(unreadable(person), "unreadable") from error
        if view is None:
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
            """One event or a list. If one of a list is invalid, or its goal does not exist, none is applied. Older and
            repeated events, and those that the batch has seen, are stale and change nothing."""
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
        month=goal.month or "",
        target_amount=goal.target_cents / 100,
        saved_amount=goal.saved_cents / 100,
        status=goal.status,
        special_rate=None if goal.rate is None else float(goal.rate),
        chosen=chosen,
    )
