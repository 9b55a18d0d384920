"""What a schedule sends to its target: the `Input`, which Lambda passes as the event, and SQS as the body."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from sortkey.model.errors import DecodeError
from sortkey.patterns.schedules import Occurrence, Schedule


class DueEvent(msgspec.Struct, frozen=True):
    schedule: str
    group: dict[str, Any]
    """The fields of the group."""
    at: datetime


def event_text(schedule: Schedule[Any], occurrence: Occurrence) -> str:
    event = DueEvent(schedule.name, schedule.source.fields(occurrence.group), occurrence.at)
    return msgspec.json.encode(event).decode()


def occurrence_of(schedule: Schedule[Any], event: Any) -> Occurrence:
    """What an event tells. Raises DecodeError for another event, and for one of another schedule."""
    try:
        found = msgspec.convert(event, DueEvent)
        if found.schedule != schedule.name:
            raise DecodeError(
                f"the event is of the schedule {found.schedule!r}, and this function is for {schedule.name!r}"
            )
        group = schedule.source.group(found.group)
    except (msgspec.ValidationError, KeyError) as error:
        raise DecodeError(
            f"an event of the schedule {schedule.name} has schedule, group with {', '.join(schedule.source.by)}, and "
            f"at; this one is {event!r}: {error}"
        ) from None
    if found.at.utcoffset() is None:
        raise DecodeError(f"an event of the schedule {schedule.name} has a time zone; this one has at={found.at!r}")
    # Its fields have the types that the schedule declares.
    schedule.source.fields(group)
    return Occurrence(group, found.at.astimezone(UTC))
