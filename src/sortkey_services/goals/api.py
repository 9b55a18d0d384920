"""The HTTP API: the routes, and the types of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from litestar import delete, get, post, put
from litestar.params import FromPath, JSONBody
from litestar.types import ControllerRouterHandler

from sortkey_services.goals.event import DepositEvent, Events, check_events
from sortkey_services.goals.model import GoalStatus, GoalView
from sortkey_services.goals.service import Goals, Shown


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


class GoalsService(Goals):
    """The service with its routes."""

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        return [*_person_and_events(self), *_choices(self)]


def _person_and_events(service: Goals) -> list[ControllerRouterHandler]:
    @get("/goals/{person_id:str}", opt={"fast": True}, summary="What a person has saved, and for what")
    async def show(person_id: FromPath[str]) -> PersonAnswer:
        """As the last batch has computed it, with the balances of deposits that it has not seen yet: those are
        PENDING_CONFIRMATION."""
        return _shown(await service.read(person_id))

    @post("/goals/events", status_code=202, opt={"fast": True}, summary="Deposits, or their rejections")
    async def events(data: JSONBody[DepositEvent | Events]) -> EventsAnswer:
        """One event or a list. If one of a list is invalid, or its person or goal does not exist, none is applied.
        Older and repeated events, and those that the batch has seen, are stale and change nothing."""
        applied = await service.apply(check_events(data))
        return EventsAnswer(applied.applied, applied.stale)

    return [show, events]


def _choices(service: Goals) -> list[ControllerRouterHandler]:
    @put("/goals/{person_id:str}/choices/{goal_id:str}", opt={"fast": True}, summary="Choose a goal")
    async def choose(person_id: FromPath[str], goal_id: FromPath[str]) -> ChoiceAnswer:
        """A goal that is chosen already stays as it is."""
        return ChoiceAnswer(person_id, goal_id, True, await service.choose(person_id, goal_id))

    @delete(
        "/goals/{person_id:str}/choices/{goal_id:str}",
        status_code=200,
        opt={"fast": True},
        summary="No longer choose a goal",
    )
    async def take_back(person_id: FromPath[str], goal_id: FromPath[str]) -> ChoiceAnswer:
        """Also if it is not chosen."""
        await service.take_back(person_id, goal_id)
        return ChoiceAnswer(person_id, goal_id, False)

    return [choose, take_back]


def _shown(shown: Shown) -> PersonAnswer:
    view = shown.view
    return PersonAnswer(
        person_id=view.person,
        name=view.name,
        preferences=Preferences(view.notifications, view.language),
        goals=[_goal(goal, goal.goal in shown.chosen) for goal in view.goals],
        last_updated=view.updated,
        as_of=view.as_of,
    )


def _goal(goal: GoalView, chosen: bool) -> GoalAnswer:
    return GoalAnswer(
        goal_id=goal.goal,
        target_amount=goal.target_cents / 100,
        saved_amount=goal.saved_cents / 100,
        status=goal.status,
        special_rate=None if goal.rate is None else float(goal.rate),
        chosen=chosen,
    )
