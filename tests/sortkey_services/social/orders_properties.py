"""After any orders, put once or again, each question about days has the orders of a plain dict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from functools import partial
from itertools import count as counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.services.pages import PageArguments, page_arguments
from sortkey_services.social.model import Order
from sortkey_services.social.orders import Days, OrderDetails, asked_days
from tests.sortkey_services.social.conftest import Service
from tests.stores import given_on_stores

Orders = dict[str, OrderDetails]

_example = counter()
# Many near the ends of months and years, where ranges go wrong.
near_ends = st.builds(
    lambda first, days: first + timedelta(days=days),
    st.sampled_from([date(2026, 1, 1), date(2026, 3, 1), date(2024, 3, 1), date(2026, 7, 1)]),
    st.integers(-2, 1),
)
days = near_ends | st.dates() | st.sampled_from([date.min, date.max])
details = st.builds(
    OrderDetails,
    st.sampled_from(["ada", "ada#1", "ad"]),
    st.sampled_from(["PENDING", "PEND", "SENT"]),
    days,
    st.decimals(-100, 100, places=2),
)
orders = st.lists(st.tuples(st.sampled_from(["1", "2", "#", "10", "é", "a b"]), details), max_size=12)


async def all_orders(ask: Callable[[PageArguments], Awaitable[sk.Page[Order]]], size: int) -> list[str]:
    asked, found = page_arguments(first=size), list[str]()
    while True:
        page = await ask(asked)
        found += [each.order for each in page]
        if not page.has_next:
            return found
        asked = page_arguments(first=size, after=page.end_cursor)


def by_day(orders: Orders, span: Days) -> list[str]:
    inside = [(each.placed, order) for order, each in orders.items() if span.first <= each.placed <= span.last]
    return [order for _, order in sorted(inside)]


@pytest.mark.parametrize("store", ["memory", pytest.param("endpoint", marks=pytest.mark.slow)], indirect=True)
@given_on_stores(given_orders=orders, asked=st.lists(days, min_size=2, max_size=2), size=st.integers(1, 5))
def test_questions_about_days_are_answered_as_by_a_dict(
    service: Service, given_orders: list[tuple[str, OrderDetails]], asked: list[date], size: int
) -> None:
    world = f"w{next(_example)}-"
    social = service.social.orders
    stored: Orders = {}
    for order, each in given_orders:
        stored[world + order] = each._replace(customer=world + each.customer, status=world + each.status)
        service.wait(social.put(world + order, stored[world + order]))
    first, last = sorted(asked)
    month, to_month = (each.isoformat()[:7] for each in (first, last))
    spans = {
        Days(first, last),
        asked_days(first.isoformat(), None, None, None),
        asked_days(None, month, None, None),
        asked_days(None, None, month, to_month),
        asked_days(None, None, None, None),
    }
    for span in spans:
        for customer in {each.customer for each in stored.values()}:
            own = {order: each for order, each in stored.items() if each.customer == customer}
            found = service.wait(all_orders(partial(social.of_customer, customer, span), size))
            assert found == by_day(own, span)
        for status in {each.status for each in stored.values()}:
            own = {order: each for order, each in stored.items() if each.status == status}
            found = service.wait(all_orders(partial(social.of_status, status, span), size))
            assert found == by_day(own, span)
    for order, each in stored.items():
        assert service.wait(social.get(order)).total == each.total


# The same as the routes have it: a month begins with its first day and ends with its last, in leap years, too.
@given(day=st.dates())
def test_a_month_has_the_days_whose_text_begins_with_it(day: date) -> None:
    span = asked_days(None, day.isoformat()[:7], None, None)
    assert span.first <= day <= span.last
    for outside in (span.first.toordinal() - 1, span.last.toordinal() + 1):
        if date.min.toordinal() <= outside <= date.max.toordinal():
            assert date.fromordinal(outside).isoformat()[:7] != day.isoformat()[:7]
