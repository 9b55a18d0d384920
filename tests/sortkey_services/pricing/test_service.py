"""Prices at an instant, changes that take effect by themselves, and what the transition makes permanent."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

import sortkey as sk
from sortkey_services.pricing.change_writes import ChangeWrites
from sortkey_services.pricing.model import PriceRow
from sortkey_services.pricing.prices import ChangeStatus, PriceKey, PriceKind
from sortkey_services.pricing.reads import page_request
from tests.sortkey_services.pricing.conftest import Service

FAR = datetime(9999, 6, 1, tzinfo=UTC)

in_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)


def test_a_price_that_is_set_is_in_force(service: Service) -> None:
    change = service.change("P1", "12.5")
    assert change.status is ChangeStatus.APPLIED
    found = service.wait(service.pricing.price("s1", "P1"))
    assert found is not None
    assert (found.amount, found.currency, found.effective_from) == (Decimal("12.50"), "EUR", service.now)
    assert str(found.amount) == "12.50"


@in_memory
def test_what_nobody_has_priced_has_no_price(service: Service) -> None:
    assert service.price("P1") is None
    assert service.prices() == {}
    assert service.history("P1") == []


# The seed's price is right only after its scheduler has run. Here nothing runs.
def test_a_scheduled_price_is_in_force_from_its_instant_on_without_a_scheduler(service: Service) -> None:
    service.change("P1", "10")
    change = service.change("P1", "11", minutes=5)
    assert change.status is ChangeStatus.SCHEDULED
    assert (service.price("P1"), service.price("P1", minutes=5)) == (10, 11)
    service.pass_minutes(5)
    assert service.price("P1") == 11
    assert service.price("P1", minutes=-1 / 60) == 10


def test_a_scheduled_deletion_takes_the_product_out_of_the_page(service: Service) -> None:
    service.change("P1", "10")
    service.change("P2", "20")
    service.change("P1", None, minutes=5)
    assert (service.prices(), service.prices(minutes=5)) == ({"P1": "10.00", "P2": "20.00"}, {"P2": "20.00"})


def test_a_change_with_a_past_instant_takes_its_place_in_time(service: Service) -> None:
    service.change("P1", "10", minutes=-10)
    service.change("P1", "30", minutes=-2)
    service.change("P1", "20", minutes=-5)
    assert [service.price("P1", minutes) for minutes in (-11, -10, -5, -2, 0)] == [None, 10, 20, 30, 30]


def test_of_two_changes_at_one_instant_the_later_one_wins(service: Service) -> None:
    service.change("P1", "10", minutes=5)
    service.change("P1", "11", minutes=5)
    assert service.price("P1", minutes=5) == 11


def test_the_transition_changes_no_answer(service: Service) -> None:
    since = service.change("P1", "10").effective_at
    due = service.change("P1", "11", minutes=5).effective_at
    service.change("P1", "12", minutes=10)
    service.pass_minutes(7)
    before = [service.price("P1", minutes) for minutes in (-8, -7, -2, 0, 3)], service.history("P1")
    assert service.wait(service.pricing.apply_due("s1", since)) == 1
    assert service.wait(service.pricing.apply_due("s1", due)) == 1
    assert ([service.price("P1", minutes) for minutes in (-8, -7, -2, 0, 3)], service.history("P1")) == before
    assert before == ([None, 10, 11, 11, 12], [(None, "10.00"), ("10.00", "11.00")])


def test_the_transition_does_nothing_twice_and_nothing_before_its_time(service: Service) -> None:
    due = service.change("P1", "10", minutes=5).effective_at
    with pytest.raises(sk.services.Conflict, match=r"the changes of 2026-08-24T12:05:00.* are not due yet"):
        service.wait(service.pricing.apply_due("s1", due))
    service.pass_minutes(5)
    assert [service.wait(service.pricing.apply_due("s1", due)) for _ in range(2)] == [1, 0]


def test_a_cancelled_change_never_takes_effect(service: Service) -> None:
    service.change("P1", "10")
    change = service.change("P1", "11", minutes=5)
    assert [each.id for each in service.upcoming()] == [change.id]
    cancelled = [service.wait(service.pricing.cancel(change.id, "bob")) for _ in range(2)]
    assert [each.status for each in cancelled] == [ChangeStatus.CANCELLED] * 2
    assert service.upcoming() == []
    service.pass_minutes(5)
    assert service.wait(service.pricing.apply_due("s1", service.now)) == 0
    assert (service.price("P1"), service.history("P1")) == (10, [(None, "10.00")])


def test_a_change_that_took_effect_cannot_be_cancelled(service: Service) -> None:
    change = service.change("P1", "11", minutes=5)
    service.pass_minutes(5)
    with pytest.raises(sk.services.Conflict, match="has taken effect already"):
        service.wait(service.pricing.cancel(change.id))
    service.wait(service.pricing.apply_due("s1", service.now))
    with pytest.raises(sk.services.Conflict, match="has taken effect already"):
        service.wait(service.pricing.cancel(change.id))


def forged(store: str, at: int, number: str) -> str:
    return urlsafe_b64encode(json.dumps([store, at, number], separators=(",", ":")).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "W10",
        "bm8",
        "é",
        forged("s1", 1, "x"),
        forged("s" * 3000, 1, "0" * 22),
        forged("s1", 1, "0" * 3000),
        forged("s1", 10**40, "0" * 22),
        forged("s\U0010ffff", 1, "0" * 22),
        forged("", 1, "0" * 22),
        forged("s1", 1, "0" * 22),
        forged("s1", 1, "0" * 22) + "=",
    ],
)
@in_memory
def test_an_unknown_change_is_not_found(service: Service, text: str) -> None:
    with pytest.raises(sk.services.NotFound, match="there is no price change"):
        service.wait(service.pricing.cancel(text))


# The seed names a schedule by store and instant, so a rescheduled change collides with another.
def test_a_rescheduled_change_takes_effect_at_its_new_instant_only(service: Service) -> None:
    service.change("P1", "10")
    change = service.change("P1", "11", minutes=5)
    moved = service.wait(service.pricing.reschedule(change.id, service.now + timedelta(minutes=8)))
    assert [each.id for each in service.upcoming()] == [moved.id] == [change.id]
    assert [service.price("P1", minutes) for minutes in (5, 7, 8)] == [10, 10, 11]


def test_the_history_tells_who_changed_what_from_which_amount(service: Service) -> None:
    service.change("P1", "10")
    service.pass_minutes(1)
    deleted = service.change("P1", None)
    service.pass_minutes(1)
    service.change("P1", "12", minutes=60)
    (first, second) = service.wait(service.pricing.price_history("s1", "P1", page_request())).items
    assert (first.previous_amount, first.amount, first.requested_by) == (None, Decimal("10.00"), "ada")
    assert (second.previous_amount, second.amount, second.action) == (Decimal("10.00"), None, "DELETE")
    assert (second.recorded_at, second.effective_at) == (deleted.recorded_at, deleted.effective_at)


def test_a_product_has_its_price_in_every_store_by_store(service: Service) -> None:
    for store in ("s2", "s1", "s3"):
        service.change("P1", "10", store=store)
    service.change("P1", None, store="s2")
    found = service.wait(service.pricing.product_prices("P1", page_request()))
    assert [(price.store, price.product) for price in found.items] == [("s1", "P1"), ("s3", "P1")]


def test_swaps_are_listed_by_combo_and_apart_from_base_prices(service: Service) -> None:
    given = [{"store": "s1", "product": each, "kind": "SWAP", "amount": 1} for each in ("C1#b", "C1#a", "C10#a")]
    service.wait(service.pricing.change_prices(given))
    found = service.wait(service.pricing.swap_prices("s1", "C1", page_request())).items
    assert [(price.product, price.kind) for price in found] == [("C1#a", PriceKind.SWAP), ("C1#b", PriceKind.SWAP)]
    assert service.prices() == {}


@in_memory
def test_channels_have_prices_of_their_own(service: Service) -> None:
    service.wait(service.pricing.change_prices([{"store": "s1", "product": "P1", "channel": "APP", "amount": "9"}]))
    assert service.price("P1") is None
    assert service.wait(service.pricing.price("s1", "P1", "APP")) is not None


def test_upcoming_changes_come_by_time_and_say_whether_they_are_applied(service: Service) -> None:
    for minutes in (30, 10, 20):
        service.change("P1", str(minutes), minutes)
    assert [each.amount for each in service.upcoming()] == [10, 20, 30]
    begin = service.now
    service.pass_minutes(10)
    assert [each.amount for each in service.upcoming()] == [20, 30]
    end = service.now + timedelta(minutes=11)
    listed = service.wait(service.pricing.price_changes("s1", page_request(), begin=begin, end=end))
    assert [(str(each.amount), each.status.value) for each in listed.items] == [
        ("10.00", "APPLIED"),
        ("20.00", "SCHEDULED"),
    ]


def test_the_cursors_of_upcoming_changes_stay_valid_while_time_passes(service: Service) -> None:
    for minutes in (10, 20, 30):
        service.change("P1", str(minutes), minutes)
    first = service.wait(service.pricing.price_changes("s1", page_request(first=1)))
    service.pass_minutes(1)
    second = service.wait(service.pricing.price_changes("s1", page_request(first=1, after=first.end_cursor)))
    assert [each.amount for each in second.items] == [20]
    back = service.wait(service.pricing.price_changes("s1", page_request(last=1, before=second.start_cursor)))
    assert [each.amount for each in back.items] == [10]


@in_memory
def test_a_cursor_of_changes_whose_beginning_was_changed_is_rejected(service: Service) -> None:
    for minutes in (10, 20):
        service.change("P1", "1", minutes)
    begin = service.now
    page = service.wait(service.pricing.price_changes("s1", page_request(first=1)))
    first, _, rest = (page.end_cursor or "").partition(".")
    for changed in (f"0{first}", f"0x{first}", f"+{first}", f" {first}", first.upper(), "0", "zzz"):
        asking = page_request(first=1, after=f"{changed}.{rest}")
        for asked in (None, begin):
            with pytest.raises(sk.CursorError, match="cursor"):
                service.wait(service.pricing.price_changes("s1", asking, begin=asked))


@in_memory
def test_changes_before_an_end_that_has_passed_are_none(service: Service) -> None:
    service.change("P1", "1", minutes=10)
    for end in (service.now, service.now - timedelta(days=1)):
        assert service.wait(service.pricing.price_changes("s1", page_request(), end=end)).items == []
    assert service.wait(service.pricing.price_changes("s1", page_request(), begin=FAR)).items == []


# Another process has made the change permanent between the two reads of a cancel.
def test_a_change_that_comes_due_while_it_is_cancelled_is_not_cancelled(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = service.change("P1", "11", minutes=5)
    rows = ChangeWrites.rows

    async def overtaken(self: ChangeWrites, keys: Sequence[PriceKey]) -> dict[PriceKey, PriceRow]:
        monkeypatch.undo()
        service.pass_minutes(5)
        await service.process().change_prices([{"store": "s1", "product": "P1", "amount": 12}])
        return await rows(self, keys)

    monkeypatch.setattr(ChangeWrites, "rows", overtaken)
    with pytest.raises(sk.services.Conflict, match="has taken effect already"):
        service.wait(service.pricing.cancel(change.id))
    assert service.history("P1") == [(None, "11.00"), ("11.00", "12.00")]


@pytest.mark.parametrize("cursor", ["x", "x.y", "ffffffffffffffffff.y", "1.", ".", "zz.zz"])
@in_memory
def test_a_cursor_that_is_none_is_rejected(service: Service, cursor: str) -> None:
    for call in (service.pricing.price_changes, service.pricing.base_prices):
        with pytest.raises(sk.CursorError, match="cursor"):
            service.wait(call("s1", page_request(after=cursor)))
