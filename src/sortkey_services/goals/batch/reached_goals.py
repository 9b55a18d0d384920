"""Notes the goals that a batch finds completed, each once in its month: `ReachedGoal`, whose stream is the event.

Looked at are all completed goals of the batch's month and of the month before, not only those that are new in this
batch. So what a killed batch has not noted, the next one notes; and so does the first batch of a month for the
contributions of the last day of the month before, which no batch of that month has seen.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from itertools import chain, islice
from typing import Final

import sortkey as sk
from sortkey_services.goals.batch.batch_run import BatchRun, instant_of, micros_of
from sortkey_services.goals.batch.engine import Engine, Row
from sortkey_services.goals.model import ReachedGoal
from sortkey_services.goals.months import bounds_of, month_before, zone_of

_PART: Final = 2_000
"""Goals that are looked up at a time, and made in a thread beside the event loop."""
_MONTHS: Final = {"month": "STRING", "first_micros": "BIGINT", "end_micros": "BIGINT"}
_REACHED: Final = """
SELECT * FROM (
    SELECT goals.person_id, goals.goal_id, goals.month, goals.target_cents,
           CAST(coalesce(sum(amount_cents), 0) AS BIGINT) AS saved_cents, max(effective_micros) AS latest_micros
    FROM gold_goals AS goals
    JOIN reached_months AS months ON goals.month = months.month
    JOIN gold_customers AS customers ON customers.person_id = goals.person_id
    LEFT JOIN (SELECT contributions.* FROM contributions CROSS JOIN batch_run
               WHERE status = 'CONFIRMED' AND effective_micros <= as_of_micros) AS confirmed
        ON confirmed.person_id = goals.person_id AND confirmed.goal_id = goals.goal_id
       AND confirmed.effective_micros >= months.first_micros AND confirmed.effective_micros < months.end_micros
    GROUP BY goals.person_id, goals.goal_id, goals.month, goals.target_cents
    HAVING coalesce(sum(amount_cents), 0) >= goals.target_cents
       AND count(contribution_id) = count(DISTINCT contribution_id)
) AS reached
"""
"""A contribution that is there twice is checked in the batch's month alone; in the other, its goal is left out."""


async def note_reached(session: sk.AsyncSession, engine: Engine, run: BatchRun, now: datetime) -> int:
    """How many were noted: those that were not before."""
    zone = zone_of(run.timezone)
    months = [(month, *map(micros_of, bounds_of(month, zone))) for month in (run.month, month_before(run.month))]
    await asyncio.to_thread(engine.table, "reached_months", _MONTHS, months)
    rows = chain.from_iterable(engine.rows(_REACHED, ("person_id", "month", "goal_id")))
    noted = 0
    while goals := await asyncio.to_thread(lambda: [_reached_goal(row, run, now) for row in islice(rows, _PART)]):
        keys = [{"person": goal.person, "goal": goal.goal, "month": goal.month} for goal in goals]
        known = await session.lookup(ReachedGoal.key, keys)
        new = [goal for goal, found in zip(goals, known, strict=True) if found is None]
        # Another batch may note them at the same time.
        noted += len(new) - len(await session.put_many(new, if_absent=True))
    return noted


def _reached_goal(row: Row, run: BatchRun, now: datetime) -> ReachedGoal:
    person, goal, month, target_cents, saved_cents, latest_micros = row
    return ReachedGoal(
        person=person,
        goal=goal,
        month=month,
        target_cents=target_cents,
        saved_cents=saved_cents,
        latest=None if latest_micros is None else instant_of(latest_micros),
        as_of=run.as_of,
        at=now,
    )
