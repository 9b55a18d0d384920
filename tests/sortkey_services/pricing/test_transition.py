"""What the transition leaves behind: rows without what is past, audit records, and a row for each store and instant."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from sortkey_services.pricing.model import Batch, ChangeRow, PriceRow, StoreUpdate, loaded_price
from sortkey_services.pricing.prices import PriceKey, PriceKind, micros_of
from sortkey_services.pricing.service import PricingService
from tests.sortkey_services.pricing.conftest import NOON, Service


def test_timers_make_permanent_what_is_due_and_nothing_else(service: Service) -> None:
    service.change("P1", "10")
    service.change("P1", "11", minutes=5)
    service.change("P1", "12", minutes=10)
    service.follow()
    assert sorted(row.status for row in service.rows(ChangeRow)) == ["APPLIED", "SCHEDULED", "SCHEDULED"]
    service.pass_minutes(5)
    service.follow()
    found = sorted(service.rows(ChangeRow), key=lambda row: row.effective_at)
    assert [(row.status, row.previous, row.cents) for row in found] == [
        ("APPLIED", None, 1000),
        ("APPLIED", 1000, 1100),
        ("SCHEDULED", None, 1200),
    ]


def test_a_row_keeps_what_is_in_force_and_what_is_to_come(service: Service) -> None:
    changes = [service.change("P1", str(minutes), minutes=minutes) for minutes in range(5)]
    service.pass_minutes(3)
    service.follow()
    (row,) = service.rows(PriceRow)
    assert row.cents == 300
    assert row.since == micros_of(changes[3].effective_at)
    assert [entry.cents for entry in row.entries or ()] == [400]
    assert [service.price("P1", minutes) for minutes in (-3, -2, -1, 0, 1)] == [0, 1, 2, 3, 4]


def test_a_store_is_said_to_be_updated_once_for_all_changes_of_an_instant(service: Service) -> None:
    at = service.now + timedelta(minutes=5)
    given = [{"store": "s1", "product": f"P{n}", "amount": n, "effectiveAt": at.isoformat()} for n in range(40)]
    service.wait(service.pricing.change_prices(given))
    service.pass_minutes(5)
    service.follow()
    (update,) = service.rows(StoreUpdate)
    assert (update.store, update.effective_at, update.changes, update.channels) == ("s1", at, 40, {"ALL"})


# A process that dies after the last transaction has not said so; the next one does.
def test_a_repeated_transition_says_what_the_first_one_could_not(service: Service) -> None:
    service.change("P1", "10")
    assert service.wait(service.pricing.apply_due("s1", service.now)) == 1
    service.wait(service.session.delete(StoreUpdate.key(store="s1", effective_at=service.now)))
    assert service.wait(service.pricing.apply_due("s1", service.now)) == 0
    assert [update.changes for update in service.rows(StoreUpdate)] == [1]


def test_two_processes_at_once_make_each_change_permanent_once(service: Service) -> None:
    at = service.now + timedelta(minutes=1)
    given = [{"store": "s1", "product": f"P{n}", "amount": n, "effectiveAt": at.isoformat()} for n in range(20)]
    service.wait(service.pricing.change_prices(given))
    service.pass_minutes(1)

    async def both() -> list[int]:
        processes = [service.process() for _ in range(2)]
        return await asyncio.gather(*(each.apply_due("s1", at) for each in processes))

    assert sum(service.wait(both())) == 20
    assert {row.status for row in service.rows(ChangeRow)} == {"APPLIED"}


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_loaded_price_is_in_the_history_from_its_first_change_on(service: Service) -> None:
    key = PriceKey("s1", "ALL", PriceKind.BASE, "P1")
    other = key._replace(product="P2")
    since = micros_of(NOON - timedelta(days=1))
    service.wait(service.session.batch(put=[loaded_price(each, 900, since) for each in (key, other)]))
    service.change("P1", "10", minutes=1)
    histories = [service.history("P1")]
    service.pass_minutes(1)
    histories.append(service.history("P1"))
    service.follow()
    histories.append(service.history("P1"))
    loaded, changed = (None, "9.00"), ("9.00", "10.00")
    assert histories == [[loaded], [loaded, changed], [loaded, changed]]
    assert (service.price("P1", minutes=-1), service.price("P2", minutes=-1)) == (9, 9)
    # Nobody has changed it, and reads write nothing.
    assert service.history("P2") == []
    assert len(service.rows(ChangeRow)) == 2


# A list in force at once: its batch is young, and yet the rows do not depend on it for ever.
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_the_changes_of_a_batch_become_permanent(service: Service) -> None:
    given = [{"store": "s1", "product": f"P{n:02}", "amount": 5} for n in range(40)]
    service.wait(service.pricing.change_prices(given))
    service.follow()
    assert {(row.cents, row.entries) for row in service.rows(PriceRow)} == {(500, None)}
    assert {row.status for row in service.rows(ChangeRow)} == {"APPLIED"}
    service.wait(service.session.batch(delete=[batch.key for batch in service.rows(Batch)]))
    service.restart()
    assert set(service.prices().values()) == {"5.00"}


# The timers go by the clock of the session. If the service's own is behind, it waits, and does not lose the timer.
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_clock_that_is_behind_delays_the_transition_and_does_not_lose_it(service: Service) -> None:
    class LateClock:
        late = 2.0

        def now(self) -> float:
            return service.clock.now() - max(0.0, self.late)

        async def sleep(self, seconds: float) -> None:
            self.late -= seconds

    service.change("P1", "10", minutes=5)
    service.pass_minutes(5)
    clock = LateClock()
    service.pricing = PricingService(service.session, clock=clock, sleep=clock.sleep)
    service.follow()
    assert [row.status for row in service.rows(ChangeRow)] == ["APPLIED"]


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_loaded_prices_with_alike_names_have_histories_of_their_own(service: Service) -> None:
    since = micros_of(NOON - timedelta(days=1))
    keys = [
        PriceKey("s1", channel, PriceKind.BASE, product) for channel, product in (("A.BASE.x", "y"), ("A", "x.BASE.y"))
    ]
    rows = [loaded_price(key, cents, since) for key, cents in zip(keys, (100, 200), strict=True)]
    service.wait(service.session.batch(put=rows))
    for key in keys:
        given = {"store": "s1", "product": key.product, "channel": key.channel, "amount": 9}
        service.wait(service.pricing.change_prices([given]))
    service.follow()
    before = [
        service.wait(service.pricing.price("s1", key.product, key.channel, at=NOON - timedelta(hours=1)))
        for key in keys
    ]
    assert [None if price is None else price.amount for price in before] == [1, 2]
