"""A class whose names type checkers know, with a field of every kind that `sk.F` treats on its own."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Literal

import sortkey as sk

NAMED = sk.Table("typing-named")


class Size(StrEnum):
    SMALL = "S"
    LARGE = "L"


class Line(sk.Item):
    text: str
    quantity: int = 1


class Product(sk.Item, table=NAMED):
    tenant: str
    number: int
    stock: int = 0
    reserved: int | None = None
    price: Decimal | None = None
    status: Literal["NEW", "SOLD"] = "NEW"
    size: Size = Size.SMALL
    city: str | None = None
    line: Line | None = None
    lines: list[Line] = sk.field(default_factory=list)
    tags: set[str] = sk.field(default_factory=set)
    counts: dict[str, int] = sk.field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    is_new: bool = True
    changed: datetime | None = None

    @sk.Key("TENANT#{tenant}", "PRODUCT#{number:06}")
    def key(self, *, tenant: str, number: int = ...) -> None: ...

    @sk.Index("gsi1", "SIZE#{size}", "{city}#{number:06}")
    def by_size(self, *, size: Size, city: str = ..., number: int = ...) -> None: ...

    @sk.Index("by_status", ("tenant", "status"), ("number",))
    def by_status(self, *, tenant: str, status: Literal["NEW", "SOLD"], number: int = ...) -> None: ...

    by_price = sk.Index("gsi2", "TENANT#{tenant}", "{price}")


class Other(sk.Item, table=NAMED):
    tenant: str
    stock: int = 0

    @sk.Key("TENANT#{tenant}", "OTHER")
    def key(self, *, tenant: str) -> None: ...
