"""A campaign event as it comes in, over HTTP or from a feed, and what makes one acceptable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

import sortkey as sk
from sortkey.services.boosts.schedule import Day, Slot

EVERYWHERE: Final = "*"
"""The area that stands for all of a market."""
ACTIVE: Final = "ACTIVE"
ENDED: Final = "ENDED"

LONGEST_ID: Final = 64
LONGEST_AREA: Final = 32
"""In UTF-8. Ids are parts of keys and of attribute names, and a row has a limited number of bytes."""
MOST_AREAS: Final = 400
MOST_EVENTS: Final = 10_000
HIGHEST_SCORE: Final = 1_000_000


class CampaignEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    event_id: str
    campaign_id: str
    partner_id: str
    areas: Annotated[tuple[str, ...], Meta(min_length=1, max_length=MOST_AREAS)]
    score: Annotated[float, Meta(gt=0, le=HIGHEST_SCORE)]
    days_of_week: Annotated[frozenset[Day], Meta(min_length=1)]
    time_slots: Annotated[frozenset[Slot], Meta(min_length=1)]
    status: Literal["ACTIVE", "ENDED"]
    updated_at: Annotated[datetime, Meta(tz=True)]
    tenant: str | None = None
    """In a feed; over HTTP the path says it."""

    @property
    def version(self) -> str:
        """Orders the events of a campaign, the same for whoever compares: by instant, and by id where that is equal."""
        instant = self.updated_at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
        return f"{instant}Z#{self.event_id}"

    @property
    def running(self) -> tuple[str, ...]:
        """Where the campaign runs from now on."""
        return self.areas if self.status == ACTIVE else ()


Events = Annotated[tuple[CampaignEvent, ...], Meta(min_length=1, max_length=MOST_EVENTS)]

_message: Final = msgspec.json.Decoder(CampaignEvent)


def read_message(value: bytes | None) -> CampaignEvent:
    """The event of a feed's message. Raises BadRequest."""
    if value is None:
        raise sk.BadRequest("the message is empty")
    try:
        event = _message.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise sk.BadRequest(f"this is no campaign event: {error}") from None
    if event.tenant is None:
        raise sk.BadRequest("this is no campaign event: the field `tenant` is missing")
    _reject(list(errors_in_event(event)))
    return event


def checked(given: CampaignEvent | Sequence[CampaignEvent], tenant: str) -> Sequence[CampaignEvent]:
    """The events of a request for one tenant. All of them are good, or it raises BadRequest."""
    if isinstance(given, CampaignEvent):
        _reject([*errors_in_event(given), *_strays(given, tenant)])
        return (given,)
    _reject(
        [
            f"[{index}].{error}"
            for index, event in enumerate(given)
            for error in (*errors_in_event(event), *_strays(event, tenant))
        ]
    )
    return given


def _reject(errors: Sequence[str]) -> None:
    if errors:
        raise sk.BadRequest(f"this is no campaign event: {errors[0]}", errors)


def _strays(event: CampaignEvent, tenant: str) -> Iterator[str]:
    if event.tenant is not None and event.tenant != tenant:
        yield f"tenant: {event.tenant!r} is not the {tenant!r} of the path"


def errors_in_event(event: CampaignEvent) -> Iterator[str]:
    """What is wrong beyond the types, each with its field."""
    for name, value in (
        ("eventId", event.event_id),
        ("campaignId", event.campaign_id),
        ("partnerId", event.partner_id),
    ):
        yield from errors_in_name(name, value, LONGEST_ID)
    if EVERYWHERE in event.areas and len(set(event.areas)) > 1:
        yield "areas: `*` is every area; it stands alone or not at all"
    for index, area in enumerate(event.areas):
        yield from errors_in_area(f"areas[{index}]", area)
    try:
        event.updated_at.astimezone(UTC)
    except OverflowError:
        yield "updatedAt: this is before or after all time"


def errors_in_area(field: str, area: str) -> Iterator[str]:
    yield from errors_in_name(field, area, LONGEST_AREA)
    if "#" in area:
        yield f"{field}: an area has no `#`"


def errors_in_name(field: str, value: str, longest: int) -> Iterator[str]:
    """Of an id or another name that becomes part of a key."""
    if not value:
        yield f"{field}: it is empty"
    elif not value.isprintable():
        yield f"{field}: it holds a character that cannot be printed"
    elif len(value.encode()) > longest:
        yield f"{field}: it is longer than {longest} bytes"
