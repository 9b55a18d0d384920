"""What each design reads for a lookup, measured on the campaigns of the service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sortkey.services.interface import BadRequest
from sortkey_services.boosts import demo
from sortkey_services.boosts.comparison import Comparison
from sortkey_services.boosts.service import LookupRequest
from sortkey_services.boosts.tenants import DesignName
from tests.sortkey_services.boosts.campaigns import MONDAY_LUNCH, event
from tests.sortkey_services.boosts.conftest import Service


def compared(service: Service, *partners: str, district: str | None = "BER-01") -> Comparison:
    return service.wait(service.boosts.compare("de", LookupRequest(partners, district, MONDAY_LUNCH)))


# Another design is loaded from these events, so each has to be what was applied last.
def test_all_campaigns_of_a_market_are_their_newest_events(service: Service) -> None:
    lunch = event(2, campaign="lunch", score=3, areas=("BER-01", "BER-02"), time_slots=frozenset({"lunch"}))
    over = event(3, campaign="over", partner="p2", status="ENDED")
    service.apply(event(1, campaign="lunch"), event(1, campaign="over", partner="p2"), lunch, over)
    service.apply(event(tenant="tr"), tenant="tr")

    async def all_campaigns() -> list[Any]:
        return [each async for each in service.boosts.design.all_campaigns(service.boosts.market("de"))]

    found = sorted(service.wait(all_campaigns()), key=lambda each: str(each.campaign_id))
    assert [msgspec.structs.replace(each, tenant="de") for each in found] == [lunch, over]


def test_lists_are_read_whole_and_exact_keys_alone(open_service: Callable[[DesignName], Service]) -> None:
    service = open_service("v2")
    numbers = [f"p{number}" for number in range(200)]
    service.apply(*(event(partner=partner) for partner in numbers))
    found = compared(service, "p7", "p3", "other")
    assert (found.partners, found.campaigns, found.agree) == (200, 200, True)
    reads = {each.design: each for each in found.designs}
    # V1 looks for lists of the area and of everywhere, for all day and for lunch; one of the four is there.
    assert (reads["v1"].requests, reads["v1"].rows_read, reads["v1"].partners_read) == (4, 1, 200)
    (shown,) = reads["v1"].rows
    assert (shown.key, shown.partners) == ("* Monday#all-day#0001", 200)
    for name in ("v2", "manifest"):
        assert (reads[name].requests, reads[name].rows_read, reads[name].partners_read) == (1, 2, 2)
        assert [each.asked for each in reads[name].rows] == [[0], [0]]
    # BatchGetItem takes half a unit for each key, found or not: of the area and of everywhere in V2, of the area in the
    # manifest.
    assert (reads["v2"].units, reads["manifest"].units) == (3, 1.5)
    assert service.winners("p7", "p3", "other") == [("p7", "c1", "*"), ("p3", "c1", "*")]


def test_the_places_of_the_partners_that_were_asked_for(open_service: Callable[[DesignName], Service]) -> None:
    service = open_service("v2")
    service.apply(*(event(partner=f"p{number}") for number in range(5)))
    (lists,) = [each for each in compared(service, "p4", "p1").designs if each.design == "v1"]
    assert [(each.partners, each.asked) for each in lists.rows] == [(5, [1, 4])]


# Other lists and other partners are left out before the lookup runs: that must not change what it finds.
@pytest.mark.slow
def test_the_designs_agree_on_the_demonstration_data(open_service: Callable[[DesignName], Service]) -> None:
    service = open_service("v2")
    (region,) = [each for each in demo.REGIONS if each.tenant == "de"]
    events = list(demo.events_of(region, 300))

    async def load() -> None:
        async for _ in service.boosts.design.load(service.boosts.market("de"), events):
            pass

    service.wait(load())
    partners = [str(region.first_partner + 3 * number) for number in range(300)]
    for district in ("BER-01", "HAM-03", "MUC-12"):
        found = compared(service, *partners, district=district)
        assert found.agree
        reads = {each.design: each for each in found.designs}
        wanted = {each.partner_id for each in service.lookup(*partners, district=district)}
        assert len(wanted) <= sum(len(each.asked) for each in reads["v2"].rows)
        assert wanted


def test_a_district_is_needed(open_service: Callable[[DesignName], Service]) -> None:
    service = open_service("v2")
    with pytest.raises(BadRequest, match="district: required"):
        compared(service, "p1", district=None)
    with pytest.raises(BadRequest, match="district: an area must not contain `#`"):
        compared(service, "p1", district="a#b")
