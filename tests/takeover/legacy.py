"""The program whose table is taken over: it builds its keys by f-strings, and writes with boto3.

`row_of(number)` is the row with this number as the program should have written it; `planted(number)` is what it wrote.
About one row in fifty is flawed, in one of the ways that audits know. Both are computed from the number alone, so that
every process knows every row.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID

from sortkey.model.audit.finding import Kind

Row = dict[str, dict[str, Any]]
Fields = dict[str, Any]

FLAWED: Final = 0.02
"""The share of flawed rows."""
ROWS_PER_ACCOUNT: Final = 10
_ENTITIES: Final = ("Customer", *["Order"] * 3, *["Line"] * 5, "Product")
_STATUSES: Final = ("OPEN", "PAID", "SENT")
_CITIES: Final = ("Rome", "New York", "São Paulo")


def entity_of(number: int) -> str:
    return _ENTITIES[number % ROWS_PER_ACCOUNT]


def fields_of(number: int) -> Fields:
    """What the program knows of the row, before it builds attributes and keys."""
    account, place = divmod(number, ROWS_PER_ACCOUNT)
    chance = random.Random(number)
    customer = str(UUID(int=account + 0xABCDEF << 64)).upper()
    at = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}T{chance.randint(0, 23):02}:30:00Z"
    fields: Fields = {"entity": entity_of(number), "account": account, "note": f"row {number}"}
    more: Fields
    match fields["entity"]:
        case "Customer":
            more = {"id": customer, "name": f"Ada {account}", "city": chance.choice(_CITIES), "since": at}
        case "Order":
            more = {"number": place, "customer": customer, "placed": at, "total": decimal(chance.randint(100, 99_999))}
            more |= {"status": chance.choice(_STATUSES), "expires": chance.choice([None, 2_000_000_000 + number])}
        case "Line":
            more = {"order": place % 3 + 1, "line": place, "sku": f"S{number % 97}", "quantity": chance.randint(1, 9)}
        case _:
            more = {"sku": f"S{number}", "title": f"Product {number}", "price": decimal(chance.randint(100, 9_999))}
            more["shelf"] = chance.choice([None, "A1", "B2"])
    return {**fields, **more}


def decimal(cents: int) -> str:
    """As DynamoDB writes the number."""
    return f"{(Decimal(cents) / 100).normalize():f}"


def build(fields: Fields) -> Row:
    """The row of an entity, with its keys."""
    entity, attributes = fields["entity"], {}
    for name, value in fields.items():
        if name not in ("entity", "account") and value is not None:
            is_number = isinstance(value, int) or name in ("total", "price")
            attributes[name] = {"N": str(value)} if is_number else {"S": value}
    row: Row = {"PK": {"N": str(fields["account"])}, **attributes, "checksum": {"B": fields["note"].encode()}}
    return row | _KEYS[entity](fields)


def _customer_keys(f: Fields) -> Row:
    return {"SK": text(f"CUSTOMER#{f['id']}"), "GSI1PK": text(f"CITY#{f['city']}"), "GSI1SK": text(f["since"])}


def _order_keys(f: Fields) -> Row:
    return {
        "SK": text(f"ORDER#{f['number']}"),
        "GSI1PK": text(f"STATUS#{f['status']}"),
        "GSI1SK": text(f"{f['placed']}#{f['number']}"),
        "GSI2PK": text(f"CUSTOMER#{f['customer']}"),
        "GSI2SK": {"N": f["total"]},
    }


def _line_keys(f: Fields) -> Row:
    place = f"{f['order']}#{f['line']}"
    return {"SK": text(f"LINE#{place}"), "GSI1PK": text(f"SKU#{f['sku']}"), "GSI1SK": text(place)}


def _product_keys(f: Fields) -> Row:
    shelved = {"GSI1PK": text(f"SHELF#{f['shelf']}"), "GSI1SK": text(f["sku"])} if f["shelf"] else {}
    priced = {"GSI2PK": text("PRICES"), "GSI2SK": {"N": f["price"]}}
    return {"SK": text(f"PRODUCT#{f['sku']}"), "_v": {"N": "2"}, **priced, **shelved}


def text(value: str) -> dict[str, str]:
    return {"S": value}


_KEYS: Final[dict[str, Callable[[Fields], Row]]] = {
    "Customer": _customer_keys,
    "Order": _order_keys,
    "Line": _line_keys,
    "Product": _product_keys,
}


class Found(NamedTuple):
    """A finding that an audit must report: its class, kind, and index or attribute."""

    entity: str | None
    kind: Kind
    subject: str = ""


class Flaw(NamedTuple):
    change: Callable[[Row], Row]
    """From the right row to the flawed one."""
    finds: tuple[tuple[Kind, str], ...]
    is_repaired: bool = True


class Planted(NamedTuple):
    row: Row
    found: tuple[Found, ...] = ()
    is_repaired: bool = True
    """Whether a repair makes of it what it should be. Otherwise it leaves the row alone."""


def without(*names: str) -> Callable[[Row], Row]:
    return lambda row: {name: value for name, value in row.items() if name not in names}


def changed(**attributes: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, **attributes}


def _more(name: str) -> Callable[[Row], Row]:
    return lambda row: {**row, name: {"N": str(Decimal(row[name]["N"]) + 1)}}


def _replaced(name: str, old: str, new: str) -> Callable[[Row], Row]:
    return lambda row: {**row, name: text(row[name]["S"].replace(old, new))}


def _index_flaws(index: str) -> list[Flaw]:
    partition, sort = f"{index}PK", f"{index}SK"
    return [
        Flaw(without(partition, sort), ((Kind.INDEX_KEY_MISSING, index),)),
        Flaw(without(sort), ((Kind.INDEX_KEY_HALF, index),)),
        Flaw(without(partition), ((Kind.INDEX_KEY_HALF, index),)),
        Flaw(changed(**{partition: text("OLD")}), ((Kind.INDEX_KEY_STALE, index),)),
    ]


def _flaw(kind: Kind, subject: str, change: Callable[[Row], Row]) -> Flaw:
    return Flaw(change, ((kind, subject),), is_repaired=False)


def _in_cents(row: Row) -> Row:
    old = without("price", "_v")(row)
    return {**old, "cents": {"N": str(int(Decimal(row["price"]["N"]) * 100))}}


_FLAWS: Final[dict[str, list[Flaw]]] = {
    "Customer": [
        _flaw(Kind.UNDECODABLE, "", lambda row: {**row, "SK": text(f"CUSTOMER#{row['id']['S'].lower()}")}),
        _flaw(Kind.UNDECODABLE, "", changed(since=text("yesterday"))),
        _flaw(Kind.KEY_DISAGREES, "id", changed(id=text(str(UUID(int=1))))),
        *_index_flaws("GSI1"),
    ],
    "Order": [
        _flaw(Kind.UNRECOGNISED, "", _replaced("SK", "#", "#00")),
        _flaw(Kind.UNDECODABLE, "", changed(total=text("12,50"))),
        _flaw(Kind.KEY_DISAGREES, "number", _more("number")),
        *_index_flaws("GSI1"),
        *_index_flaws("GSI2"),
        Flaw(_more("GSI2SK"), ((Kind.INDEX_KEY_STALE, "GSI2"),)),
        Flaw(changed(expires=text("2033-05-18T03:33:20Z")), ((Kind.TTL, "expires"),)),
        Flaw(changed(expires=text("2000000000")), ((Kind.TTL, "expires"),)),
        Flaw(
            changed(expires={"N": "2000000000000"}), ((Kind.TTL, "expires"), (Kind.UNDECODABLE, "")), is_repaired=False
        ),
    ],
    "Line": [
        _flaw(Kind.UNRECOGNISED, "", _replaced("SK", "LINE#", "LINE#0")),
        _flaw(Kind.UNDECODABLE, "", changed(quantity=text("two"))),
        _flaw(Kind.KEY_DISAGREES, "line", _more("line")),
        *_index_flaws("GSI1"),
    ],
    "Product": [
        _flaw(Kind.UNRECOGNISED, "", _replaced("SK", "PRODUCT#", "PROD#")),
        _flaw(Kind.UNDECODABLE, "", without("title")),
        _flaw(Kind.KEY_DISAGREES, "sku", changed(sku=text("S?"))),
        *_index_flaws("GSI2"),
        Flaw(_in_cents, ((Kind.OLDER_VERSION, ""),)),
        Flaw(lambda row: _in_cents(_more("GSI2SK")(row)), ((Kind.INDEX_KEY_STALE, "GSI2"), (Kind.OLDER_VERSION, ""))),
    ],
}
_LEFT_ON_THE_SHELF: Final = Flaw(changed(GSI1PK=text("SHELF#C3"), GSI1SK=text("S?")), ((Kind.INDEX_KEY_STALE, "GSI1"),))
"""A product without a shelf that is still in the index."""


def planted(number: int) -> Planted:
    """What the program wrote."""
    chance = random.Random(f"flaw {number}")
    right = build(fields_of(number))
    if chance.random() >= FLAWED:
        return Planted(right)
    entity = entity_of(number)
    flaws = _FLAWS[entity]
    if entity == "Product":
        flaws = [*flaws, _LEFT_ON_THE_SHELF] if "shelf" not in right else [*flaws, *_index_flaws("GSI1")]
    flaw = chance.choice(flaws)
    row = flaw.change(right)
    return Planted(row, tuple(_found(entity, *each) for each in flaw.finds), flaw.is_repaired)


def _found(entity: str, kind: Kind, subject: str) -> Found:
    return Found(None if kind is Kind.UNRECOGNISED else entity, kind, subject)


def intended(number: int) -> Fields:
    """The fields that a repair restores: of a TTL it is the time in the row."""
    fields, row = fields_of(number), planted(number).row
    return {**fields, "expires": 2_000_000_000} if "S" in row.get("expires", {}) else fields
