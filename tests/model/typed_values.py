"""A class with every type beyond the plain ones: Any, unions, tuples, durations, dataclasses, and codecs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import msgspec

import sortkey as sk


class Circle(msgspec.Struct, tag=True):
    radius: int


class Square(msgspec.Struct, tag=True):
    side: Decimal
    label: str | None = None


@dataclass
class Size:
    width: int
    height: int = 1
    notes: list[str] = field(default_factory=list)
    area: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.area = self.width * self.height


class Money(NamedTuple):
    amount: Decimal
    currency: str

    @property
    def text(self) -> str:
        return f"{self.currency} {self.amount}"

    @classmethod
    def parse(cls, text: str) -> Money:
        currency, _, amount = text.partition(" ")
        return cls(Decimal(amount), currency)


class Rank:
    """An order of its own, stored as a number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rank) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"Rank({self.number})"


sk.codec(Rank, int, encode=lambda rank: rank.number, decode=Rank)

Price = Annotated[Money, sk.stored_as(str, encode=lambda money: money.text, decode=Money.parse)]
THINGS = sk.Table("typed-things")


class Thing(sk.Item, table=THINGS):
    owner: str
    id: int
    payload: Any = None
    settings: dict[str, Any] = sk.field(default_factory=dict)
    rough: Annotated[Any, sk.inexact] = None
    code: str | int | None = None
    shape: Circle | Square | None = None
    figures: list[Circle | Square | str] = sk.field(default_factory=list)
    pair: tuple[int, str] = (0, "")
    path: tuple[str, ...] = ()
    took: timedelta = timedelta()
    size: Size | None = None
    sizes: dict[str, Size] = sk.field(default_factory=dict)
    price: Price | None = None
    prices: list[Price] = sk.field(default_factory=list)
    rank: Rank = Rank(1)
    seen: Annotated[datetime, sk.epoch_ms] | None = None
    at: Annotated[datetime, sk.seconds] | None = None

    key = sk.Key("OWNER#{owner}", "THING#{id}")
    by_took = sk.Index("gsi1", "TOOK#{owner}", "{took}")
    by_rank = sk.Index("gsi2", "RANK#{owner}", "{rank}")
    by_price = sk.Index("gsi3", "PRICE#{owner}", "P#{price}#{rank}")
