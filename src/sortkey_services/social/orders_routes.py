"""The routes of orders."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from litestar import get, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.services.pages import PAGE, AskedPage, PageAnswer, page_answer
from sortkey_services.social.checks import Days, day, month, span
from sortkey_services.social.model import CustomerOrder, Order
from sortkey_services.social.orders import OrderDetails, Orders, amount

Status = Annotated[str, QueryParameter(description="The status, as orders have it")]
FromDay = Annotated[
    str | None, QueryParameter(name="from", description="The first day, 2026-08-01; the beginning of time")
]
ToDay = Annotated[str | None, QueryParameter(name="to", description="The last day, included; the end of time")]
On = Annotated[str | None, QueryParameter(description="A day: 2026-08-24")]
Month = Annotated[str | None, QueryParameter(description="A month: 2026-08")]
FromMonth = Annotated[str | None, QueryParameter(name="from", description="The first month, 2026-01; with to")]
ToMonth = Annotated[str | None, QueryParameter(name="to", description="The last month, all its days included")]

ALL_DAYS = Days(date.min, date.max)


class OrderBody(msgspec.Struct, frozen=True):
    customer: str
    status: str
    """A word of the caller's, such as PENDING."""
    placed: date
    total: float | str
    """At most two decimals; as a text, 19.90."""


class OrderAnswer(msgspec.Struct, frozen=True):
    order: str
    customer: str
    status: str
    placed: date
    total: float


def routes(orders: Orders) -> list[ControllerRouterHandler]:
    @put("/social/orders/{order:str}", opt={"fast": True}, summary="Make or replace an order")
    async def write(order: FromPath[str], data: JSONBody[OrderBody]) -> OrderAnswer:
        """Both lists have it as it is now."""
        details = OrderDetails(data.customer, data.status, data.placed, amount(data.total))
        return _shown(await orders.put(order, details))

    @get("/social/orders/{order:str}", opt={"fast": True}, summary="An order")
    async def show(order: FromPath[str]) -> OrderAnswer:
        return _shown(await orders.get(order))

    @get("/social/orders", dependencies={"page": PAGE}, summary="Orders of a status, by day")
    async def of_status(
        status: Status, page: AskedPage, first_day: FromDay = None, last_day: ToDay = None
    ) -> PageAnswer[OrderAnswer]:
        """Both ends are included."""
        first = ALL_DAYS.first if first_day is None else day("from", first_day)
        last = ALL_DAYS.last if last_day is None else day("to", last_day)
        return page_answer(await orders.of_status(status, span(first, last), page), _shown)

    @get("/social/customers/{customer:str}/orders", dependencies={"page": PAGE}, summary="A customer's, by day")
    async def of_customer(
        customer: FromPath[str],
        page: AskedPage,
        on: On = None,
        month: Month = None,
        first_month: FromMonth = None,
        last_month: ToMonth = None,
    ) -> PageAnswer[OrderAnswer]:
        """On a day, in a month, or from one month to another, both with all their days; otherwise all."""
        days = asked_days(on, month, first_month, last_month)
        return page_answer(await orders.of_customer(customer, days, page), _shown)

    return [write, show, of_status, of_customer]


def asked_days(on: str | None, in_month: str | None, first: str | None, last: str | None) -> Days:
    """Raises BadRequest for several questions at once, and for what is no day or month."""
    if sum(each is not None for each in (on, in_month, first or last)) > 1:
        raise sk.services.BadRequest("use one of on, month, and from with to")
    if on is not None:
        return Days(day("on", on), day("on", on))
    if in_month is not None:
        return month("month", in_month)
    begin = ALL_DAYS.first if first is None else month("from", first).first
    end = ALL_DAYS.last if last is None else month("to", last).last
    return span(begin, end)


def _shown(order: Order | CustomerOrder) -> OrderAnswer:
    return OrderAnswer(order.order, order.customer, order.status, order.placed, float(order.total))
