"""What the events of a goal say together, whatever their order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from zoneinfo import ZoneInfo

import msgspec

from sortkey_services.goals.ledger import MAX_EVENTS, Balance, added, balance
from sortkey_services.goals.model import PENDING, REJECTED, KnownEvent

NOON = datetime(2100, 5, 15, 12, tzinfo=UTC)
ZONE = ZoneInfo("UTC")
NOTHING = Balance(False, 320)


def paid(cents: int, hour: int, contribution: str | None = None) -> KnownEvent:
    at = NOON + timedelta(hours=hour)
    return KnownEvent(
        event=f"paid at {hour}", status=PENDING, updated=at, balance_cents=cents, contribution=contribution
    )


def rejected(hour: int, contribution: str | None = None, cents: int | None = None) -> KnownEvent:
    at = NOON + timedelta(hours=hour)
    return KnownEvent(
        event=f"rejected at {hour}", status=REJECTED, updated=at, balance_cents=cents, contribution=contribution
    )


def said(*events: KnownEvent) -> Balance:
    """Of events in the order of their times, over 320."""
    return balance(events, 320)


def came(*events: KnownEvent) -> list[KnownEvent]:
    """What is known after events that came in this order."""
    known: list[KnownEvent] = []
    for event in events:
        known = added(known, event, NOON, None, ZONE).events
    return known


def test_the_newest_balance_is_shown() -> None:
    assert said(paid(370, 1), paid(400, 2)) == (True, 400)
    assert said() == NOTHING


# The example of the seed's reader: 320 was shown.
def test_a_rejection_leaves_the_deposit_beside_it() -> None:
    assert said(paid(370, 1), paid(400, 2), rejected(3, cents=370)) == (True, 370)
    assert said(paid(370, 1), paid(400, 2), rejected(3)) == (True, 370)
    assert said(paid(370, 1, "c1"), paid(400, 2, "c2"), rejected(3, "c2")) == (True, 370)


def test_a_rejection_takes_the_deposit_of_its_contribution() -> None:
    events = paid(370, 1, "c1"), paid(400, 2, "c2"), rejected(3, "c1")
    assert said(*events) == (True, 350), "320 and the 30 of c2"
    assert said(*events, rejected(4, "c1")) == (True, 350), "a second rejection takes nothing more"
    assert said(*events, rejected(4, "c2")).is_pending is False


def test_the_balance_of_a_rejection_counts_while_another_deposit_is_pending() -> None:
    assert said(paid(370, 1, "c1"), paid(400, 2, "c2"), rejected(3, "c1", 355)) == (True, 355)
    assert said(paid(370, 1), rejected(2, cents=370)).is_pending is False, "some systems repeat the deposit's balance"


def test_a_deposit_after_a_rejection_states_the_balance() -> None:
    assert said(paid(370, 1), rejected(2), paid(340, 3)) == (True, 340)


# Clocks of two systems differ.
def test_a_rejection_may_have_an_earlier_time_than_its_deposit() -> None:
    assert said(rejected(1, "c1"), paid(370, 2, "c1")) == NOTHING
    assert said(rejected(1, "c1"), paid(370, 2, "c1"), paid(350, 3, "c2")) == (True, 350)


# A system that names contributions may reject what one that does not has announced.
def test_a_rejection_of_an_unknown_contribution_takes_the_newest_without_one() -> None:
    assert said(paid(370, 1), paid(400, 2, "c2"), rejected(3, "c9")) == (True, 350)
    assert said(paid(400, 2, "c2"), rejected(3, "c9")) == (True, 400)


def test_what_the_batch_has_seen_counts_no_more() -> None:
    events = [paid(370, 1, "c1"), paid(400, 2, "c2"), rejected(3, "c2")]
    assert balance(events, 370, NOON + timedelta(hours=1)) == (False, 370)
    assert balance(events[:2], 370, NOON + timedelta(hours=1)) == (True, 400)


def test_with_contributions_any_order_of_arrival_says_the_same() -> None:
    events = [paid(370, 1, "c1"), paid(400, 2, "c2"), rejected(3, "c1"), paid(450, 4, "c3"), rejected(5, "c3")]
    for order in permutations(events):
        assert balance(came(*order, *order), 320) == (True, 350)


# It may be the one that was rejected.
def test_a_late_deposit_under_a_rejection_without_contribution_is_stale() -> None:
    known = came(paid(370, 2), rejected(3))
    assert added(known, paid(330, 1), NOON, None, ZONE) == (known, False)
    assert added(known, paid(330, 1, "c1"), NOON, None, ZONE) == (known, False)
    named = came(paid(370, 2, "c2"), rejected(3, "c2"))
    assert added(named, paid(330, 1, "c1"), NOON, None, ZONE).is_applied


def test_an_older_deposit_is_stale_and_shows_if_the_newer_one_is_rejected() -> None:
    known, is_applied = added([paid(400, 2)], paid(370, 1), NOON, None, ZONE)
    assert not is_applied
    assert said(*known, rejected(3)) == (True, 370)


def test_months_do_not_touch_each_other() -> None:
    november = msgspec.structs.replace(paid(20, 1), month="2100-06")
    assert added([rejected(2)], november, NOON, None, ZONE).is_applied


def test_expired_events_are_forgotten_and_the_oldest_beyond_the_limit() -> None:
    expired = msgspec.structs.replace(paid(370, 1), until=NOON - timedelta(hours=1))
    assert added([expired], paid(400, 2), NOON, None, ZONE).events == [paid(400, 2)]
    many = [paid(320 + hour, hour) for hour in range(1, MAX_EVENTS + 3)]
    assert came(*many) == many[2:]
    assert added(many[2:], many[0], NOON, None, ZONE) == (many[2:], False)


# As texts, 14:00+02:00 would be after 13:00Z.
def test_events_are_ordered_by_instant_then_rejection_then_id() -> None:
    def event(at: str, name: str, of: KnownEvent = paid(1, 1)) -> KnownEvent:  # noqa: B008  it is not changed
        return msgspec.structs.replace(of, updated=datetime.fromisoformat(at), event=name)

    ordered = [
        event("2026-05-15T14:00:00+02:00", "z"),
        event("2026-05-15T13:00:00Z", "a"),
        event("2026-05-15T13:00:00Z", "b"),
        event("2026-05-15T13:00:00Z", "a", rejected(1)),
        event("2026-05-15T13:00:00.000001Z", "a"),
    ]
    assert [each.order for each in ordered] == sorted(each.order for each in ordered)
