"""Goals as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sortkey as sk
from sortkey_services.goals.batch.command import GoalsBatch
from sortkey_services.goals.model import TABLES
from sortkey_services.goals.service import GoalsService, read_settings


def _tables(_: Mapping[str, Any]) -> Sequence[sk.Table]:
    return TABLES


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> GoalsService:
    return GoalsService(session, read_settings(settings))


GOALS: Final = sk.services.ServiceDefinition(
    name="goals",
    summary="what a person has saved: a nightly batch, and the deposits since",
    tables=_tables,
    make=_make,
    takes_messages=True,
    batch=GoalsBatch(),
)
