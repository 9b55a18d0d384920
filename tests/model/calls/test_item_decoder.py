"""Rows of every store become items: with keys and filters of bytes, and with undeclared or wrong attributes."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from tests.model.sessions.shop import Order, order

BLOBS = sk.Table("blobs")


class Blob(sk.Item, table=BLOBS):
    owner: bytes
    part: bytes
    mark: bytes = b""
    parts: list[bytes] = sk.field(default_factory=list)

    key = sk.Key("{owner}", "{part}", names=("owner", "part"))


def blob(part: int, **fields: Any) -> Blob:
    return Blob(owner=b"\xff\x00", part=bytes([part]), **fields)


@pytest.fixture
def blobs(db: sk.Session) -> sk.Session:
    db.create_tables(BLOBS)
    db.batch(put=[blob(part, mark=bytes([part % 2]), parts=[b"\xfe", b""]) for part in range(5)])
    return db


# Only the key's declaration tells base64 from text.
def test_keys_of_bytes(blobs: sk.Session) -> None:
    third = blob(3, mark=b"\x01", parts=[b"\xfe", b""])
    assert blobs.get(third.key) == third
    assert blobs.get(third.key, consistent=True) == third
    assert blobs.get(Blob.key(owner=b"\xff", part=b"\x00")) is None
    asked = [{"owner": b"\xff\x00", "part": bytes([part])} for part in (3, 9, 3)]
    assert blobs.lookup(Blob.key, asked) == [third, None, third]


def test_pages_of_bytes(blobs: sk.Session) -> None:
    path = Blob.key(owner=b"\xff\x00")
    page = blobs.page(path, first=2)
    assert [each.part for each in page.items] == [b"\x00", b"\x01"]
    page = blobs.page(path, first=9, after=page.end_cursor)
    assert [each.part for each in page.items] == [b"\x02", b"\x03", b"\x04"]
    marked = blobs.page(path, where={"mark": b"\x01"})
    assert [each.part for each in marked.items] == [b"\x01", b"\x03"]
    assert [each.part for each in blobs.iterate(path.after(b"\x02"))] == [b"\x03", b"\x04"]


# Another program wrote more attributes than the class declares; writing the item back must keep them.
def test_what_a_class_does_not_declare_is_kept(db: sk.Session) -> None:
    row = {**schema_of(Order).encode(order(1)), "raw": {"B": b"\xff"}, "deep": {"L": [{"B": b"\x00"}]}}
    db.client.put_item(TableName="shop", Item=row)
    db.put(order(2))
    asked = [{"customer": "ada", "number": 1}]
    for found in (
        db.get(order(1).key),
        db.lookup(Order.key, asked)[0],
        db.page(Order.key(customer="ada")).items[0],
        next(iter(db.iterate(Order.key(customer="ada")))),
    ):
        assert found == order(1)
        assert sk.extra(found) == {"raw": {"B": b"\xff"}, "deep": {"L": [{"B": b"\x00"}]}}


# A cursor belongs to the row, even if its item was changed since.
def test_cursors_of_items_that_were_changed(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(4)])
    page = db.page(Order.key(customer="ada"), first=2)
    page.items[1].number = 77
    page = db.page(Order.key(customer="ada"), first=2, after=page.end_cursor)
    assert [each.number for each in page.items] == [2, 3]


def test_a_row_that_cannot_be_decoded_raises(db: sk.Session) -> None:
    row = {**schema_of(Order).encode(order(1)), "visits": {"S": "many"}}
    db.client.put_item(TableName="shop", Item=row)
    for read in (
        lambda: db.get(order(1).key),
        lambda: db.lookup(Order.key, [{"customer": "ada", "number": 1}]),
        lambda: db.page(Order.key(customer="ada")),
    ):
        with pytest.raises(sk.DecodeError, match=r"Order\.visits: expected N, found"):
            read()
