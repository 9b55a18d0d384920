"""What the default design writes and reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

import sortkey as sk
from sortkey_services.boosts import v2
from sortkey_services.boosts.model import MAX_CAMPAIGN_AREAS, RETENTION_SECONDS, BoostRow
from sortkey_services.boosts.tenants import DesignName
from tests.sortkey_services.boosts.campaigns import event
from tests.sortkey_services.boosts.conftest import Service

pytestmark = pytest.mark.every_store


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


# A list is judged before any of it is applied, whatever its partner has already.
def test_a_list_with_too_many_campaigns_of_a_partner_changes_nothing(service: Service) -> None:
    service.apply(*(event(number, campaign=f"c{number}") for number in range(10)))
    more = [event(number, campaign=f"c{number}") for number in range(MAX_CAMPAIGN_AREAS + 1)]
    with pytest.raises(
        sk.services.BadRequest, match=r"none of the 501 events was applied: \[500\]: partner p1"
    ) as error:
        service.wait(service.boosts.apply_events("de", more))
    assert len(error.value.details) == 1
    assert len(service.campaigns_of()) == 10
    answer = service.wait(service.boosts.apply_events("de", more[:-1]))
    assert (answer.applied, answer.stale) == (490, 10)


# Each write of a row costs as much as its row is long: one for each campaign would be a quadratic cost.
def test_the_campaigns_of_a_list_are_one_write_of_each_row(service: Service) -> None:
    events = [event(number, campaign=f"c{number}", areas=("A", "B")) for number in range(100)]
    assert set(service.apply(*events)) == {"applied"}
    assert [row(service, area).revision for area in ("*", "A", "B")] == [1, 1, 1]
    assert len(row(service, "A").campaigns) == 100


# Whoever is faster, the newer event of each campaign stays, and nothing is lost.
def test_lists_and_single_events_at_the_same_time(service: Service) -> None:
    lists = [[event(number, campaign=f"c{at}", areas=("A", f"B{number}")) for at in range(5)] for number in (1, 3, 2)]
    single = [[event(4, campaign="c0", areas=("A",))], [event(2, campaign="c9", areas=("A",))]]

    async def all_at_once() -> None:
        await asyncio.gather(*(service.boosts.apply("de", events) for events in (*lists, *single)))

    service.wait(all_at_once())
    versions = {name: each.version[-1] for name, each in row(service).campaigns.items()}
    assert versions == {"c0": "4", "c1": "3", "c2": "3", "c3": "3", "c4": "3", "c9": "2"}
    assert {name: each.version[-1] for name, each in row(service, "A").campaigns.items()} == versions
    assert ("p1", "c1", "B1") not in service.winners("p1", district="B1")
    assert len(service.winners("p1", district="B3")) == 1


def test_a_list_that_was_cut_off_is_finished_when_it_comes_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [event(number, campaign=f"c{number}", areas=("A",)) for number in range(3)]

    async def cut_off(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(service.boosts.design, "_write_areas_together", cut_off)
        with pytest.raises(asyncio.CancelledError):
            service.apply(*events)
    assert not service.winners("p1", district="A")
    assert service.apply(*events) == ["stale"] * 3
    assert len(row(service, "A").campaigns) == 3
