"""A shop in one table: customers, their orders with lines, and products with a stock that never goes below zero.

An order is placed by a transaction: the order is written with its number, and the stock of each product goes down, if
there is enough of it. The customer's page is one query, for the customer and the orders. The list of open orders is an
index that has only what the list shows.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from itertools import count

import sortkey as sk

SHOP = sk.Table("webshop", transactions=True)


class Status(StrEnum):
    OPEN = "OPEN"
    SENT = "SENT"


class Line(sk.Item):
    product: str
    quantity: int
    price: Decimal


class Customer(sk.Item, table=SHOP):
    customer: str
    name: str
    orders: int = 0

    @sk.Key("CUSTOMER#{customer}", "CUSTOMER")
    def key(self, *, customer: str) -> None: ...


class Order(sk.Item, table=SHOP):
    customer: str
    number: int
    placed: datetime
    lines: list[Line]
    total: Decimal
    status: Status = Status.OPEN

    @sk.Key("CUSTOMER#{customer}", "ORDER#{number:06}")
    def key(self, *, customer: str, number: int = ...) -> None: ...

    @sk.Index("gsi1", "STATUS#{status}", "{placed}", projection=["total"])
    def by_status(self, *, status: Status, placed: datetime = ...) -> None: ...


class Product(sk.Item, table=SHOP):
    product: str
    category: str
    price: Decimal
    stock: int = 0

    @sk.Key("PRODUCT#{product}", "PRODUCT")
    def key(self, *, product: str) -> None: ...

    @sk.Index("gsi2", "CATEGORY#{category}", "{price}#{product}")
    def by_category(self, *, category: str, price: Decimal = ..., product: str = ...) -> None: ...


class OutOfStock(Exception):
    """The shop does not have as much of these products."""


def place_order(db: sk.Session, customer: str, wanted: Mapping[str, int], placed: datetime) -> Order:
    found = db.get_many([Product.key(product=product) for product in wanted])
    products = [product for product in found if product is not None]
    unknown = wanted.keys() - {each.product for each in products}
    if unknown:
        raise OutOfStock(", ".join(sorted(unknown)))
    lines = [Line(product=each.product, quantity=wanted[each.product], price=each.price) for each in products]
    total = sum((line.price * line.quantity for line in lines), Decimal(0))
    # The number is taken first. A number whose order fails is never used.
    number = db.update(Customer.key(customer=customer), sk.F(Customer.orders).add(1)).orders
    order = Order(customer=customer, number=number, placed=placed, lines=lines, total=total)
    stock = sk.F(Product.stock)
    sale = sk.Transaction()
    for line in lines:
        sale.update(Product.key(product=line.product), stock.add(-line.quantity), where=stock >= line.quantity)
    sale.put(order, if_absent=True)
    try:
        db.transact(sale)
    except sk.TransactionFailed as error:
        short = [line.product for line, reason in zip(lines, error.reasons, strict=False) if reason is not None]
        raise OutOfStock(", ".join(short)) from error
    return order


def one_more(db: sk.Session, order: Order) -> None:
    """Adds one to the order's first line, as long as the order has not been sent and the shop has one more."""
    first, stock = order.lines[0], sk.F(Product.stock)
    change = sk.Transaction()
    change.update(
        order.key,
        [sk.F(Order.lines)[0].at(Line.quantity).add(1), sk.F(Order.total).add(first.price)],
        where=sk.F(Order.status) == Status.OPEN,
    )
    change.update(Product.key(product=first.product), stock.add(-1), where=stock >= 1)
    db.transact(change)


def customer_page(db: sk.Session, customer: str) -> tuple[Customer | None, list[Order]]:
    """The customer and the orders, by one query."""
    items = list(db.iterate(sk.collection(Customer.key, customer=customer)))
    found = [item for item in items if isinstance(item, Customer)]
    return (found[0] if found else None), [item for item in items if isinstance(item, Order)]


def main(url: str) -> None:
    clock = (datetime(2026, 8, 24, hour, tzinfo=UTC) for hour in count(8))
    with sk.connect(url, tables=[SHOP]) as db:
        db.create_tables()
        db.batch(
            put=[
                Customer(customer="ada", name="Ada"),
                Customer(customer="bob", name="Bob"),
                Product(product="lamp", category="home", price=Decimal("19.90"), stock=5),
                Product(product="sofa", category="home", price=Decimal(700), stock=1),
                Product(product="desk", category="work", price=Decimal(250), stock=2),
            ]
        )
        order = place_order(db, "ada", {"lamp": 2, "sofa": 1}, next(clock))
        print(f"order {order.number} of ada: {order.total:.2f}")
        try:
            place_order(db, "bob", {"lamp": 1, "sofa": 1}, next(clock))
        except OutOfStock as error:
            print(f"bob's order failed, out of stock: {error}")
        order = place_order(db, "ada", {"desk": 1}, next(clock))
        one_more(db, order)

        cheap = Product.by_category(category="home").before(Decimal(100))
        print("cheap:", [(each.product, each.stock) for each in db.iterate(cheap)])

        opened = Order.by_status(status=Status.OPEN)
        page = db.page(opened, first=1)
        # These items are partial: they have their keys and the total, but not the lines.
        print("open:", [f"{part.customer}'s order {part.number} of {part.total:.2f}" for part in page])
        page = db.page(opened, first=1, after=page.end_cursor)
        for sent in db.whole(page):
            print("sent:", [line.product for line in sent.lines])
            db.update(sent.key, sk.F(Order.status).set(Status.SENT), where=sk.F(Order.status) == Status.OPEN)
        print(f"still open: {db.count(opened)}")
        try:
            one_more(db, order)
        except sk.TransactionFailed as error:
            print("too late:", error)

        customer, orders = customer_page(db, "ada")
        if customer is not None:
            print(f"{customer.name} has {len(orders)} orders of {sum(each.total for each in orders):.2f}")
        for path in (cheap, opened, sk.collection(Customer.key, customer="ada")):
            print(db.explain(path), "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory:")
