"""`sk.read`: rows that did not come through a session."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, assert_type

import pytest
from boto3.dynamodb.types import Binary

import sortkey as sk
from sortkey.client.boto3_shapes import to_dynamodb_json
from tests.model.sessions.shop import SHOP, Customer, Order

FILES = sk.Table("raw-files")


class Part(sk.Item):
    content: bytes


class File(sk.Item, table=FILES):
    id: bytes
    number: int
    content: bytes = b""
    parts: list[Part] = sk.field(default_factory=list)
    hashes: set[bytes] = sk.field(default_factory=set)
    sizes: set[int] = sk.field(default_factory=set)
    ready: bool = False
    note: str | None = "none"

    key = sk.Key("{id}", "{number}", names=("id", "number"))


FILE = File(
    id=b"\x00\xff",
    number=7,
    content=b"\xfe",
    parts=[Part(content=b"\x01")],
    hashes={b"\x02\x03"},
    sizes={1, 2},
    ready=True,
    note=None,
)
LOW_LEVEL = {
    "id": {"B": b"\x00\xff"},
    "number": {"N": "7"},
    "content": {"B": b"\xfe"},
    "parts": {"L": [{"M": {"content": {"B": b"\x01"}}}]},
    "hashes": {"BS": [b"\x02\x03"]},
    "sizes": {"NS": ["1", "2"]},
    "ready": {"BOOL": True},
    "note": {"NULL": True},
}


RESOURCE = {
    "id": Binary(b"\x00\xff"),
    "number": Decimal(7),
    "content": bytearray(b"\xfe"),
    "parts": [{"content": Binary(b"\x01")}],
    "hashes": {Binary(b"\x02\x03")},
    "sizes": {Decimal(1), Decimal(2)},
    "ready": True,
    "note": None,
}
DYNAMODB_JSON = json.loads(json.dumps(to_dynamodb_json(LOW_LEVEL)))


@pytest.mark.parametrize("row", [LOW_LEVEL, RESOURCE, DYNAMODB_JSON], ids=["low-level", "resource", "dynamodb-json"])
def test_every_shape_of_a_row(row: dict[str, Any]) -> None:
    assert_type(sk.read(row, File), File)
    assert_type(sk.read(row, FILES), sk.Item)
    assert sk.read(row, File) == sk.read(row, FILES) == FILE


def test_what_the_store_returns(db: sk.Session) -> None:
    db.create_tables(FILES)
    db.put(FILE)
    assert sk.read(db.client.get_item(TableName="raw-files", Key=FILE.key.key())["Item"], File) == FILE
    assert [sk.read(row, FILES) for row in db.scan_rows(FILES)] == [FILE]


def test_classes_are_told_apart_by_their_keys() -> None:
    customer = {"pk": "CUSTOMER#ada", "sk": "PROFILE", "name": "Ada"}
    assert sk.read(customer, SHOP) == Customer(customer="ada", name="Ada")
    with pytest.raises(sk.DecodeError, match=r"sk='PROFILE' .*it is of the class Customer, not Order"):
        sk.read(customer, Order)


def test_attributes_that_nobody_declared_are_kept() -> None:
    found = sk.read({"pk": "CUSTOMER#ada", "sk": "PROFILE", "shoe": Decimal("38.5")}, Customer)
    assert sk.extra(found) == {"shoe": {"N": "38.5"}}


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"sk": "PROFILE"}, r"has the key attributes pk, sk; this one lacks pk: "),
        ({}, "this one lacks pk, sk"),
        ("CUSTOMER#ada", "this one lacks pk, sk: 'CUSTOMER#ada'"),
        (
            {"pk": "CUSTOMER#ada", "sk": "ORDER#3"},
            r"sk='ORDER#3' .*'ORDER#\{number:d\}'.* would read",
        ),
        ({"pk": "CUSTOMER#ada", "sk": "ORDER#000003", "total": "much"}, r"sk='ORDER#000003' cannot be read: .*total"),
        ({"pk": {"S": "a"}, "sk": {"S": "b"}, "c": {"X": 1}}, "c is not an attribute value: 'X' is not a type; .*pk="),
        ({"pk": {"S": "a"}, "sk": {"S": "b"}, "c": {"B": "§"}}, "c is not an attribute value"),
        ({"pk": {"S": "a"}, "sk": {"S": "b"}, "c": {"S": "x", "N": "1"}}, "has not exactly one type"),
        ({"pk": {"S": "a"}, "sk": {"S": "b"}, "c": "text"}, "c is not an attribute value"),
        ({"pk": "a", "sk": "b", "c": 1.5}, "c is not an attribute value: .*1.5"),
    ],
)
def test_errors_name_the_key_and_the_reason(row: Any, error: str) -> None:
    with pytest.raises(sk.DecodeError, match=error):
        sk.read(row, SHOP)


def test_the_error_has_the_key() -> None:
    with pytest.raises(sk.DecodeError) as caught:
        sk.read({"pk": "CUSTOMER#ada", "sk": "ORDER#3"}, Order)
    assert caught.value.key == {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#3"}}


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="expected the row's class or table"):
        sk.read({}, "shop")  # type: ignore[call-overload]
    with pytest.raises(sk.DeclarationError, match="has no classes"):
        sk.read({}, sk.Table("raw-nothing"))
    with pytest.raises(sk.DeclarationError, match="Part has no table"):
        sk.read({}, Part)
