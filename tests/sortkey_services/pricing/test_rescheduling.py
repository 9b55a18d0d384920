"""A change that is moved to another instant: it stays one change with one id, whatever else happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import pytest

import sortkey as sk
from sortkey_services.pricing.change_writes import MAX_IN_TRANSACTION, MAX_STEPS, ChangeWrites
from sortkey_services.pricing.events import change_event
from sortkey_services.pricing.model import ChangeRow, PriceRow
from sortkey_services.pricing.prices import ChangeStatus, PriceChange, PriceKey
from sortkey_services.pricing.reads import change_id
from tests.sortkey_services.pricing.conftest import Service

pytestmark = pytest.mark.every_store

in_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)


def move(service: Service, change: PriceChange[Decimal], minutes: float) -> PriceChange[Decimal]:
    return service.wait(service.pricing.reschedule(change.id, service.now + timedelta(minutes=minutes), "bob"))


def shown(service: Service, change: PriceChange[Decimal]) -> PriceChange[Decimal]:
    return service.wait(service.pricing.price_change(change.id))


def test_it_is_found_by_its_id_wherever_it_is(service: Service) -> None:
    change = service.change("P1", "11", minutes=5)
    for minutes in (8, 3, 5, 20):
        at = service.now + timedelta(minutes=minutes)
        moved = move(service, change, minutes)
        assert (moved.id, moved.effective_at) == (change.id, at)
        assert shown(service, change) == moved
        assert service.upcoming() == [moved]
    starts = [change.effective_at, *(step.effective_at for step in moved.history)]
    assert [step.previous_effective_at for step in moved.history] == starts[:-1]


def test_it_becomes_permanent_at_its_last_instant_only_and_its_event_has_its_id(service: Service) -> None:
    service.change("P1", "10")
    change = service.change("P1", "11", minutes=5)
    move(service, change, 3)
    last = move(service, change, 8)
    for minutes, price in ((3, 10), (2, 10), (3, 11)):
        service.pass_minutes(minutes)
        service.follow()
        assert service.price("P1") == price
    assert service.history("P1") == [(None, "10.00"), ("10.00", "11.00")]
    (applied,) = (row for row in service.rows(ChangeRow) if row.status == "APPLIED" and row.cents == 1100)
    assert (applied.effective_at, applied.previous) == (last.effective_at, 1000)
    assert change_event(applied, "EUR").event_id == change.id
    assert shown(service, change).status is ChangeStatus.APPLIED


# A client that got no answer asks again.
def test_the_same_move_again_changes_nothing(service: Service) -> None:
    change = service.change("P1", "11", minutes=5)
    at = service.now + timedelta(minutes=8)
    moved = [service.wait(service.pricing.reschedule(change.id, at, "bob")) for _ in range(3)]
    assert moved[0] == moved[1] == moved[2]
    assert len(moved[0].history) == 1
    service.pass_minutes(8)
    service.follow()
    again = service.wait(service.pricing.reschedule(change.id, at))
    assert (again.status, again.history) == (ChangeStatus.APPLIED, moved[0].history)
    rows = len(service.rows(ChangeRow))
    other = service.change("P2", "1", minutes=5)
    assert service.wait(service.pricing.reschedule(other.id, other.effective_at)) == other
    assert len(service.rows(ChangeRow)) == rows + 1


def test_what_has_taken_effect_or_is_cancelled_is_not_moved(service: Service) -> None:
    applied, cancelled = service.change("P1", "11", minutes=5), service.change("P2", "11", minutes=5)
    move(service, applied, 3)
    move(service, cancelled, 9)
    assert service.wait(service.pricing.cancel(cancelled.id)).status is ChangeStatus.CANCELLED
    service.pass_minutes(3)
    with pytest.raises(sk.services.Conflict, match="has taken effect already"):
        move(service, applied, 3)
    with pytest.raises(sk.services.Conflict, match="was cancelled"):
        move(service, cancelled, 3)
    with pytest.raises(sk.services.Conflict, match="has taken effect already"):
        service.wait(service.pricing.cancel(applied.id))
    assert shown(service, cancelled).status is ChangeStatus.CANCELLED
    service.pass_minutes(10)
    assert (service.price("P1"), service.price("P2")) == (11, None)


# The last one who decides, decides: also for an instant at which another change is.
def test_of_two_changes_at_one_instant_the_one_that_was_moved_there_wins(service: Service) -> None:
    first = service.change("P1", "11", minutes=5)
    service.change("P1", "12", minutes=8)
    move(service, first, 8)
    assert service.price("P1", minutes=8) == 11


def test_a_move_into_the_past_takes_its_place_in_time(service: Service) -> None:
    service.change("P1", "10", minutes=-10)
    service.change("P1", "12", minutes=-2)
    change = service.change("P1", "11", minutes=5)
    assert move(service, change, -5).status is ChangeStatus.APPLIED
    assert [service.price("P1", minutes) for minutes in (-6, -5, -2, 6)] == [10, 11, 12, 12]


def test_a_change_of_a_batch_is_moved_alone(service: Service) -> None:
    at = (service.now + timedelta(minutes=1)).isoformat()
    many = range(MAX_IN_TRANSACTION + 7)
    given = [{"store": "s1", "product": f"P{n:02}", "amount": 6, "effectiveAt": at} for n in many]
    made = service.wait(service.pricing.change_prices(given))
    move(service, made[3], 9)
    service.pass_minutes(2)
    service.follow()
    assert service.prices() == {f"P{n:02}": "6.00" for n in many if n != 3}
    service.pass_minutes(10)
    service.follow()
    assert service.prices() == {f"P{n:02}": "6.00" for n in many}


@in_memory
def test_several_who_move_and_cancel_at_once_leave_one_change(service: Service) -> None:
    change = service.change("P1", "11", minutes=5)
    times = [service.now + timedelta(minutes=minutes) for minutes in (6, 7, 8)]

    async def race() -> None:
        await asyncio.gather(*(service.process().reschedule(change.id, at) for at in times))

    service.wait(race())
    (left,) = service.upcoming()
    assert (left.id, left.effective_at in times, len(left.history)) == (change.id, True, 3)
    assert shown(service, change) == left
    assert [row.status for row in service.rows(ChangeRow)].count("SCHEDULED") == 1

    async def end() -> None:
        calls = (service.process().cancel(change.id), service.process().reschedule(change.id, times[0]))
        await asyncio.gather(*calls, return_exceptions=True)

    service.wait(end())
    service.wait(service.pricing.cancel(change.id))
    assert service.upcoming() == []


# One transaction: a process that is killed before it has changed nothing.
@in_memory
def test_a_process_that_dies_leaves_the_change_where_it_was(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    change = service.change("P1", "11", minutes=5)

    class Killed(BaseException):
        pass

    async def killed(*_: object) -> bool:
        raise Killed

    monkeypatch.setattr(ChangeWrites, "commit", killed)
    with pytest.raises(Killed):
        move(service, change, 8)
    monkeypatch.undo()
    service.restart()
    assert service.upcoming() == [change] == [shown(service, change)]
    assert move(service, change, 8).effective_at == service.now + timedelta(minutes=8)


# Another process has made the change permanent between the two reads of a move.
@in_memory
def test_a_change_that_comes_due_while_it_is_moved_stays(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    change = service.change("P1", "11", minutes=5)
    rows = ChangeWrites.rows

    async def overtaken(self: ChangeWrites, keys: Sequence[PriceKey]) -> dict[PriceKey, PriceRow]:
        monkeypatch.undo()
        service.pass_minutes(5)
        await service.process().apply_due("s1", change.effective_at)
        return await rows(self, keys)

    monkeypatch.setattr(ChangeWrites, "rows", overtaken)
    with pytest.raises(sk.services.Conflict, match="has taken effect already"):
        move(service, change, 8)
    assert (service.price("P1"), service.upcoming()) == (11, [])


@pytest.mark.slow
@in_memory
def test_a_change_is_moved_so_often_at_most(service: Service) -> None:
    change = service.change("P1", "11", minutes=5)
    for number in range(MAX_STEPS):
        move(service, change, 6 + number)
    with pytest.raises(sk.services.Conflict, match=f"was moved {MAX_STEPS} times; cancel it") as full:
        move(service, change, 5)
    assert full.value.code == "full"
    assert service.wait(service.pricing.cancel(change.id)).status is ChangeStatus.CANCELLED


# What the version before wrote: no caller, no steps, and who has cancelled it in an attribute of its own.
@in_memory
def test_changes_of_an_earlier_version_are_moved_and_shown(service: Service) -> None:
    change, gone = service.change("P1", "11", minutes=5), service.change("P2", "11", minutes=5)
    service.wait(
        service.session.client.update_item(
            TableName="price-changes",
            Key=change_id(gone.id).path.key(),
            UpdateExpression="SET #s = :s, cancelled_by = :by REMOVE caller, steps",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":s": {"S": "CANCELLED"}, ":by": {"S": "eve"}},
        )
    )
    cancelled = shown(service, gone)
    assert cancelled.status is ChangeStatus.CANCELLED
    (step,) = cancelled.history
    assert (step.requested_by, step.caller, step.recorded_at) == ("eve", None, None)
    service.wait(
        service.session.client.update_item(
            TableName="price-changes",
            Key=change_id(change.id).path.key(),
            UpdateExpression="REMOVE caller, steps, #f, moved_to, cancelled_by",
            ExpressionAttributeNames={"#f": "first"},
        )
    )
    assert move(service, change, 8).id == change.id
