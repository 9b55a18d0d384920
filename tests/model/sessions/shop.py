"""A small shop: three classes in one table, with sparse and overloaded index keys."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import sortkey as sk

SHOP = sk.Table("shop", ttl="expires", stream="NEW_AND_OLD_IMAGES")


class Customer(sk.Item, table=SHOP):
    customer: str
    name: str = ""
    expires: datetime | None = None

    key = sk.Key("CUSTOMER#{customer}", "PROFILE")


class Order(sk.Item, table=SHOP):
    customer: str
    number: int
    status: str = "OPEN"
    city: str | None = None
    total: Decimal = Decimal(0)
    visits: int = 0
    tags: set[str] = sk.field(default_factory=set)
    notes: list[str] = sk.field(default_factory=list)
    updated: int = 0
    revision: int = 0

    key = sk.Key("CUSTOMER#{customer}", "ORDER#{number:06}")
    by_status = sk.Index("gsi1", "STATUS#{status}", "{number:06}")
    by_city = sk.Index("gsi2", "CITY#{city}", "{status}#{visits}")


class Parcel(sk.Item, table=SHOP):
    parcel: str
    status: str

    key = sk.Key("PARCEL#{parcel}", "PARCEL")
    by_status = sk.Index("gsi1", "STATUS#{status}", "PARCEL#{parcel}")


def order(number: int, **fields: Any) -> Order:
    return Order(customer="ada", number=number, **fields)


def numbers(orders: list[Order]) -> list[int]:
    return [each.number for each in orders]
