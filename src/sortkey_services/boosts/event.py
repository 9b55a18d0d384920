"""A campaign event, as HTTP and feeds deliver it, and its validation; the days and slots in which a campaign runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Annotated, Final, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

import sortkey as sk
from sortkey_services.slices import in_slices

Day = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
Slot = Literal["breakfast", "lunch", "dinner", "late-night", "all-day"]

DAYS: Final[tuple[Day, ...]] = get_args(Day)
SLOTS: Final[tuple[Slot, ...]] = get_args(Slot)
EVERYWHERE: Final = "*"
"""The area that means the whole market."""
ACTIVE: Final = "ACTIVE"
ENDED: Final = "ENDED"

MAX_ID_BYTES: Final = 64
MAX_AREA_BYTES: Final = 32
"""In UTF-8. Ids are parts of keys and attribute names, and the size of a row is limited."""
MAX_AREAS: Final = 400
MAX_EVENTS: Final = 10_000
EVENTS_AT_ONCE: Final = 10
"""That are checked, with up to 400 areas each, before others have their turn."""
MIN_SCORE: Final = 1e-130
MAX_SCORE: Final = 1_000_000
"""DynamoDB stores no positive number below the first."""


class DaySlot(NamedTuple):
    """A slot on a day of the week."""

    day: Day
    slot: Slot


_BITS: Final = {DaySlot(day, slot): 1 << bit for bit, (day, slot) in enumerate(product(DAYS, SLOTS))}


def day_slot_bits(day_slots: Iterable[tuple[Day, Slot]]) -> int:
    """One bit for each day slot: two sets of day slots overlap if their numbers have a bit in common."""
    return sum(_BITS[DaySlot(day, slot)] for day, slot in day_slots)


class CampaignEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    event_id: str
    campaign_id: str
    partner_id: str
    areas: Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_AREAS)]
    score: Annotated[float, Meta(ge=MIN_SCORE, le=MAX_SCORE)]
    days_of_week: Annotated[frozenset[Day], Meta(min_length=1)]
    time_slots: Annotated[frozenset[Slot], Meta(min_length=1)]
    status: Literal["ACTIVE", "ENDED"]
    updated_at: Annotated[datetime, Meta(tz=True)]
    tenant: str | None = None
    """Set in a feed; over HTTP the tenant is in the path."""

    @property
    def version(self) -> str:
        """Orders the events of a campaign: by instant, then by event id."""
        instant = self.updated_at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
        return f"{instant}Z#{self.event_id}"

    @property
    def running(self) -> tuple[str, ...]:
        """The areas where the campaign runs after this event."""
        return self.areas if self.status == ACTIVE else ()


Events = Annotated[tuple[CampaignEvent, ...], Meta(min_length=1, max_length=MAX_EVENTS)]

_message: Final = msgspec.json.Decoder(CampaignEvent)


def read_message(value: bytes | None) -> CampaignEvent:
    """Decodes and checks a feed's message. Raises BadRequest."""
    if value is None:
        raise sk.services.BadRequest("the message is empty")
    try:
        event = _message.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise sk.services.BadRequest(f"not a campaign event: {error}") from None
    if event.tenant is None:
        raise sk.services.BadRequest("not a campaign event: the field `tenant` is missing")
    _reject(list(errors_in_event(event)))
    return event


async def check_events(given: CampaignEvent | Sequence[CampaignEvent], tenant: str) -> Sequence[CampaignEvent]:
    """The events of a request for one tenant. Raises BadRequest if one of them is invalid."""
    if isinstance(given, CampaignEvent):
        _reject([*errors_in_event(given), *_wrong_tenant(given, tenant)])
        return (given,)
    errors: list[str] = []
    async for some in in_slices(enumerate(given), EVENTS_AT_ONCE):
        errors += [
            f"[{index}].{error}"
            for index, event in some
            for error in (*errors_in_event(event), *_wrong_tenant(event, tenant))
        ]
    _reject(errors)
    return given


def _reject(errors: Sequence[str]) -> None:
    if errors:
        raise sk.services.BadRequest(f"not a campaign event: {errors[0]}", errors)


def _wrong_tenant(event: CampaignEvent, tenant: str) -> Iterator[str]:
    if event.tenant is not None and event.tenant != tenant:
        yield f"tenant: {event.tenant!r} differs from {tenant!r} in the path"


def errors_in_event(event: CampaignEvent) -> Iterator[str]:
    """Errors that the types do not catch, each with its field."""
    for name, value in (
        ("eventId", event.event_id),
        ("campaignId", event.campaign_id),
        ("partnerId", event.partner_id),
    ):
        yield from errors_in_name(name, value, MAX_ID_BYTES)
    if EVERYWHERE in event.areas and len(set(event.areas)) > 1:
        yield "areas: `*` means every area, so it must be the only one"
    for index, area in enumerate(event.areas):
        yield from errors_in_area(f"areas[{index}]", area)
    try:
        event.updated_at.astimezone(UTC)
    except OverflowError:
        yield "updatedAt: out of range"


def errors_in_area(field: str, area: str) -> Iterator[str]:
    yield from errors_in_name(field, area, MAX_AREA_BYTES)
    if "#" in area:
        yield f"{field}: an area must not contain `#`"


def errors_in_name(field: str, value: str, longest: int) -> Iterator[str]:
    """Checks an id or another name that becomes part of a key."""
    if not value:
        yield f"{field}: empty"
    elif not value.isprintable():
        yield f"{field}: contains an unprintable character"
    elif len(value.encode()) > longest:
        yield f"{field}: longer than {longest} bytes"
