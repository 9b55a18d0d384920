"""What the first design writes and reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from sortkey_services.boosts import v1
from sortkey_services.boosts.model import RETENTION_SECONDS
from sortkey_services.boosts.tenants import DesignName
from sortkey_services.boosts.v1 import Shard, V1Campaign
from tests.sortkey_services.boosts.campaigns import event
from tests.sortkey_services.boosts.conftest import Service

MONDAY = frozenset({"Monday"})


@pytest.fixture
def service(open_service: Callable[[DesignName], Service]) -> Service:
    return open_service("v1")


def shards(service: Service, area: str = "*") -> list[Shard]:
    async def read() -> list[Shard]:
        path = Shard.key(tenant="de", area=area, day="Monday")
        return [shard async for shard in service.session.iterate(path, consistent=True)]

    return service.wait(read())


def written(service: Service) -> int:
    return sum(reading.calls for reading in service.session.meter.readings() if reading.path.startswith("put"))


@pytest.mark.parametrize(("slots", "lists"), [({"all-day"}, 7), ({"breakfast", "lunch", "dinner", "late-night"}, 28)])
def test_an_event_is_written_to_every_day_and_slot(service: Service, slots: set[str], lists: int) -> None:
    service.apply(event(time_slots=frozenset(slots)))
    assert written(service) == lists + 1  # and the campaign's record


def test_a_full_shard_has_a_next_one(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(v1, "PARTNERS_PER_SHARD", 2)
    partners = [f"p{number}" for number in range(5)]
    service.apply(*(event(partner=partner, days_of_week=MONDAY) for partner in partners))
    assert [len(shard.listings) for shard in shards(service)] == [2, 2, 1]
    # A newer event replaces the listing where it is.
    service.apply(event(2, partner="p0", score=9, days_of_week=MONDAY))
    assert [len(shard.listings) for shard in shards(service)] == [2, 2, 1]
    assert [each.score for each in service.lookup(*partners)] == [9, 1.5, 1.5, 1.5, 1.5]


# All of them change the same document; each is put back only if it was not changed in between.
def test_writers_of_one_list_do_not_undo_each_other(service: Service) -> None:
    partners = [f"p{number}" for number in range(12)]

    async def race() -> None:
        events = [event(partner=partner, days_of_week=MONDAY) for partner in partners]
        await asyncio.gather(*(service.boosts.apply("de", [each]) for each in events))

    service.wait(race())
    assert [winner[0] for winner in service.winners(*partners)] == partners


def test_what_is_over_is_forgotten_after_the_retention(service: Service) -> None:
    service.apply(event(1, days_of_week=MONDAY), event(2, days_of_week=MONDAY, status="ENDED"))
    record = service.wait(service.session.get(V1Campaign.key(tenant="de", partner="p1", campaign="c1")))
    assert record is not None
    assert (record.lists, record.expires) == (set(), int(service.clock.now()) + RETENTION_SECONDS)
    service.clock.advance(RETENTION_SECONDS + 1)
    service.apply(event(partner="p2", days_of_week=MONDAY))
    assert [each.partner for shard in shards(service) for each in shard.listings] == ["p2"]


def test_a_campaign_has_so_many_lists_and_no_more(service: Service) -> None:
    areas = tuple(f"A{number}" for number in range(400))
    (result,) = service.wait(
        service.boosts.apply("de", [event(areas=areas, time_slots=frozenset({"lunch", "dinner"}))])
    )
    assert result.error is not None
    assert "5,600 lists" in result.error
