"""Which instants an item asks for, and for which group."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

import sortkey as sk
from sortkey.patterns.schedules import Occurrence
from sortkey.patterns.timer_book import asked_by, given_up_by
from tests.patterns.schedules.reminders import HOUR, NOON, Reminder, inserted, modified, removed

BY_USER = sk.patterns.schedule("by-user", Reminder, at="at", by=("user",), where={"active": True})

LUNCH = Reminder(user="ana", number=1, at=NOON)


class Kind(StrEnum):
    BASE = "BASE"


class Offer(sk.Item, table=sk.Table("schedule-offers", stream="NEW_AND_OLD_IMAGES")):
    id: UUID
    kind: Kind
    day: date
    price: Decimal
    times: tuple[datetime, ...] = ()
    ends: Annotated[datetime | None, sk.epoch] = None

    key = sk.Key("OFFER#{id}")


def test_an_item_asks_for_its_time() -> None:
    assert asked_by(BY_USER, inserted(LUNCH)) == {Occurrence('["ana"]', NOON)}


@pytest.mark.parametrize(
    "item",
    [
        Reminder(user="ana", number=1),
        Reminder(user="ana", number=1, at=NOON, active=False),
    ],
)
def test_an_item_without_a_time_or_that_does_not_match_asks_for_nothing(item: Reminder) -> None:
    assert asked_by(BY_USER, inserted(item)) == frozenset()


# The timer is set already.
def test_a_change_of_something_else_asks_for_nothing() -> None:
    assert asked_by(BY_USER, modified(LUNCH, msgspec.structs.replace(LUNCH, text="soup"))) == frozenset()


def test_a_rescheduled_item_asks_for_its_new_time_and_gives_the_old_one_up() -> None:
    change = modified(LUNCH, msgspec.structs.replace(LUNCH, at=NOON + HOUR))
    assert asked_by(BY_USER, change) == {Occurrence('["ana"]', NOON + HOUR)}
    assert given_up_by(BY_USER, change) == {Occurrence('["ana"]', NOON)}


@pytest.mark.parametrize("change", [removed(LUNCH), modified(LUNCH, msgspec.structs.replace(LUNCH, active=False))])
def test_a_cancelled_item_gives_its_time_up(change: sk.Change[Reminder]) -> None:
    assert asked_by(BY_USER, change) == frozenset()
    assert given_up_by(BY_USER, change) == {Occurrence('["ana"]', NOON)}


def test_an_item_that_matches_later_asks_then() -> None:
    paused = msgspec.structs.replace(LUNCH, active=False)
    assert asked_by(BY_USER, modified(paused, LUNCH)) == {Occurrence('["ana"]', NOON)}


# One instant has one timer, in whatever zone it was written; also a local time that a clock change skips.
@pytest.mark.parametrize(
    ("written", "instant"),
    [
        (datetime(2050, 8, 24, 14, tzinfo=ZoneInfo("Europe/Berlin")), NOON),
        (datetime(2026, 3, 29, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        (datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        (
            datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
            datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
        ),
    ],
)
def test_times_are_instants(written: datetime, instant: datetime) -> None:
    (found,) = BY_USER.source.occurrences(Reminder(user="ana", number=1, at=written))
    assert (found.at, found.at.tzinfo) == (instant, UTC)


def test_a_time_without_a_zone_is_an_error() -> None:
    with pytest.raises(ValueError, match="Reminder: the time of a schedule is a datetime with a time zone, not"):
        BY_USER.source.occurrences(Reminder(user="ana", number=1, at=datetime(2026, 8, 24)))  # noqa: DTZ001


def test_a_function_may_give_several_times() -> None:
    schedule = sk.patterns.schedule("offers", Offer, at=lambda offer: offer.times)
    offer = Offer(id=UUID(int=1), kind=Kind.BASE, day=date(2026, 8, 24), price=Decimal("1.50"), times=(NOON, NOON))
    later = msgspec.structs.replace(offer, times=(NOON, NOON + HOUR))
    before, after = schedule.source.occurrences(offer), schedule.source.occurrences(later)
    assert [each.at for each in before] == [NOON]
    assert [each.at for each in after - before] == [NOON + HOUR]


def test_the_fields_of_a_group_keep_their_types() -> None:
    schedule = sk.patterns.schedule("offers", Offer, at="ends", by=("id", "kind", "day", "price"))
    offer = Offer(id=UUID(int=7), kind=Kind.BASE, day=date(2026, 8, 24), price=Decimal("1.50"), ends=NOON)
    (found,) = schedule.source.occurrences(offer)
    fields = schedule.source.fields(found.group)
    assert fields == {"id": UUID(int=7), "kind": Kind.BASE, "day": date(2026, 8, 24), "price": Decimal("1.50")}
    assert schedule.source.group(fields) == found.group
