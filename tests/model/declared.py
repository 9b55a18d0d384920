"""Classes as users would declare them: prices, a social graph, and one of every type."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

import msgspec

import sortkey as sk


class Price(sk.Item, table="declared-prices"):
    store: str
    product: str
    channel: str = "ALL"
    kind: str = "Base"
    effective: datetime
    amount: Decimal

    key = sk.Key("STORE#{store}", "{channel}#{kind}#{product}#{effective}")
    by_product = sk.Index("gsi1", "TYPE#{kind}#{product}", "{channel}#{store}")


class User(sk.Item, table="declared-social"):
    user: str
    city: str | None = None

    key = sk.Key("USER#{user}", "USER#{user}")
    by_city = sk.Index("gsi1", "CITY#{city}", "USER#{user}")


class Follow(sk.Item, table="declared-social"):
    user: str
    other: str

    key = sk.Key("USER#{user}", "FOLLOWS#{other}")
    followers = sk.Index("gsi1", "USER#{other}", "FOLLOWED_BY#{user}")


class Order(sk.Item, table="declared-social"):
    user: str
    order: str
    year: int
    month: int
    day: int
    status: str | None = None
    total: Decimal | None = None

    key = sk.Key("USER#{user}", "YEAR#{year:04}#MONTH#{month:02}#DAY#{day:02}#ORDER#{order}")
    by_status = sk.Index("gsi1", "STATUS#{status}", "{year:04}-{month:02}-{day:02}#{order}")


class Score(sk.Item, table="declared-scores"):
    game: str
    player: str
    score: int

    key = sk.Key("{game}", "{player}", names=("game", "player"))
    ranking = sk.Index("ranking", "{game}", "{score}", names=("game", "score"), projection="KEYS_ONLY", local=True)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(sk.Item):
    street: str
    number: int = 1


class Point(msgspec.Struct):
    x: Decimal
    y: Decimal


class Everything(sk.Item, table="declared-everything"):
    id: UUID
    text: str = ""
    whole: int = 0
    exact: Decimal = Decimal(0)
    rough: Annotated[float, sk.inexact] = 0.5
    flag: bool = False
    raw: bytes = b""
    moment: datetime | None = None
    day: date | None = None
    colour: Colour = Colour.RED
    size: Literal["S", "L"] = "S"
    level: Literal[1, 2] = 1
    home: Address | None = None
    points: list[Point] = sk.field(default_factory=list)
    counts: dict[str, int] = sk.field(default_factory=dict)
    holes: list[str | None] = sk.field(default_factory=list)
    tags: set[str] = sk.field(default_factory=set)
    primes: frozenset[int] = frozenset()
    amounts: set[Decimal] = sk.field(default_factory=set)
    blobs: set[bytes] = sk.field(default_factory=set)
    groups: dict[str, set[str]] = sk.field(default_factory=dict)
    nickname: str | None = "none yet"
    needed: str | None
    labels: set[str]
    friends: list[Everything] = sk.field(default_factory=list)

    key = sk.Key("{id}")
