"""Orders: of a status by day, and of a customer by day. Both ends of every span are included."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.social.checks import Days, check_id, check_key_text
from sortkey_services.social.model import CustomerOrder, Order
from sortkey_services.social.reading import must_be_readable, page_of

CENT: Final = Decimal("0.01")
MAX_TOTAL: Final = Decimal(10) ** 12
"""Beyond it, a JSON number with two decimals would not be exact."""
_AMOUNT: Final = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,2})?")


class OrderDetails(NamedTuple):
    customer: str
    status: str
    placed: date
    total: Decimal


class Orders:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session

    async def put(self, order: str, details: OrderDetails) -> Order:
        """Makes the order or replaces it: both of its rows, or none."""
        check_id("order", order)
        rows = order_rows(order, _checked(details))
        both = sk.Transaction()
        for row in rows:
            both.put(row)
        await self._session.transact(both)
        return rows[0]

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

    async def of_customer(self, customer: str, days: Days, page: PageArguments) -> sk.Page[CustomerOrder]:
        """By day upward, then by id."""
        check_id("customer", customer)
        return await page_of(self._session, CustomerOrder.by_customer(customer=customer).between(*days), page)


def order_rows(order: str, details: OrderDetails) -> tuple[Order, CustomerOrder]:
    """The two rows of an order, one for each of its places in the index."""
    fields = details._asdict()
    return Order(order=order, **fields), CustomerOrder(order=order, **fields)


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
