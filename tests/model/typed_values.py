"""A class with every type beyond the plain ones: Any, unions, tuples, durations, dataclasses, and codecs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar

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


class Point(NamedTuple):
    x: int
    y: Decimal = Decimal(0)
    label: str | None = None


class Address(TypedDict):
    street: str
    number: NotRequired[int]
    lines: NotRequired[list[str]]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Day(StrEnum):
    MONDAY = "mon"
    SUNDAY = "sun"


T = TypeVar("T")


class Box(sk.Item, Generic[T]):
    content: T
    others: list[T] = sk.field(default_factory=list)


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
    opens: time = time()
    hours: list[time] = sk.field(default_factory=list)
    point: Point | None = None
    points: dict[str, Point] = sk.field(default_factory=dict)
    address: Address | None = None
    addresses: list[Address] = sk.field(default_factory=list)
    colours: dict[Colour, int] = sk.field(default_factory=dict)
    days: dict[Day, list[time]] = sk.field(default_factory=dict)
    sides: dict[Literal["left", "right"], Point] = sk.field(default_factory=dict)
    box: Box[int] | None = None
    boxes: list[Box[Point]] = sk.field(default_factory=list)

    key = sk.Key("OWNER#{owner}", "THING#{id}")
    by_took = sk.Index("gsi1", "TOOK#{owner}", "{took}")
    by_rank = sk.Index("gsi2", "RANK#{owner}", "{rank}")
    by_price = sk.Index("gsi3", "PRICE#{owner}", "P#{price}#{rank}")
    by_opening = sk.Index("gsi4", "OPENS#{owner}", "{opens}#{id}")
