"""What the tests of bounded collections declare: boards with pins as a set, and albums with pictures as rows."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import sortkey as sk

BOARDS = sk.Table("bounded-boards")
ALBUMS = sk.Table("bounded-albums")


class Board(sk.Item, table=BOARDS):
    user: str
    name: str = ""
    pins: set[str] = sk.field(default_factory=set)
    lucky: frozenset[int] = frozenset()
    prices: set[Decimal] = sk.field(default_factory=set)
    hashes: set[bytes] = sk.field(default_factory=set)
    seen: set[datetime] = sk.field(default_factory=set)
    ids: set[UUID] = sk.field(default_factory=set)
    chosen: frozenset[str] = frozenset({"first"})
    changed: Annotated[datetime | None, sk.updated] = None
    key = sk.Key("BOARD#{user}")


class Album(sk.Item, table=ALBUMS):
    id: str
    pictures: int = 0
    key = sk.Key("ALBUM#{id}", "ALBUM")


class Picture(sk.Item, table=ALBUMS):
    album: str
    name: str
    width: int = 0
    key = sk.Key("ALBUM#{album}", "PICTURE#{name}")


ADA = Board.key(user="ada")
HOLIDAYS = Album.key(id="holidays")


def picture(name: str, width: int = 0) -> Picture:
    return Picture(album="holidays", name=name, width=width)


def picture_key(name: str) -> sk.AccessPath[Picture]:
    return Picture.key(album="holidays", name=name)


def store_ids(db: sk.Session, *forms: str) -> None:
    """As another program might: a UUID in capital letters is the same UUID."""
    db.client.put_item(
        TableName="bounded-boards",
        Item={"pk": {"S": "BOARD#ada"}, "user": {"S": "ada"}, **({"ids": {"SS": list(forms)}} if forms else {})},
    )
