"""Persons, made of the rows that the SQL gives: one row for each goal, those of a person one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final

from sortkey_services.goals.batch.batch_run import BatchRun, instant_of
from sortkey_services.goals.batch.engine import Row
from sortkey_services.goals.model import GoalView, PersonView

BY: Final = ("person_id", "goal_id")
_rate = cache(Decimal)
"""There are as many rates as rules."""


def person_views(rows: Iterable[Row], run: BatchRun, updated: datetime) -> Iterator[PersonView]:
    for person, several in groupby(rows, itemgetter(0)):
        of_person = list(several)
        _, name, tier, language, notifications, goal, *_ = of_person[0]
        yield PersonView(
            person=person,
            name=name,
            tier=tier,
            language=language,
            notifications=notifications,
            goals=[] if goal is None else [_goal(row) for row in of_person],
            updated=updated,
            as_of=run.as_of,
        )


def _goal(row: Row) -> GoalView:
    goal, target_cents, saved_cents, status, rate, latest_micros = row[5:]
    return GoalView(
        goal=goal,
        target_cents=target_cents,
        saved_cents=saved_cents,
        status=status,
        rate=_rate(rate),
        latest=None if latest_micros is None else instant_of(latest_micros),
    )
