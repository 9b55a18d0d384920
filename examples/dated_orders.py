"""Composite date keys: a customer's orders on a day, in a month, from January to June.

The parts of the date stand in the sort key from the largest to the smallest, so that a day, a month and a year are
prefixes, and a span of months is one range.
"""

from __future__ import annotations

import sys
from datetime import date, timedelta

import sortkey as sk

ORDERS = sk.Table("orders")


class Order(sk.Item, table=ORDERS):
    customer: str
    year: int
    month: int
    day: int
    order: str

    key = sk.Key("CUSTOMER#{customer}", "YEAR#{year:04}#MONTH#{month:02}#DAY#{day:02}#ORDER#{order}")


def placed(number: int) -> Order:
    day = date(2026, 1, 1) + timedelta(days=number)
    return Order(customer="ann", year=day.year, month=day.month, day=day.day, order=f"o{number:03}")


def main(url: str) -> None:
    questions = {
        "on 24 August": Order.key(customer="ann", year=2026, month=8, day=24),
        "in August": Order.key(customer="ann", year=2026, month=8),
        "January to June": Order.key(customer="ann", year=2026).between(1, 6),
    }
    with sk.connect(url, tables=[ORDERS]) as db:
        db.create_tables()
        db.batch(put=[placed(number) for number in range(365)])
        for question, path in questions.items():
            print(f"{question}: {db.count(path)} orders")
            print(db.explain(path), "\n")
        try:
            Order.key(customer="ann", month=8)
        except sk.NoAccessPath as error:
            print("any August:", error)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory:")
