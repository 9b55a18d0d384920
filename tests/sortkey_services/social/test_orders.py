"""Orders by status and day, and by customer and day, on every store."""

from __future__ import annotations

import asyncio
from datetime import date
from decimal import Decimal

import pytest

import sortkey as sk
from sortkey.services.pages import page_arguments
from sortkey_services.social.orders import Days, OrderDetails, asked_days
from tests.sortkey_services.social.conftest import Service

pytestmark = pytest.mark.every_store

PLACED = {
    "o1": date(2025, 12, 31),
    "o2": date(2026, 1, 1),
    "o3": date(2026, 5, 31),
    "o4": date(2026, 6, 1),
    "o5": date(2026, 6, 30),
    "o6": date(2026, 7, 1),
    "o7": date(2026, 7, 1),
}


def placed(day: date, customer: str = "ada", status: str = "PENDING", total: str = "9.90") -> OrderDetails:
    return OrderDetails(customer, status, day, Decimal(total))


@pytest.fixture
def orders(service: Service) -> Service:
    for order, day in PLACED.items():
        service.wait(service.social.orders.put(order, placed(day)))
    service.wait(service.social.orders.put("other", placed(date(2026, 6, 1), customer="bob", status="SHIPPED")))
    return service


def of_customer(service: Service, days: Days, customer: str = "ada") -> list[str]:
    found = service.wait(service.social.orders.of_customer(customer, days, page_arguments()))
    return [each.order for each in found]


def of_status(service: Service, status: str, days: Days) -> list[str]:
    return [each.order for each in service.wait(service.social.orders.of_status(status, days, page_arguments()))]


def test_a_customers_orders_by_day_month_and_span(orders: Service) -> None:
    expected = {
        ("2026-06-30", None, None, None): ["o5"],
        ("2026-06-29", None, None, None): [],
        (None, "2026-06", None, None): ["o4", "o5"],
        (None, None, "2026-01", "2026-06"): ["o2", "o3", "o4", "o5"],
        (None, None, "2025-12", "2026-01"): ["o1", "o2"],
        (None, None, "2026-06", None): ["o4", "o5", "o6", "o7"],
        (None, None, None, "2026-05"): ["o1", "o2", "o3"],
        (None, None, None, None): list(PLACED),
    }
    assert {asked: of_customer(orders, asked_days(*asked)) for asked in expected} == expected


def test_orders_of_a_status_by_day_with_both_ends(orders: Service) -> None:
    june = Days(date(2026, 6, 1), date(2026, 6, 30))
    assert of_status(orders, "PENDING", june) == ["o4", "o5"]
    assert of_status(orders, "SHIPPED", june) == ["other"]
    assert of_status(orders, "PEND", june) == []


# "2026-06-01" is greater than "2026-06", so a range of texts that ends with the month ends before its first day.
def test_a_range_of_texts_that_ends_with_a_month_has_none_of_its_days(orders: Service) -> None:
    async def with_texts(last: str) -> list[str]:
        answer = await orders.session.client.query(
            TableName="social",
            IndexName="gsi2",
            KeyConditionExpression="gsi2pk = :customer AND gsi2sk BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":customer": {"S": "CUSTOMER#ada"},
                ":first": {"S": "2026-01"},
                ":last": {"S": last},
            },
        )
        return [item["gsi2sk"]["S"].partition("#")[2] for item in answer["Items"]]

    assert orders.wait(with_texts("2026-06")) == ["o2", "o3"]
    january_to_june = asked_days(None, None, "2026-01", "2026-06")
    assert of_customer(orders, january_to_june) == ["o2", "o3", "o4", "o5"]


def test_a_changed_order_moves_in_both_lists(orders: Service) -> None:
    orders.wait(orders.social.orders.put("o4", placed(date(2026, 6, 2), "bob", "SHIPPED", "10")))
    june = Days(date(2026, 6, 1), date(2026, 6, 30))
    assert of_status(orders, "PENDING", june) == ["o5"]
    assert of_status(orders, "SHIPPED", june) == ["other", "o4"]
    assert (of_customer(orders, june), of_customer(orders, june, "bob")) == (["o5"], ["other", "o4"])
    assert orders.wait(orders.social.orders.get("o4")).total == Decimal(10)


# Each is a transaction, so no row is left of another put than its twin's.
def test_an_order_that_many_put_at_once_is_the_same_in_both_lists(service: Service) -> None:
    async def put_all() -> None:
        puts = (placed(date(2026, 1, number), f"c{number}", f"S{number}") for number in range(1, 13))
        await asyncio.gather(*(service.social.orders.put("o1", details) for details in puts))

    service.wait(put_all())
    last = service.wait(service.social.orders.get("o1"))
    year = Days(date(2026, 1, 1), date(2026, 12, 31))
    assert [of_customer(service, year, f"c{number}") for number in range(1, 13) if number != last.placed.day] == [
        []
    ] * 11
    assert of_customer(service, year, last.customer) == of_status(service, last.status, year) == ["o1"]


# With a second row in the same index, an order would be a transaction, of 8 units.
def test_an_order_is_one_write(service: Service) -> None:
    service.wait(service.social.orders.put("o1", placed(date(2026, 1, 1))))
    (put,) = (each for each in service.session.meter.readings() if "Order" in each.path)
    assert put.calls == 1
    if service.session.capabilities.consumed_capacity:
        assert put.write_units == 3


in_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)
"""For what does not depend on the store."""


@in_memory
@pytest.mark.parametrize("total", ["1.005", "NaN", "1000000000000", "-1000000000000", "-1e999999999", "1e-400"])
def test_a_total_that_is_no_amount_is_rejected(service: Service, total: str) -> None:
    with pytest.raises(sk.services.BadRequest, match="total: must be an amount with at most two decimals"):
        service.wait(service.social.orders.put("o1", placed(date(2026, 1, 1), total=total)))
    with pytest.raises(sk.services.NotFound, match="there is no order 'o1'"):
        service.wait(service.social.orders.get("o1"))


def test_amounts_are_kept_exactly(service: Service) -> None:
    for total in ("0", "-12.5", "999999999999.99", "7.10"):
        service.wait(service.social.orders.put("o1", placed(date(2026, 1, 1), total=total)))
        assert service.wait(service.social.orders.get("o1")).total == Decimal(total)


@in_memory
@pytest.mark.parametrize("total", ["-0", "0e999999999", "0E-200", "-0.00"])
def test_there_is_one_zero(service: Service, total: str) -> None:
    put = service.wait(service.social.orders.put("o1", placed(date(2026, 1, 1), total=total)))
    assert str(float(put.total)) == str(float(service.wait(service.social.orders.get("o1")).total)) == "0.0"


@in_memory
def test_a_cursor_of_other_dates_is_rejected_in_plain_words(orders: Service) -> None:
    june, july = asked_days(None, "2026-06", None, None), asked_days(None, "2026-07", None, None)
    ask = orders.social.orders.of_customer
    cursor = orders.wait(ask("ada", june, page_arguments(first=1))).end_cursor
    assert [each.order for each in orders.wait(ask("ada", june, page_arguments(after=cursor)))] == ["o5"]
    with pytest.raises(sk.CursorError, match=r"^the cursor is not one of this list: after and before take a cursor"):
        orders.wait(ask("ada", july, page_arguments(after=cursor)))
