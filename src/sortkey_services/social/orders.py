"""Orders: of a status by day, and of a customer by day. Both ends of every span are included.

Earlier versions had two rows for each order, both in one index. `take_over` gives such orders their place in the index
of customers, and removes their second rows.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from decimal import Decimal
from typing import Annotated, Final, NamedTuple

import msgspec
from litestar import get, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.services.pages import PAGE, AskedPage, PageAnswer, PageArguments, page_answer
from sortkey_services.social.checks import check_id, check_key_text, must_be_readable, page_of
from sortkey_services.social.model import FormerOrder, Order, OrderLists

FORMER_AT_ONCE: Final = 500
CENT: Final = Decimal("0.01")
MAX_TOTAL: Final = Decimal(10) ** 12
"""Beyond it, a JSON number with two decimals would not be exact."""
_AMOUNT: Final = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,2})?")
_MONTH: Final = re.compile(r"(?a)\d{4}-\d\d")
_DAY: Final = re.compile(r"(?a)\d{4}-\d\d-\d\d")

Status = Annotated[str, QueryParameter(description="The status, as orders have it")]
FromDay = Annotated[
    str | None, QueryParameter(name="from", description="The first day, 2026-08-01; the beginning of time")
]
ToDay = Annotated[str | None, QueryParameter(name="to", description="The last day, included; the end of time")]
On = Annotated[str | None, QueryParameter(description="A day: 2026-08-24")]
Month = Annotated[str | None, QueryParameter(description="A month: 2026-08")]
FromMonth = Annotated[str | None, QueryParameter(name="from", description="The first month, 2026-01; with to")]
ToMonth = Annotated[str | None, QueryParameter(name="to", description="The last month, all its days included")]


class Days(NamedTuple):
    """Both are included."""

    first: date
    last: date


ALL_DAYS: Final = Days(date.min, date.max)


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


class OrderDetails(NamedTuple):
    customer: str
    status: str
    placed: date
    total: Decimal


class Orders:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session

    async def put(self, order: str, details: OrderDetails) -> Order:
        """Makes the order or replaces it, in both lists."""
        check_id("order", order)
        row = Order(order=order, **_checked(details)._asdict())
        await self._session.put(row)
        return row

    async def take_over(self) -> None:
        """Looks once at the orders of an existing table; the next call goes on if it is stopped."""
        if await self._session.get(OrderLists.key(), consistent=True) is not None:
            return
        await self._session.fill_index(Order.by_customer)
        former: list[sk.AccessPath[FormerOrder]] = []
        async for row in self._session.scan(FormerOrder):
            former.append(row.key)
            if len(former) == FORMER_AT_ONCE:
                await self._session.batch(delete=former)
                former = []
        await self._session.batch(delete=former)
        await self._session.put(OrderLists(complete=True))

    async def get(self, order: str) -> Order:
        """Raises NotFound."""
        check_id("order", order)
        with must_be_readable(f"the order {order!r}"):
            found = await self._session.get(Order.key(order=order), consistent=True)
        if found is None:
            raise sk.services.NotFound(f"there is no order {order!r}")
        return found

    async def of_status(self, status: str, days: Days, page: PageArguments) -> sk.Page[Order]:
        """By day upward, then by id."""
        check_key_text("status", status)
        return await page_of(self._session, Order.by_status(status=status).between(*days), page)

    async def of_customer(self, customer: str, days: Days, page: PageArguments) -> sk.Page[Order]:
        """By day upward, then by id."""
        check_id("customer", customer)
        return await page_of(self._session, Order.by_customer(customer=customer).between(*days), page)

    @property
    def routes(self) -> list[ControllerRouterHandler]:
        @put("/social/orders/{order:str}", opt={"fast": True}, summary="Make or replace an order")
        async def write(order: FromPath[str], data: JSONBody[OrderBody]) -> OrderAnswer:
            """Both lists have it as it is now."""
            details = OrderDetails(data.customer, data.status, data.placed, amount(data.total))
            return _answer(await self.put(order, details))

        @get("/social/orders/{order:str}", opt={"fast": True}, summary="An order")
        async def show(order: FromPath[str]) -> OrderAnswer:
            return _answer(await self.get(order))

        @get("/social/orders", dependencies={"page": PAGE}, summary="Orders of a status, by day")
        async def of_status(
            status: Status, page: AskedPage, first_day: FromDay = None, last_day: ToDay = None
        ) -> PageAnswer[OrderAnswer]:
            """Both ends are included."""
            first = ALL_DAYS.first if first_day is None else day("from", first_day)
            last = ALL_DAYS.last if last_day is None else day("to", last_day)
            return page_answer(await self.of_status(status, span(first, last), page), _answer)

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
            return page_answer(await self.of_customer(customer, days, page), _answer)

        return [write, show, of_status, of_customer]


def amount(given: str | float) -> Decimal:
    """The amount of a request, a number or a text such as 19.90. Raises BadRequest."""
    text = given if isinstance(given, str) else repr(given)
    if not _AMOUNT.fullmatch(text):
        raise _no_amount(text)
    return Decimal(text)


def _no_amount(given: object) -> sk.services.BadRequest:
    shown = f"{given!s:.40}"
    return sk.services.BadRequest(
        f"total: must be an amount with at most two decimals, below {MAX_TOTAL:,}, not {shown}"
    )


def _checked(details: OrderDetails) -> OrderDetails:
    """With the total in cents. Raises BadRequest."""
    check_id("customer", details.customer)
    check_key_text("status", details.status)
    total = details.total
    # Not abs, which rounds and may overflow.
    if not total.is_finite() or total.copy_abs() >= MAX_TOTAL or total != total.quantize(CENT):
        raise _no_amount(total)
    # The sum with 0 has no negative zero.
    return details._replace(total=total.quantize(CENT) + 0)


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


def day(name: str, text: str) -> date:
    """A day such as 2026-08-24. Raises BadRequest."""
    if _DAY.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise sk.services.BadRequest(f"{name}: must be a day such as 2026-08-24, not {text!r}")


def month(name: str, text: str) -> Days:
    """All days of a month such as 2026-08. Raises BadRequest."""
    if _MONTH.fullmatch(text):
        try:
            first = date.fromisoformat(f"{text}-01")
        except ValueError:
            pass
        else:
            return Days(first, first.replace(day=monthrange(first.year, first.month)[1]))
    raise sk.services.BadRequest(f"{name}: must be a month such as 2026-08, not {text!r}")


def span(first: date, last: date) -> Days:
    """Raises BadRequest if the last is before the first."""
    if last < first:
        raise sk.services.BadRequest(f"to: must not be before from, but {last} is before {first}")
    return Days(first, last)


def _answer(order: Order) -> OrderAnswer:
    return OrderAnswer(order.order, order.customer, order.status, order.placed, float(order.total))
