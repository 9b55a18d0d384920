"""Events out: one for each goal that was reached, and for each month, to Kafka or AWS.

    goals-reached    {"eventId", "personId", "goalId", "month", "status": "COMPLETED", "targetAmount", "savedAmount",
                      "reachedAt", "asOf"}

A batch that finds a goal completed writes a `ReachedGoal`, unless there is one; the event follows from the table's
stream. So there is one event for a goal and month, whatever batches come, are killed, or run twice. It may be sent
again, with the same `eventId`. A pending balance is no reason for an event: it may be rejected, and an event cannot be
taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal
from urllib.parse import quote

import msgspec

import sortkey as sk
from sortkey_services.goals.model import ReachedGoal

KIND: Final = "goals-reached"


class ReachedEvent(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    event_id: str
    person_id: str
    goal_id: str
    month: str
    status: Literal["COMPLETED"] = "COMPLETED"
    target_amount: float
    saved_amount: float
    reached_at: datetime | None
    """The newest contribution when the goal was found completed; None for a goal that needs none."""
    as_of: datetime


def event_feeds(settings: sk.services.EventSettings, topic: str) -> list[sk.feeds.ChangeFeed[ReachedGoal]]:
    """None without a target. Raises BadSettings."""
    settings.require_known_kinds("goals", (KIND,))

    def events(changes: Sequence[sk.Change[ReachedGoal]]) -> list[sk.feeds.OutgoingEvent]:
        reached = (change.new for change in changes if change.old is None and change.new is not None)
        return [
            sk.feeds.OutgoingEvent(event.event_id, event.person_id, msgspec.json.encode(event))
            for event in map(reached_event, reached)
        ]

    return settings.feeds("goals", "goals-reached-events", ReachedGoal, events, kind=KIND, topic=topic)


def reached_event(row: ReachedGoal) -> ReachedEvent:
    return ReachedEvent(
        event_id=f"{row.month}:{quote(row.goal, safe='')}:{row.person}",
        person_id=row.person,
        goal_id=row.goal,
        month=row.month,
        target_amount=row.target_cents / 100,
        saved_amount=row.saved_cents / 100,
        reached_at=row.latest,
        as_of=row.as_of,
    )
