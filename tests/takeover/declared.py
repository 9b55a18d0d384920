"""The table that another program wrote, declared: its attribute names, its number key, the forms of its keys."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import sortkey as sk

LEGACY = sk.Table("legacy-shop", ttl="expires")
KEY = ("PK", "SK")
GSI1 = ("GSI1PK", "GSI1SK")
GSI2 = ("GSI2PK", "GSI2SK")

UpperUUID = Annotated[UUID, sk.stored_as(str, encode=lambda id_: str(id_).upper(), decode=UUID)]
"""The other program writes UUIDs in capitals."""


class Customer(sk.Item, table=LEGACY):
    account: Annotated[int, sk.in_key]
    id: UpperUUID
    name: str
    city: str
    since: Annotated[datetime, sk.seconds]

    key = sk.Key("{account}", "CUSTOMER#{id}", names=KEY)
    by_city = sk.Index("GSI1", "CITY#{city:raw}", "{since}", names=GSI1)


class Order(sk.Item, table=LEGACY):
    account: Annotated[int, sk.in_key]
    number: int
    customer: UpperUUID
    status: str
    placed: Annotated[datetime, sk.seconds]
    total: Decimal
    expires: datetime | None = None

    key = sk.Key("{account}", "ORDER#{number:d}", names=KEY)
    by_status = sk.Index("GSI1", "STATUS#{status}", "{placed}#{number:d}", names=GSI1)
    by_total = sk.Index("GSI2", "CUSTOMER#{customer}", "{total}", names=GSI2)


class Line(sk.Item, table=LEGACY):
    account: Annotated[int, sk.in_key]
    order: int
    line: int
    sku: str
    quantity: int

    key = sk.Key("{account}", "LINE#{order:d}#{line:d}", names=KEY)
    by_sku = sk.Index("GSI1", "SKU#{sku}", "{order:d}#{line:d}", names=GSI1)


class Product(sk.Item, table=LEGACY, version=2):
    account: Annotated[int, sk.in_key]
    sku: str
    title: str
    price: Decimal
    shelf: str | None = None

    key = sk.Key("{account}", "PRODUCT#{sku}", names=KEY)
    by_shelf = sk.Index("GSI1", "SHELF#{shelf}", "{sku}", names=GSI1)
    by_price = sk.Index("GSI2", "PRICES", "{price}", names=GSI2)


@Product.upgrade(1)
def cents_became_a_price(row: dict[str, Any]) -> dict[str, Any]:
    row["price"] = row.pop("cents") / 100
    return row
