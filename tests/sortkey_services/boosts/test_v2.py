"""What the default design writes and reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from sortkey_services.boosts import v2
from sortkey_services.boosts.model import RETENTION_SECONDS, BoostRow
from sortkey_services.boosts.tenants import DesignName
from tests.sortkey_services.boosts.campaigns import event
from tests.sortkey_services.boosts.conftest import Service


@pytest.fixture
def service(open_service: Callable[[DesignName], Service]) -> Service:
    return open_service("v2")


def requests(service: Service) -> int:
    return sum(reading.calls for reading in service.session.meter.readings())


def row(service: Service, area: str = "*") -> BoostRow:
    found = service.wait(service.session.get(BoostRow.key(tenant="de", area=area, partner="p1"), consistent=True))
    assert found is not None
    return found


# The lesson of this design: neither days nor slots nor other campaigns cost a write, and none a read.
def test_an_event_for_everywhere_is_one_request(service: Service) -> None:
    slots = frozenset({"breakfast", "lunch", "dinner", "late-night"})
    for each in (event(1), event(2, campaign="c2"), event(3, time_slots=slots), event(4, score=3)):
        before = requests(service)
        assert service.apply(each) == ["applied"]
        assert requests(service) == before + 1


def test_an_event_for_areas_is_one_request_more_than_areas(service: Service) -> None:
    before = requests(service)
    service.apply(event(areas=("A", "B", "C")))
    assert requests(service) == before + 4


def test_a_lookup_is_one_request_for_both_areas(service: Service) -> None:
    partners = [f"p{number}" for number in range(50)]
    before = requests(service)
    service.lookup(*partners, district="BER-01")
    service.lookup(*partners, tenant="tr")
    assert requests(service) == before + 2


# Otherwise every later event would go to all areas that the campaign ever had.
def test_areas_that_were_left_are_not_written_again(service: Service) -> None:
    service.apply(event(1, areas=("A", "B", "C")), event(2, areas=("A",)))
    assert row(service).campaign_areas == {"*#c1", "A#c1"}
    before = requests(service)
    service.apply(event(3, areas=("A",)))
    assert requests(service) == before + 2


def test_ended_campaigns_leave_with_the_next_write_after_the_retention(service: Service) -> None:
    service.apply(event(1, campaign="old", areas=("A",)), event(2, campaign="old", status="ENDED"))
    assert row(service, "A").expires == row(service).expires == int(service.clock.now()) + RETENTION_SECONDS
    service.clock.advance(RETENTION_SECONDS + 1)
    service.apply(event(3, campaign="new", areas=("A",)))
    for area in ("*", "A"):
        assert list(row(service, area).campaigns) == ["new"]
        assert row(service, area).expires is None
    assert row(service).campaign_areas == {"*#new", "A#new"}


def test_the_areas_of_a_partner_are_limited(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(v2, "MAX_CAMPAIGN_AREAS", 4)
    assert service.apply(event(1, areas=("A", "B")), event(2, campaign="c2")) == ["applied", "applied"]
    (result,) = service.wait(service.boosts.apply("de", [event(3, campaign="c3")]))
    assert result.error is not None
    assert "p1 would have 5 campaigns and areas" in result.error
    # What is there already needs no room, and what ends makes some.
    assert service.apply(event(4, areas=("A", "B")), event(5, areas=("A",))) == ["applied", "applied"]
    assert service.apply(event(6, campaign="c3"), event(7, campaign="c4")) == ["applied", "rejected"]
    assert service.apply(event(8, campaign="c3", status="ENDED")) == ["applied"]


# The write of the main row is done, those of the areas are not: the event is delivered again.
def test_an_event_that_was_cut_off_is_finished_when_it_comes_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.apply(event(1, areas=("A", "B")))

    async def cut_off(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(service.boosts.design, "_write_area_entries", cut_off)
        with pytest.raises(asyncio.CancelledError):
            service.apply(event(2, areas=("B", "C")))
    assert service.winners("p1", district="A")
    assert not service.winners("p1", district="C")
    assert service.apply(event(2, areas=("B", "C"))) == ["stale"]
    assert not service.winners("p1", district="A")
    assert service.winners("p1", district="C")
