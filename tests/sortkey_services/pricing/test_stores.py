"""Time zones of stores, and local times of their changes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

import sortkey as sk
from sortkey_services.pricing.prices import ChangeInput
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import Settings
from tests.sortkey_services.pricing.conftest import Service
from tests.sortkey_services.pricing.serving import Served

in_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)

MIDNIGHT = "2027-01-01T00:00:00"


def put(served: Served, store: str, zone: str | None) -> Any:
    answer = served.call("PUT", f"/pricing/stores/{store}", {"timeZone": zone})
    assert answer.status == 200, answer.body
    return answer.json()


def change(store: str = "s1", **others: Any) -> dict[str, Any]:
    return {"store": store, "product": "p1", "amount": 1, "effectiveAt": MIDNIGHT, **others}


def test_each_store_has_its_own_midnight(served: Served) -> None:
    zones = {"berlin": "Europe/Berlin", "york": "America/New_York", "tokyo": "Asia/Tokyo"}
    for store, zone in zones.items():
        assert put(served, store, zone) == {"store": store, "timeZone": zone, "isDefault": False}
    ids = served.set(*(change(store) for store in zones))
    shown = [served.call("GET", f"/pricing/changes/{each}").json()["effectiveAt"] for each in ids]
    assert shown == ["2026-12-31T23:00:00Z", "2027-01-01T05:00:00Z", "2026-12-31T15:00:00Z"]
    moved = served.call("PATCH", f"/pricing/changes/{ids[1]}", {"effectiveAt": "2027-07-01"})
    assert moved.json()["effectiveAt"] == "2027-07-01T04:00:00Z"


def test_a_local_time_of_a_store_without_a_time_zone_is_400_and_nothing_is_changed(served: Served) -> None:
    put(served, "s1", "Europe/Berlin")
    answer = served.call("POST", "/pricing/changes", [change("s1"), change("s2")])
    assert answer.status == 400
    (detail,) = answer.error["details"]
    assert detail["message"].startswith("[1].effectiveAt: must be an instant with an offset")
    assert "PUT /pricing/stores/s2" in detail["message"]
    assert served.call("GET", "/pricing/stores/s1/changes").json()["items"] == []


# Only a change belongs to a store's day; questions of programs are about instants.
@pytest.mark.parametrize("path", ["prices?at=", "products/p1?at=", "changes?from=", "changes?to="])
def test_questions_need_an_offset_all_the_same(served: Served, path: str) -> None:
    put(served, "s1", "Europe/Berlin")
    answer = served.call("GET", f"/pricing/stores/s1/{path}{MIDNIGHT}")
    assert (answer.status, "must be an instant with an offset" in answer.error["message"]) == (400, True)


def test_a_time_zone_is_shown_listed_and_taken_away(served: Served) -> None:
    for store in ("s3", "s1", "s2"):
        put(served, store, "Europe/Berlin")
    page = served.call("GET", "/pricing/stores?first=2").json()
    assert [each["store"] for each in page["items"]] == ["s1", "s2"]
    rest = served.call("GET", f"/pricing/stores?after={page['pageInfo']['endCursor']}").json()
    assert rest["items"] == [{"store": "s3", "timeZone": "Europe/Berlin", "isDefault": False}]
    assert put(served, "s1", None) == {"store": "s1", "timeZone": None, "isDefault": True}
    assert served.call("GET", "/pricing/stores/s1").json() == {"store": "s1", "timeZone": None, "isDefault": True}
    assert put(served, "s1", None)["timeZone"] is None
    # Stores are no prices.
    assert served.call("GET", "/pricing/stores/s2/prices").json()["items"] == []


@pytest.mark.parametrize("zone", ["", "Mars", "Europe", "../etc/passwd", "+02:00", "a" * 5000, "\0"])
def test_an_unknown_time_zone_is_named(served: Served, zone: str) -> None:
    answer = served.call("PUT", "/pricing/stores/s1", {"timeZone": zone})
    assert answer.status == 400
    assert answer.error["message"].startswith(f"timeZone: {zone[:40]!r}"[:40])
    assert answer.error["message"].endswith("is not a time zone such as Europe/Berlin")


@pytest.mark.parametrize("body", [{}, {"timeZone": 2}, {"zone": "Europe/Berlin"}, [], None])
def test_what_is_no_time_zone_is_400(served: Served, body: Any) -> None:
    assert served.call("PUT", "/pricing/stores/s1", body).status == 400


def test_a_store_id_that_no_key_can_hold_is_400(served: Served) -> None:
    assert served.call("PUT", f"/pricing/stores/{'s' * 129}", {"timeZone": "Europe/Berlin"}).status == 400
    assert served.call("GET", f"/pricing/stores/{'s' * 129}").status == 400


@in_memory
def test_the_settings_have_the_time_zone_of_all_other_stores(service: Service) -> None:
    pricing = service.process(Settings(time_zone="Europe/Berlin"))
    service.wait(pricing.stores.set_time_zone("york", "America/New_York"))
    given = [ChangeInput(store=each, product="p1", amount=1, effective_at=MIDNIGHT) for each in ("s1", "york")]
    made = service.wait(pricing.change_prices(given))
    assert [each.effective_at for each in made] == [
        datetime(2026, 12, 31, 23, tzinfo=UTC),
        datetime(2027, 1, 1, 5, tzinfo=UTC),
    ]
    shown = [service.wait(pricing.stores.store(each)) for each in ("s1", "york")]
    assert [(each.time_zone, each.is_default) for each in shown] == [
        ("Europe/Berlin", True),
        ("America/New_York", False),
    ]


@in_memory
def test_changes_keep_their_instants_when_the_time_zone_changes(service: Service) -> None:
    stores = service.pricing.stores
    service.wait(stores.set_time_zone("s1", "Europe/Berlin"))
    (made,) = service.wait(service.pricing.change_prices([change()]))
    service.wait(stores.set_time_zone("s1", "Asia/Tokyo"))
    assert service.upcoming() == [made]
    # Another process, and the next change, have the new one at once.
    (later,) = service.wait(service.process().change_prices([change()]))
    assert later.effective_at == datetime(2026, 12, 31, 15, tzinfo=UTC)


# A request without a local time asks for no zone.
@in_memory
def test_zones_cost_one_batch_of_reads_where_there_are_local_times(service: Service) -> None:
    def calls() -> int:
        return sum(reading.calls for reading in service.session.meter.readings())

    service.wait(service.pricing.stores.set_time_zone("s1", "Europe/Berlin"))
    costs = []
    for at in ("2027-01-01T00:00:00Z", MIDNIGHT):
        before = calls()
        service.wait(service.pricing.change_prices([change(effectiveAt=at), change(product="p2", effectiveAt=at)]))
        costs.append(calls() - before)
    assert costs[1] == costs[0] + 1


def test_zones_of_many_stores_are_read_together(service: Service) -> None:
    stores = service.pricing.stores

    async def all_zones() -> dict[str, str]:
        await asyncio.gather(*(stores.set_time_zone(f"s{number}", "Europe/Berlin") for number in range(0, 150, 2)))
        return await stores.time_zones([f"s{number}" for number in range(150)])

    assert service.wait(all_zones()) == {f"s{number}": "Europe/Berlin" for number in range(0, 150, 2)}


@in_memory
def test_an_unreadable_time_zone_is_a_conflict_until_it_is_set_again(service: Service) -> None:
    stores, path = service.pricing.stores, {"pk": {"S": "STORES"}, "sk": {"S": "s1"}}
    service.wait(service.session.client.put_item(TableName="prices", Item=path | {"time_zone": {"N": "1"}}))
    for call in (stores.store("s1"), service.pricing.change_prices([change()])):
        with pytest.raises(sk.services.Conflict, match="cannot be read, because another program has changed it"):
            service.wait(call)
    assert service.wait(stores.page(page_request())).items == []
    service.wait(stores.set_time_zone("s1", "Europe/Berlin"))
    assert len(service.wait(service.pricing.change_prices([change()]))) == 1


# Another program, or a newer database of time zones, has written the row.
@in_memory
def test_a_stored_time_zone_that_is_not_known_is_a_mistake_that_names_it(service: Service) -> None:
    service.wait(
        service.session.client.put_item(
            TableName="prices", Item={"pk": {"S": "STORES"}, "sk": {"S": "s1"}, "time_zone": {"S": "Mars/Olympus"}}
        )
    )
    with pytest.raises(sk.services.BadRequest, match=r"the time zone of store 's1' cannot be used: 'Mars/Olympus'"):
        service.wait(service.pricing.change_prices([change()]))
