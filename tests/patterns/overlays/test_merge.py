"""What is shown of a base item and the items over it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

import sortkey as sk
from tests.patterns.overlays.goals import ADA, AS_OF, HOUR, VIEW, Goal, Pending, Person, pending

NOW = AS_OF + 10 * HOUR


def shown(*items: Pending, base: Person = ADA) -> list[tuple[int, str]]:
    return [(goal.saved, goal.status) for goal in VIEW.merge(base, items, NOW).goals]


def test_a_newer_item_replaces_fields_of_its_element() -> None:
    assert shown(pending(370, HOUR)) == [(370, "PENDING"), (0, "IN_PROGRESS")]


def test_an_item_of_another_base_is_rejected() -> None:
    other = sk.replace(pending(370, HOUR), person="bob")
    with pytest.raises(ValueError, match=r"person='bob', .* is not over this Person, whose person is 'ada'"):
        VIEW.merge(ADA, [pending(340, HOUR), other], NOW)


def test_what_is_no_base_item_or_time_is_named() -> None:
    with pytest.raises(TypeError, match="takes a base of Person, not None"):
        VIEW.merge(None, [], NOW)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes items of Pending, not Person"):
        VIEW.merge(ADA, [ADA], NOW)  # type: ignore[list-item]
    naive = NOW.replace(tzinfo=None)
    with pytest.raises(TypeError, match="now must be a datetime with a time zone, not datetime"):
        VIEW.merge(ADA, [], naive)
    with pytest.raises(TypeError, match=r"Person\.as_of must be a datetime with a time zone"):
        VIEW.merge(sk.replace(ADA, as_of=naive), [], NOW)
    with pytest.raises(TypeError, match=r"Pending\.updated must be a datetime with a time zone"):
        VIEW.merge(ADA, [sk.replace(pending(370, HOUR), updated=naive)], NOW)


def test_without_items_the_base_itself_is_shown() -> None:
    assert VIEW.merge(ADA, [], NOW) is ADA


# The base is complete up to and including its as-of.
def test_an_item_of_the_same_instant_is_not_newer() -> None:
    assert shown(pending(370, 0 * HOUR)) == [(320, "IN_PROGRESS"), (0, "IN_PROGRESS")]


# As texts, "…T01:00+02:00" is after "…T00:00+00:00"; as instants it is before.
def test_instants_are_compared_whatever_their_zones() -> None:
    berlin = timezone(timedelta(hours=2))
    earlier = sk.replace(pending(370, -HOUR), updated=(AS_OF - HOUR).astimezone(berlin))
    assert earlier.updated.isoformat() > AS_OF.isoformat()
    assert shown(earlier) == [(320, "IN_PROGRESS"), (0, "IN_PROGRESS")]


# TTL deletes items hours or days late.
def test_an_expired_item_is_not_shown() -> None:
    item = pending(370, HOUR)
    assert shown(sk.replace(item, expires=NOW - timedelta(seconds=1))) == shown()
    assert shown(sk.replace(item, expires=NOW)) == shown(item)


def test_an_item_that_does_not_match_hides_older_ones() -> None:
    assert shown(pending(370, HOUR), pending(0, 2 * HOUR, status="REJECTED")) == shown()
    assert shown(pending(370, 2 * HOUR), pending(0, HOUR, status="REJECTED")) == shown(pending(370, HOUR))


def test_an_item_without_an_element_changes_nothing() -> None:
    assert shown(pending(370, HOUR, goal="CAR")) == shown()


def test_the_base_is_not_changed() -> None:
    shown(pending(370, HOUR))
    assert ADA.goals[0] == Goal(goal="SAVINGS", saved=320)


class Price(sk.Item, table=sk.Table("overlaid-prices")):
    product: str
    seen: datetime
    amount: int
    by_store: dict[str, Goal]
    key = sk.Key("{product}")


class Correction(sk.Item, table=sk.Table("price-corrections", ttl="expires")):
    product: str
    store: str
    at: datetime
    amount: int
    expires: int | None = None
    key = sk.Key("{product}", "{store}")


PRICE = Price(product="p", seen=AS_OF, amount=5, by_store={"s1": Goal(goal="s1", saved=1)})
CORRECTED = Correction(product="p", store="s1", at=AS_OF + HOUR, amount=7)


def test_without_a_part_the_newest_item_replaces_fields_of_the_base() -> None:
    view = sk.patterns.overlay(
        Correction, over=Price, newer="at", than="seen", replace={"amount": lambda correction: correction.amount * 2}
    )
    newer = sk.replace(CORRECTED, at=AS_OF + 2 * HOUR, amount=9)
    assert view.merge(PRICE, [newer, CORRECTED], NOW) == sk.replace(PRICE, amount=18)


def test_elements_of_a_dict_are_known_by_their_keys() -> None:
    view = sk.patterns.overlay(
        Correction, over=Price, newer="at", than="seen", part="by_store", by="store", replace={"saved": "amount"}
    )
    assert view.merge(PRICE, [CORRECTED], NOW).by_store == {"s1": Goal(goal="s1", saved=7)}


def test_a_ttl_in_seconds_expires_items_too() -> None:
    view = sk.patterns.overlay(Correction, over=Price, newer="at", than="seen", replace={"amount": "amount"})
    expired = sk.replace(CORRECTED, expires=int(NOW.timestamp()) - 1)
    assert view.merge(PRICE, [expired], NOW) is PRICE


# Such as a rate, which the base may know better although its amounts are older.
def test_a_function_may_also_look_at_the_base() -> None:
    def higher(correction: Correction, price: Price) -> int:
        return max(correction.amount, price.amount)

    view = sk.patterns.overlay(Correction, over=Price, newer="at", than="seen", replace={"amount": higher})
    assert view.merge(PRICE, [sk.replace(CORRECTED, amount=-1)], NOW).amount == PRICE.amount
    assert view.merge(PRICE, [sk.replace(CORRECTED, amount=PRICE.amount + 1)], NOW).amount == PRICE.amount + 1
    of_goals = sk.patterns.overlay(
        Correction,
        over=Price,
        newer="at",
        than="seen",
        part="by_store",
        by="store",
        replace={"saved": lambda correction, price, factor=10: correction.amount + factor * price.amount},
    )
    assert of_goals.merge(PRICE, [CORRECTED], NOW).by_store["s1"].saved == CORRECTED.amount + 10 * PRICE.amount
