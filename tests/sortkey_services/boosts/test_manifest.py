"""What the expansion manifest writes, and what it does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sortkey_services.boosts import v2
from sortkey_services.boosts.tenants import DesignName
from tests.sortkey_services.boosts.campaigns import DISTRICTS, event
from tests.sortkey_services.boosts.conftest import Service


@pytest.fixture
def service(open_service: Callable[[DesignName], Service]) -> Service:
    return open_service("manifest")


def requests(service: Service) -> int:
    return sum(reading.calls for reading in service.session.meter.readings())


def deliver(service: Service, *areas: str) -> None:
    service.wait(service.boosts.design.set_delivery_areas(service.boosts.market("de"), {"p1": areas}))


def apply(service: Service, number: int) -> None:
    service.wait(service.boosts.apply("de", [event(number)]))


# The fan-out over days has become one over areas.
def test_everywhere_costs_a_write_for_each_delivery_area(service: Service) -> None:
    service.deliver("p1")
    before = requests(service)
    apply(service, 1)
    # With the main row, the read of the delivery areas, and the list of the areas that have the campaign.
    assert requests(service) == before + 6 + len(DISTRICTS)


# Its answers are as old as the expansion: here the other designs would say that p1 is boosted.
def test_an_area_that_was_added_is_reached_by_the_next_event(service: Service) -> None:
    deliver(service, "BER-01")
    apply(service, 1)
    deliver(service, "BER-02")
    assert [service.winners("p1", district=area) != [] for area in ("BER-01", "BER-02")] == [True, False]
    apply(service, 2)
    assert [service.winners("p1", district=area) != [] for area in ("BER-01", "BER-02")] == [False, True]


def test_a_partner_that_delivers_nowhere_is_boosted_nowhere(service: Service) -> None:
    apply(service, 1)
    assert not service.winners("p1")
    assert [each.area for each in service.campaigns_of("p1")] == ["*"]


# The main row has no room to list them, and no partner delivers to as many areas as a row could list.
@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_any_number_of_delivery_areas(service: Service, monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    # More areas than a campaign may list, in several parts and several transactions.
    monkeypatch.setattr(v2, "MAX_CAMPAIGN_AREAS", 100)
    monkeypatch.setattr(v2, "AREAS_IN_PART", 60)
    areas = [f"BER-{number:04}" for number in range(150)]
    deliver(service, *areas)

    def applied(number: int, **fields: Any) -> None:
        events = [event(number, **fields), *([event(1, campaign="other")] if together else [])]
        assert all(result.error is None for result in service.wait(service.boosts.apply("de", events)))

    applied(1)
    assert all(service.winners("p1", district=area) for area in (areas[0], areas[90], areas[-1]))
    deliver(service, *areas[:-1])
    applied(2, score=9)
    assert [each.score for each in service.lookup("p1", district=areas[0])] == [9]
    assert bool(service.winners("p1", district=areas[-1])) is together
    applied(3, status="ENDED")
    assert all(("p1", "c1", "*") not in service.winners("p1", district=area) for area in areas[::25])
