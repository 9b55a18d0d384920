"""On a store without transactions, each change is a batch, and so is what cancels or moves it: one write decides.

A process that is killed between its writes leaves what nobody counts; the next one finds the change as it was, or as it
shall be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any, cast

import pytest

import sortkey as sk
from sortkey.client.stores import ALTERNATOR
from sortkey_services.pricing.batches import ABANDONED
from sortkey_services.pricing.model import Batch, ChangeRow, PriceRow
from sortkey_services.pricing.prices import SECOND, ChangeStatus, PriceChange
from sortkey_services.pricing.service import DEFAULTS, PricingService
from tests.sortkey_services.pricing.conftest import Service

pytestmark = pytest.mark.parametrize("store", ["memory"], indirect=True)
WRITES = frozenset({"put", "put_many", "update", "batch", "delete", "transact"})

Step = Callable[[PricingService, PriceChange[Decimal]], Coroutine[Any, Any, Any]]


class Killed(BaseException):
    pass


class DyingSession:
    """That of a process which is killed before its n-th write, or after it, when no answer comes any more."""

    def __init__(self, session: sk.AsyncSession, writes: int, after: bool) -> None:
        self._session = session
        self._left = writes
        self._after = after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._session, name)
        if name not in WRITES:
            return method

        async def write(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left < 0 or (self._left == 0 and not self._after):
                raise Killed
            answer = await method(*arguments, **options)
            if self._left == 0:
                raise Killed
            return answer

        return write


@pytest.fixture
def service(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(sk.AsyncSession, "capabilities", property(lambda _: ALTERNATOR))
    service.restart()
    return service


def kills(service: Service, step: Callable[[PricingService], Coroutine[Any, Any, Any]]) -> Iterator[bool]:
    """Carries out a step once for each place at which its process can be killed, and then to its end; yields whether it
    was killed."""
    for after in (False, True):
        for writes in count(1):
            session = cast("sk.AsyncSession", DyingSession(service.session, writes, after))

            async def sleep(seconds: float) -> None:
                service.clock.advance(seconds)

            process = PricingService(session, DEFAULTS, service.clock, sleep=sleep)
            try:
                service.wait(step(process))
                killed = False
            except Killed:
                killed = True
            # A commit counts from an instant on that a living process waits for.
            service.clock.advance(1)
            service.restart()
            yield killed
            if not killed:
                break


def shown(service: Service, change: PriceChange[Decimal]) -> PriceChange[Decimal]:
    return service.wait(service.pricing.price_change(change.id))


def price_at(service: Service, product: str, at: datetime) -> float | None:
    found = service.wait(service.pricing.price("s1", product, at=at))
    return None if found is None else float(found.amount)


def test_a_change_is_a_batch(service: Service) -> None:
    service.change("P1", "10")
    service.change("P1", "11", minutes=5)
    assert [batch.status for batch in service.rows(Batch)] == ["COMMITTED", "COMMITTED"]
    assert (service.price("P1"), service.price("P1", minutes=6)) == (10, 11)


def test_a_change_that_was_killed_was_made_or_was_not(service: Service) -> None:
    products = count()

    async def change(process: PricingService) -> None:
        await process.change_prices([{"store": "s1", "product": f"P{next(products)}", "amount": 5}])

    outcomes = []
    for number, killed in enumerate(kills(service, change)):
        listed = service.history(f"P{number}")
        price = service.price(f"P{number}", minutes=1)
        assert (price, listed) in ((5, [(None, "5.00")]), (None, []))
        assert killed or price == 5
        outcomes.append(price)
    assert outcomes.count(None) >= 4
    assert outcomes.count(5) >= 3, "with the one that was killed after the commit"


@pytest.mark.slow
@pytest.mark.parametrize("minutes", [None, 3, 9])
def test_a_cancelled_or_moved_change_is_so_in_every_list_at_once(service: Service, minutes: int | None) -> None:
    """None cancels it."""
    changes: list[PriceChange[Decimal]] = []
    due = service.now + timedelta(minutes=30)
    moved_to = due + timedelta(minutes=minutes or 0)

    async def step(process: PricingService) -> None:
        if minutes is None:
            await process.cancel(changes[-1].id)
        else:
            await process.reschedule(changes[-1].id, moved_to)

    def begin() -> None:
        product = f"P{len(changes)}"
        service.change(product, "10")
        given: Any = {"store": "s1", "product": product, "amount": 11, "effectiveAt": due.isoformat()}
        changes.extend(service.wait(service.pricing.change_prices([given])))

    begin()
    done = 0
    for killed in kills(service, step):
        change = changes[-1]
        now = shown(service, change)
        is_done = now.status is ChangeStatus.CANCELLED or now.effective_at == moved_to
        assert is_done or (now.status, now.effective_at) == (ChangeStatus.SCHEDULED, due)
        assert is_done or killed
        done += is_done
        listed = [each for each in service.upcoming() if each.product == change.product]
        assert listed == ([] if now.status is ChangeStatus.CANCELLED else [now])
        at = None if now.status is ChangeStatus.CANCELLED else now.effective_at
        assert price_at(service, change.product, due - timedelta(microseconds=1)) == 10
        for asked in (due, moved_to):
            assert price_at(service, change.product, asked) == (11 if at is not None and asked >= at else 10)
        begin()
    assert done >= 3, "with one that was killed after the commit, in two ways"
    expected = {each.product: shown(service, each) for each in changes[:-1]}
    # The transition meets what the killed ones have left, when it is due.
    service.clock.advance((moved_to - service.now).total_seconds() + ABANDONED / SECOND)
    service.follow()
    service.follow()
    for product, change in expected.items():
        counts = change.status is not ChangeStatus.CANCELLED
        assert service.history(product) == [(None, "10.00"), *([("10.00", "11.00")] if counts else [])]
        assert service.price(product) == (11 if counts else 10)
    rows = [row for row in service.rows(ChangeRow) if row.product in expected]
    assert all(row.status != "SCHEDULED" and row.departs_with is None for row in rows)
    assert not any(row.entries for row in service.rows(PriceRow) if row.product in expected)


def test_after_a_kill_it_can_be_cancelled_by_another_process(service: Service) -> None:
    for number in count():
        change = service.change(f"P{number}", "11", minutes=30)

        async def cancel(process: PricingService, change: PriceChange[Decimal] = change) -> None:
            await process.cancel(change.id)

        attempts = kills(service, cancel)
        killed = [next(attempts) for _ in range(number + 1)][-1]
        assert service.wait(service.pricing.cancel(change.id)).status is ChangeStatus.CANCELLED
        assert service.price(f"P{number}", minutes=31) is None
        if not killed:
            break


def test_many_who_cancel_and_move_at_once_leave_one_outcome(service: Service) -> None:
    async def play() -> None:
        given: Any = {"store": "s1", "product": "P1", "amount": 5, "effectiveAt": "2026-08-24T14:00:00Z"}
        (change,) = await service.pricing.change_prices([given])
        movers = [service.process() for _ in range(4)]
        instants = [change.effective_at + timedelta(minutes=number) for number in range(1, 5)]
        results = await asyncio.gather(
            *(mover.reschedule(change.id, at) for mover, at in zip(movers, instants, strict=True)),
            return_exceptions=True,
        )
        assert any(isinstance(each, PriceChange) for each in results)
        assert all(isinstance(each, (PriceChange, sk.services.Conflict)) for each in results), results
        now = await service.pricing.price_change(change.id)
        assert now.effective_at in instants
        assert len(now.history) == sum(isinstance(each, PriceChange) for each in results)
        for at in instants:
            price = await service.pricing.price("s1", "P1", at=at)
            assert (price is not None) == (at >= now.effective_at)

    service.wait(play())
