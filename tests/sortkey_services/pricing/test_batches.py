"""Requests of more changes than a transaction can hold: accepted as a whole or not at all, whatever happens."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

import sortkey as sk
from sortkey_services.pricing.batches import ABANDONED, Batches, SeenBatches
from sortkey_services.pricing.change_writes import MAX_IN_TRANSACTION, ChangeWrites, Planned
from sortkey_services.pricing.model import Batch, ChangeRow, PriceRow
from sortkey_services.pricing.prices import SECOND
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.timeline import KEPT, MAX_TO_COME
from tests.sortkey_services.pricing.conftest import Service

MANY = MAX_IN_TRANSACTION + 7


def changes(amount: int, **more: object) -> list[dict[str, object]]:
    return [{"store": "s1", "product": f"P{n:02}", "amount": amount, **more} for n in range(MANY)]


def both(amount: int, **more: object) -> list[dict[str, object]]:
    """The first and the last product of a store."""
    return [{"store": "s1", "product": product, "amount": amount, **more} for product in ("P0", "P9")]


def test_a_large_request_is_in_force_when_it_is_answered(service: Service) -> None:
    made = service.wait(service.pricing.change_prices(changes(5)))
    assert {each.status.value for each in made} == {"APPLIED"}
    assert len({each.id for each in made}) == MANY
    assert service.prices() == {f"P{n:02}": "5.00" for n in range(MANY)}
    assert [batch.status for batch in service.rows(Batch)] == ["COMMITTED"]


def test_its_changes_can_be_cancelled_one_by_one(service: Service) -> None:
    service.wait(service.pricing.change_prices(changes(5)))
    at = (service.now + timedelta(minutes=1)).isoformat()
    made = service.wait(service.pricing.change_prices(changes(6, effectiveAt=at)))
    service.wait(service.pricing.cancel(made[3].id))
    service.pass_minutes(2)
    service.follow()
    expected = {f"P{n:02}": "5.00" if n == 3 else "6.00" for n in range(MANY)}
    assert service.prices() == expected
    assert service.history("P03") == [(None, "5.00")]


# A reader whose read began before the commit sees nothing of the batch, even if it has read some rows before the writes
# and others after them.
@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_readers_see_all_of_a_batch_or_nothing(service: Service) -> None:
    service.wait(service.pricing.change_prices(changes(1)))
    seen: list[set[Any]] = []

    async def read_on(stop: asyncio.Event) -> None:
        while not stop.is_set():
            page = await service.pricing.base_prices("s1", page_request())
            seen.append({price.amount for price in page.items})
            service.clock.advance(0.001)
            await asyncio.sleep(0)

    async def change_and_read() -> None:
        stop = asyncio.Event()
        reading = asyncio.create_task(read_on(stop))
        for amount in range(2, 8):
            await service.pricing.change_prices(changes(amount))
        stop.set()
        await reading

    service.wait(change_and_read())
    assert {len(each) for each in seen} == {1}
    assert len({next(iter(each)) for each in seen}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_process_that_dies_before_the_commit_has_changed_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.wait(service.pricing.change_prices(changes(1)))

    async def die(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(Batches, "commit", die)
        with pytest.raises(asyncio.CancelledError):
            service.wait(service.pricing.change_prices(changes(2)))
    service.restart()
    assert set(service.prices().values()) == {"1.00"}
    assert service.upcoming() == []
    assert len(service.history("P00")) == 1
    service.clock.advance(ABANDONED / SECOND)
    service.follow()
    assert sorted(batch.status for batch in service.rows(Batch)) == ["ABORTED", "COMMITTED"]
    # Its changes are gone; its entries go with the next change of their price.
    assert len(service.rows(ChangeRow)) == MANY
    service.change("P00", "3")
    (row,) = [row for row in service.rows(PriceRow) if row.product == "P00"]
    assert {entry.cents for entry in row.entries or ()} <= {300, 100}
    assert service.price("P00") == 3


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_batch_that_cannot_be_written_leaves_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ConnectionError("the store is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Batches, "commit", fail)
        with pytest.raises(ConnectionError):
            service.wait(service.pricing.change_prices(changes(2)))
    assert service.prices() == {}
    assert service.rows(ChangeRow) == []
    assert all(row.entries is None for row in service.rows(PriceRow))


# The answer to the commit is lost, not the commit.
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_commit_whose_answer_is_lost_is_a_commit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Batches.commit

    async def lose(self: Batches, batch: str, at: int, note: Any) -> None:
        await commit(self, batch, at, note)
        self._decided.clear()
        raise ConnectionError("the answer is lost")

    monkeypatch.setattr(Batches, "commit", lose)
    service.wait(service.pricing.change_prices(changes(2)))
    assert set(service.prices().values()) == {"2.00"}


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_batch_that_takes_too_long_is_not_accepted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Batches.commit

    async def late(self: Batches, batch: str, at: int, note: Any) -> None:
        await self.abort(batch)
        await commit(self, batch, at, note)

    monkeypatch.setattr(Batches, "commit", late)
    with pytest.raises(sk.services.Conflict, match="none of the changes was accepted"):
        service.wait(service.pricing.change_prices(changes(2)))
    assert service.prices() == {}


@pytest.mark.parametrize("store", ["memory"], indirect=True)
@pytest.mark.parametrize("count", [1, MANY])
def test_a_price_has_a_limit_of_changes_to_come(service: Service, count: int) -> None:
    at = service.now + timedelta(days=1)
    full = [
        {"store": "s1", "product": "P1", "amount": 1, "effectiveAt": (at + timedelta(seconds=n)).isoformat()}
        for n in range(MAX_TO_COME)
    ]
    service.wait(service.pricing.change_prices(full))
    later = (at - timedelta(hours=1)).isoformat()
    more = [{"store": "s1", "product": f"P{n}", "amount": 1, "effectiveAt": later} for n in range(1, count + 1)]
    with pytest.raises(sk.services.Conflict, match="'P1' in 's1' has 400 changes to come; cancel some first"):
        service.wait(service.pricing.change_prices(more))
    assert service.prices(minutes=24 * 60 - 1) == {}
    service.change("P1", "2")
    assert service.price("P1") == 2


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_processes_that_change_one_price_at_once_all_succeed(service: Service) -> None:
    async def race() -> None:
        processes = [service.process() for _ in range(8)]
        at = service.now + timedelta(hours=1)
        calls = (
            each.change_prices([{"store": "s1", "product": "P1", "amount": n, "effectiveAt": at.isoformat()}])
            for n, each in enumerate(processes)
        )
        await asyncio.gather(*calls)

    service.wait(race())
    assert len(service.upcoming()) == 8


# A page over many products without a price takes several requests, and the list is written between two of them.
@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory"], indirect=True)
@pytest.mark.parametrize("instant", [None, "2026-08-24T11:59:59Z"])
def test_a_short_list_shows_as_a_whole_in_a_page_of_several_requests(service: Service, instant: str | None) -> None:
    gone = [{"store": "s1", "product": f"P5{n:03}", "amount": 1} for n in range(200)]
    service.wait(service.pricing.change_prices([*gone, *both(1, effectiveAt="2026-08-24T11:00:00Z")]))
    service.wait(service.pricing.change_prices([{**each, "amount": None, "action": "DELETE"} for each in gone]))
    seen: list[set[str]] = []

    async def read_on(stop: asyncio.Event) -> None:
        while not stop.is_set():
            page = await service.pricing.base_prices("s1", page_request(first=3))
            seen.append({str(price.amount) for price in page.items})
            service.clock.advance(0.001)
            await asyncio.sleep(0)

    async def change_and_read() -> None:
        stop = asyncio.Event()
        reading = [asyncio.create_task(read_on(stop)) for _ in range(3)]
        for amount in range(2, 12):
            await service.pricing.change_prices(both(amount, effectiveAt=instant))
        stop.set()
        await asyncio.gather(*reading)

    service.wait(change_and_read())
    assert {len(each) for each in seen} == {1}
    assert len({next(iter(each)) for each in seen}) > 1


# The history is by time. A batch takes effect with its commit, after changes that were accepted while it was written.
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_changes_that_overlap_a_batch_come_before_it(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.change("P00", "1")
    service.pass_minutes(1)
    write = ChangeWrites._write_entries

    async def overlapped(self: ChangeWrites, plan: Planned) -> None:
        await write(self, plan)
        service.clock.advance(1)
        await service.process().change_prices([{"store": "s1", "product": "P00", "amount": 3}])
        service.clock.advance(1)

    monkeypatch.setattr(ChangeWrites, "_write_entries", overlapped)
    made = service.wait(service.pricing.change_prices(changes(10)))
    expected = [(None, "1.00"), ("1.00", "3.00"), ("3.00", "10.00")]
    assert service.history("P00") == expected
    assert service.price("P00") == 10
    service.follow()
    assert service.history("P00") == expected
    begin = service.now - timedelta(minutes=5)
    listed = service.wait(service.pricing.price_changes("s1", page_request(first=2048), begin=begin)).items
    assert [each.effective_at for each in listed] == sorted(each.effective_at for each in listed)
    assert {each.id for each in made} < {each.id for each in listed}


@pytest.mark.parametrize("store", ["memory"], indirect=True)
@pytest.mark.parametrize("minutes", [None, -600])
def test_a_request_may_change_one_price_many_times(service: Service, minutes: int | None) -> None:
    service.change("P1", "7", minutes=-1000)
    first = None if minutes is None else service.now + timedelta(minutes=minutes)
    given = [
        {
            "store": "s1",
            "product": "P1",
            "amount": n,
            "effectiveAt": None if first is None else (first + timedelta(seconds=n)).isoformat(),
        }
        for n in range(500)
    ]
    service.wait(service.pricing.change_prices(given))
    assert service.price("P1") == 499
    found = service.wait(service.pricing.price_history("s1", "P1", page_request(first=2048))).items
    assert [each.amount for each in found] == [7, *range(500)]
    if minutes is not None:
        assert service.price("P1", minutes=minutes + 1) == 60
    assert service.price("P1", minutes=-700) == 7


# Entries stay in their row for a minute after their batch; a row does not grow without a limit meanwhile.
@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_many_batches_within_a_minute_are_accepted_and_read_at_every_instant(service: Service) -> None:
    instants = []
    for amount in range(KEPT + 10):
        given = [{"store": "s1", "product": "P1", "amount": amount}] * MANY
        (*_, last) = service.wait(service.pricing.change_prices(given))
        instants.append(last.effective_at)
    (row,) = service.rows(PriceRow)
    assert len(row.entries or ()) <= KEPT + 1
    found = [service.wait(service.pricing.price("s1", "P1", at=at)) for at in instants]
    assert [None if each is None else each.amount for each in found] == list(range(KEPT + 10))


# A batch that was open when a read met it first stays open for the rest of that read.
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_all_parts_of_a_read_agree_on_a_batch(service: Service) -> None:
    async def sleep(_: float) -> None: ...

    batches = Batches(service.session, service.clock, sleep)
    now = int(service.clock.now() * SECOND)

    async def read_while_it_is_committed() -> list[dict[str, int]]:
        await batches.open("b", 1)
        seen = SeenBatches(batches, now)
        before = await seen.commits({"b"})
        await batches.commit("b", now)
        return [before, await seen.commits({"b"}), await SeenBatches(batches, now).commits({"b"})]

    assert service.wait(read_while_it_is_committed()) == [{}, {}, {"b": now}]
