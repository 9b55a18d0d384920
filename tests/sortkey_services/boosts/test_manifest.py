"""What the expansion manifest writes, and what it does not know."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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
    assert requests(service) == before + 2 + len(DISTRICTS)  # with the main row, and the read of the delivery areas


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
