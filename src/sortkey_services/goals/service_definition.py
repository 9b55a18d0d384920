"""Goals as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

import sortkey as sk
from sortkey_services.goals.batch.command import GoalsBatch
from sortkey_services.goals.model import PENDING, TABLES
from sortkey_services.goals.service import GoalsService, read_settings


def _tables(_: Mapping[str, Any]) -> Sequence[sk.Table]:
    return TABLES


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> GoalsService:
    return GoalsService(session, read_settings(settings))


_PERSONS: Final = 500
"""Of the demonstration."""


def _person(draw: Random) -> str:
    return f"p{draw.randrange(_PERSONS):07}"


def _show(draw: Random) -> str:
    return f"GET /goals/{_person(draw)}"


def _deposit(draw: Random) -> tuple[str, object]:
    event = {
        "eventId": f"usual-{draw.getrandbits(64):016x}",
        "personId": _person(draw),
        "goalId": "SAVINGS_ACCOUNT",
        "currentBalance": draw.randrange(100, 90_000),
        "status": PENDING,
        "updatedAt": datetime.now(UTC).isoformat(),
    }
    return "POST /goals/events", event


GOALS: Final = sk.services.ServiceDefinition(
    name="goals",
    summary="what a person has saved: a nightly batch, and the deposits since",
    tables=_tables,
    make=_make,
    takes_messages=True,
    has_feeds=True,
    batch=GoalsBatch(),
    usual_requests=[
        sk.services.UsualRequest("show a person's goals", 90, _show),
        sk.services.UsualRequest("apply a deposit", 10, _deposit),
    ],
)
