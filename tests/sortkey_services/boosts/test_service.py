"""The service, in every design and on every store."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta

import pytest

import sortkey as sk
from sortkey.services.interface import BadRequest, NotFound
from tests.sortkey_services.boosts.campaigns import MONDAY_LUNCH, NOW, START, as_json, event
from tests.sortkey_services.boosts.conftest import Service


def test_only_the_boosted_are_answered_in_the_order_asked_each_once(service: Service) -> None:
    service.apply(event(partner="p1", score=1.25), event(partner="p3", campaign="c3"))
    assert service.winners("p3", "p2", "p1", "p3") == [("p3", "c3", "*"), ("p1", "c1", "*")]
    assert service.lookup("p1")[0].score == 1.25


def test_more_partners_than_one_batch_takes(service: Service) -> None:
    numbers = [f"p{number}" for number in range(250)]
    service.apply(*(event(partner=partner) for partner in numbers[::50]))
    assert [winner[0] for winner in service.winners(*numbers)] == numbers[::50]


def test_a_campaign_runs_on_its_days_and_in_its_slots(service: Service) -> None:
    service.apply(event(days_of_week=frozenset({"Monday"}), time_slots=frozenset({"lunch"})))
    assert service.winners("p1", at=MONDAY_LUNCH)
    assert not service.winners("p1", at=MONDAY_LUNCH + timedelta(hours=3))
    assert not service.winners("p1", at=MONDAY_LUNCH + timedelta(days=1))


def test_a_slot_over_midnight_is_the_evening_s(service: Service) -> None:
    service.apply(event(days_of_week=frozenset({"Friday"}), time_slots=frozenset({"late-night"})))
    assert service.winners("p1", at=datetime.fromisoformat("2026-08-29T01:59:00+02:00"))
    assert not service.winners("p1", at=datetime.fromisoformat("2026-08-28T01:59:00+02:00"))


# One row for both: neither hides the other, and what runs now and is best wins.
def test_campaigns_of_a_partner_share_its_row(service: Service) -> None:
    service.apply(
        event(campaign="lunch", score=3, time_slots=frozenset({"lunch"})),
        event(campaign="always", score=2),
        event(campaign="cheap", score=1),
    )
    assert service.winners("p1") == [("p1", "lunch", "*")]
    assert service.winners("p1", at=MONDAY_LUNCH + timedelta(hours=3)) == [("p1", "always", "*")]
    service.apply(event(2, campaign="always", status="ENDED"))
    assert service.winners("p1", at=MONDAY_LUNCH + timedelta(hours=3)) == [("p1", "cheap", "*")]


def test_equal_scores_are_decided_by_the_campaign_s_id(service: Service) -> None:
    service.apply(event(campaign="b"), event(campaign="a"), event(campaign="c"))
    assert service.winners("p1") == [("p1", "a", "*")]


def test_the_area_wins_over_everywhere(service: Service) -> None:
    service.apply(event(campaign="all", score=9), event(campaign="here", score=1, areas=("BER-01",)))
    assert service.winners("p1", district="BER-01") == [("p1", "here", "BER-01")]
    assert service.winners("p1", district="BER-02") == [("p1", "all", "*")]
    # A campaign of the area that does not run now does not hide the others.
    service.apply(event(2, campaign="here", areas=("BER-01",), time_slots=frozenset({"dinner"})))
    assert service.winners("p1", district="BER-01") == [("p1", "all", "*")]


def test_a_zoned_campaign_does_not_count_elsewhere(service: Service) -> None:
    service.apply(event(areas=("BER-01", "BER-02")))
    assert service.winners("p1", district="BER-02")
    assert not service.winners("p1", district="BER-03")


@pytest.mark.parametrize("areas", [("*",), ("BER-01", "BER-02")])
def test_an_older_or_repeated_event_changes_nothing(service: Service, areas: tuple[str, ...]) -> None:
    assert service.apply(event(2, score=2, areas=areas)) == ["applied"]
    assert service.apply(event(2, score=2, areas=areas), event(1, score=1, areas=areas)) == ["stale", "stale"]
    assert service.lookup("p1")[0].score == 2
    assert service.apply(event(3, score=3, areas=areas)) == ["applied"]
    assert service.lookup("p1")[0].score == 3


def test_at_the_same_instant_the_greater_id_is_the_newer(service: Service) -> None:
    both = [event(1, event_id="a", score=1, updated_at=START), event(1, event_id="b", score=2, updated_at=START)]
    assert service.apply(*both) == ["applied", "applied"]
    assert service.apply(both[0]) == ["stale"]
    assert service.lookup("p1")[0].score == 2


@pytest.mark.parametrize("areas", [("*",), ("BER-01", "BER-02")])
def test_an_ended_campaign_is_gone_and_stays_so(service: Service, areas: tuple[str, ...]) -> None:
    assert service.apply(event(1, areas=areas), event(3, areas=areas, status="ENDED")) == ["applied", "applied"]
    assert service.apply(event(2, areas=areas)) == ["stale"]
    assert not service.winners("p1")
    # It may come back.
    assert service.apply(event(4, areas=areas)) == ["applied"]
    assert service.winners("p1")


def test_areas_that_a_campaign_leaves_are_left(service: Service) -> None:
    service.apply(event(1, areas=("BER-01", "BER-02", "BER-03")), event(2, areas=("BER-02",)))
    assert [service.winners("p1", district=f"BER-0{number}") != [] for number in (1, 2, 3)] == [False, True, False]
    service.apply(event(3, areas=("BER-03",)))
    assert [service.winners("p1", district=f"BER-0{number}") != [] for number in (1, 2, 3)] == [False, False, True]
    # The end need not name them all.
    service.apply(event(4, areas=("BER-01",), status="ENDED"))
    assert not service.winners("p1", district="BER-03")


def test_from_areas_to_everywhere_and_back(service: Service) -> None:
    service.apply(event(1, areas=("BER-01",)), event(2))
    assert service.winners("p1", district="BER-01") == [("p1", "c1", "*")]
    service.apply(event(3, areas=("BER-02",)))
    assert service.winners("p1", district="BER-01") == []
    assert service.winners("p1", district="BER-02") == [("p1", "c1", "BER-02")]


# Concurrent and in any order: the result must be the same.
def test_events_that_race_converge(service: Service) -> None:
    areas = [("BER-01", "BER-02"), ("BER-02",), ("*",), ("BER-03", "BER-01")]
    events = [event(number, areas=areas[number % 4], score=number + 1) for number in range(12)]
    random.Random(5).shuffle(events)

    async def race() -> None:
        await asyncio.gather(*(service.boosts.apply("de", [each]) for each in events))

    service.wait(race())
    assert service.winners("p1", district="BER-01") == [("p1", "c1", "BER-01")]
    assert service.winners("p1", district="BER-03") == [("p1", "c1", "BER-03")]
    assert service.winners("p1", district="BER-02") == []
    assert service.lookup("p1")[0].score == 12


def test_all_campaigns_of_a_partner_are_listed(service: Service) -> None:
    service.apply(
        event(1, campaign="b", areas=("BER-02", "BER-01"), days_of_week=frozenset({"Sunday", "Monday"})),
        event(2, campaign="a", score=2.5),
        event(3, campaign="c", status="ENDED"),
        event(4, partner="p2"),
    )
    listed = service.campaigns_of("p1")
    assert [(each.campaign_id, each.area, each.status) for each in listed] == [
        ("a", "*", "ACTIVE"),
        ("b", "BER-01", "ACTIVE"),
        ("b", "BER-02", "ACTIVE"),
        ("c", "*", "ENDED"),
    ]
    assert (listed[0].score, listed[0].event_id, listed[0].updated_at) == (2.5, "e2", "2026-08-01T00:02:00.000000Z")
    assert listed[1].days_of_week == ("Monday", "Sunday")
    assert service.campaigns_of("nobody") == []


def test_tenants_do_not_see_each_other(service: Service) -> None:
    service.apply(event(tenant="tr"), tenant="tr")
    assert service.winners("p1", tenant="tr", district="BER-01")
    assert not service.winners("p1", tenant="de")


def test_an_unknown_tenant_is_named(service: Service) -> None:
    for call in (lambda: service.lookup("p1", tenant="xx"), lambda: service.apply(event(), tenant="xx")):
        with pytest.raises(NotFound, match="'xx'"):
            call()


def test_a_wildcard_market_rejects_areas_before_anything_is_applied(service: Service) -> None:
    with pytest.raises(BadRequest, match="tr is a wildcard market") as error:
        service.apply(event(), event(2, areas=("IST-01",)), tenant="tr")
    assert error.value.details == ('[1].areas: tr is a wildcard market, whose campaigns have the areas ["*"]',)
    assert service.campaigns_of("p1", tenant="tr") == []


def test_a_feed_s_messages_are_applied_and_the_poisoned_named(service: Service) -> None:
    bad = [b"{", None, as_json(event(tenant="xx")), as_json(event(tenant="tr", areas=("IST-01",)))]
    rejected = service.consume(
        as_json(event(2, score=2)), *bad, as_json(event(1, score=1)), as_json(event(tenant="tr")), as_json(event(3))
    )
    assert [each.message.value for each in rejected] == bad
    reasons = ["not a campaign event", "empty", "'xx'", "wildcard market"]
    assert all(reason in each.reason for reason, each in zip(reasons, rejected, strict=True))
    assert [each.event_id for each in service.campaigns_of("p1")] == ["e3"]
    assert [each.event_id for each in service.campaigns_of("p1", tenant="tr")] == ["e1"]


# Otherwise a partner's campaign could not be changed for two hundred years.
def test_an_event_of_the_far_future_is_rejected(service: Service) -> None:
    now = datetime.fromtimestamp(NOW, UTC)
    later, far = event(3, updated_at=now), event(2, updated_at=datetime(2226, 1, 1, tzinfo=UTC))
    assert service.apply(event(1)) == ["applied"]
    with pytest.raises(sk.services.BadRequest, match=r"^\[1\]\.updatedAt: 2226-01-01.* more than 300 s .*; event 'e2'"):
        service.apply(later, far)
    (rejected,) = service.consume(as_json(far), as_json(event(4, campaign="c2")))
    assert rejected.message.value == as_json(far)
    assert "updatedAt: 2226-01-01T00:00:00+00:00 is more than 300 s" in rejected.reason
    assert {each.campaign_id for each in service.campaigns_of()} == {"c1", "c2"}
    assert service.apply(later) == ["applied"]


# Clocks of two machines differ a little.
def test_an_event_of_the_near_future_is_applied(service: Service) -> None:
    near = event(1, updated_at=datetime.fromtimestamp(NOW + 300, UTC))
    assert service.apply(near) == ["applied"]
