"""The turn of a month: it begins on time, without a batch, in the zone of the rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest

import sortkey as sk
from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.model import PENDING, PersonView
from sortkey_services.goals.months import bounds_of, month_after, month_before, month_of
from sortkey_services.goals.service import Settings
from tests.sortkey_services.goals.conftest import Service
from tests.sortkey_services.goals.persons import HOUR, SAVINGS, person

NOVEMBER = datetime(2100, 11, 1, tzinfo=UTC)
EVENING = NOVEMBER - 12 * HOUR
COMPLETED = ("2100-10", 50_000, "COMPLETED")
BEGUN = ("2100-11", 0, "NOT_STARTED")


def october(saved: int = 50_000, as_of: datetime = EVENING) -> PersonView:
    return person(saved=saved, as_of=as_of)


def paid(balance: str, at: datetime, *, event: str = "e1", month: str | None = None) -> DepositEvent:
    return DepositEvent(
        event_id=event,
        person_id="ana",
        goal_id=SAVINGS,
        current_balance=balance,
        status=PENDING,
        updated_at=at,
        month=month,
    )


def savings(service: Service) -> tuple[str | None, int, str]:
    goal = service.wait(service.goals.read("ana")).view.goals[0]
    assert goal.target_cents == 50_000
    return goal.month, goal.saved_cents, goal.status


@pytest.fixture
def november(service: Service) -> Service:
    """A minute before it begins, with all of October's goal saved."""
    service.load(october(), as_of=EVENING)
    service.clock.advance((NOVEMBER - timedelta(minutes=1)).timestamp() - service.clock.now())
    assert savings(service) == COMPLETED
    return service


def begin(service: Service) -> None:
    service.clock.advance(60)


def test_a_month_begins_without_a_batch(november: Service) -> None:
    begin(november)
    assert savings(november) == BEGUN
    assert [goal.month for goal in november.wait(november.goals.read("ana")).view.goals] == ["2100-11"] * 2


# "20.00 of 500, PENDING" was shown of October's goal, which was completed.
def test_a_deposit_of_the_new_month_is_shown_in_it(november: Service) -> None:
    assert november.apply(paid("20", NOVEMBER + timedelta(seconds=1))) == (1, 0)
    assert savings(november) == COMPLETED, "November has not begun"
    begin(november)
    assert savings(november) == ("2100-11", 2_000, PENDING)
    november.load(october(2_000, NOVEMBER + HOUR), as_of=NOVEMBER + HOUR)
    assert savings(november) == ("2100-11", 2_000, "IN_PROGRESS")


def test_a_pending_balance_ends_with_its_month(november: Service) -> None:
    assert november.apply(paid("510", EVENING + HOUR)) == (1, 0)
    assert savings(november) == ("2100-10", 51_000, PENDING)
    begin(november)
    assert savings(november) == BEGUN


def test_a_deposit_for_another_month_than_that_of_its_time(november: Service) -> None:
    assert november.apply(paid("30", EVENING + HOUR, month="2100-11")) == (1, 0)
    assert savings(november) == COMPLETED
    begin(november)
    assert savings(november) == ("2100-11", 3_000, PENDING)
    late = paid("510", NOVEMBER + HOUR, event="e2", month="2100-10")
    assert november.apply(late) == (1, 0), "the newest of its month"
    assert savings(november) == ("2100-11", 3_000, PENDING)


# It runs on the first of the month, and gold ends on the last of the month before.
def test_a_batch_of_the_old_month_does_not_bring_it_back(november: Service) -> None:
    begin(november)
    november.load(october(as_of=NOVEMBER - HOUR), as_of=NOVEMBER - HOUR)
    assert savings(november) == BEGUN


# Somebody has loaded old data, and wants to see it.
def test_a_load_that_is_further_behind_shows_its_own_month(november: Service) -> None:
    november.clock.advance(timedelta(days=40).total_seconds())
    assert savings(november) == COMPLETED
    now = datetime.fromtimestamp(november.clock.now(), UTC)
    assert november.apply(paid("40", now)) == (1, 0)
    assert savings(november) == ("2100-12", 4_000, PENDING)


def test_a_view_of_an_earlier_version_is_of_the_month_of_its_as_of(november: Service) -> None:
    view = october(as_of=EVENING + HOUR)
    goals = [msgspec.structs.replace(goal, month=None) for goal in view.goals]
    november.load(sk.replace(view, goals=goals), as_of=EVENING + HOUR)
    assert savings(november) == COMPLETED
    begin(november)
    assert savings(november) == BEGUN


def test_a_goal_that_needs_nothing_is_completed_at_once(november: Service) -> None:
    view = october(as_of=EVENING + HOUR)
    goals = [msgspec.structs.replace(view.goals[1], target_cents=0, status="COMPLETED")]
    november.load(sk.replace(view, goals=goals), as_of=EVENING + HOUR)
    begin(november)
    assert november.saved() == [(0, "COMPLETED")]


# São Paulo's November begins three hours after that of UTC.
def test_a_month_begins_in_the_zone_of_the_settings(november: Service) -> None:
    november.restart(Settings(timezone="America/Sao_Paulo"))
    begin(november)
    november.clock.advance(3600)
    assert savings(november) == COMPLETED
    november.apply(paid("510", NOVEMBER + HOUR))
    assert savings(november) == ("2100-10", 51_000, PENDING)
    november.clock.advance(2 * 3600)
    assert savings(november) == BEGUN


def test_months_follow_each_other() -> None:
    assert (month_after("2026-12"), month_before("2026-01"), month_after("2026-01")) == (
        "2027-01",
        "2025-12",
        "2026-02",
    )
    lisbon = ZoneInfo("Europe/Lisbon")
    first, end = bounds_of("2026-10", lisbon)
    assert (first, end) == (datetime(2026, 9, 30, 23, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))
    assert (month_of(first, lisbon), month_of(first - timedelta(microseconds=1), lisbon)) == ("2026-10", "2026-09")
    assert month_of(datetime(1, 1, 1, tzinfo=UTC), ZoneInfo("America/New_York")) == "0001-01"
