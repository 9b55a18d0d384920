"""Items: every type there and back, what is left out, what is kept, and how old rows become new ones."""

from __future__ import annotations

import copy
import pickle
import types
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest

import sortkey as sk
from sortkey.model.fields.codec import Row
from sortkey.model.items.item import schema_of
from tests.model.declared import Address, Colour, Everything, Point, Price

ID = UUID(int=7)
FULL = Everything(
    id=ID,
    text="a#b",
    whole=-5,
    exact=Decimal("1.50"),
    rough=0.1,
    flag=True,
    raw=b"\x00",
    moment=datetime(2026, 8, 24, 12, tzinfo=UTC),
    day=date(2026, 8, 24),
    colour=Colour.BLUE,
    size="L",
    level=2,
    home=Address(street="High Street"),
    points=[Point(Decimal(1), Decimal(2))],
    counts={"a": 1},
    holes=["a", None],
    tags={"x", "y"},
    primes=frozenset({2, 3}),
    amounts={Decimal("1.5")},
    blobs={b"b"},
    groups={"g": {"m"}, "none": set()},
    nickname=None,
    needed=None,
    labels=set(),
    friends=[Everything(id=ID, needed="x", labels={"l"})],
)


def encode(item: sk.Item) -> Row:
    return schema_of(type(item)).encode(item)


def decode(cls: type[sk.Item], row: Row) -> sk.Item:
    return schema_of(cls).decode(row)


def test_a_row_has_the_attributes_and_the_keys() -> None:
    price = Price(store="1", product="P", effective=datetime(2026, 8, 24, tzinfo=UTC), amount=Decimal("1.5"))
    assert encode(price) == {
        "store": {"S": "1"},
        "product": {"S": "P"},
        "channel": {"S": "ALL"},
        "kind": {"S": "Base"},
        "effective": {"S": "2026-08-24T00:00:00.000000Z"},
        "amount": {"N": "1.5"},
        "pk": {"S": "STORE#1"},
        "sk": {"S": "ALL#Base#P#2026-08-24T00:00:00.000000Z"},
        "gsi1pk": {"S": "TYPE#Base#P"},
        "gsi1sk": {"S": "ALL#1"},
    }


def test_every_type_comes_back() -> None:
    assert decode(Everything, encode(FULL)) == FULL


def test_every_type_has_its_shape() -> None:
    row = encode(FULL)
    assert row["id"] == {"S": str(ID)}
    assert row["rough"] == {"N": "0.1"}
    assert row["flag"] == {"BOOL": True}
    assert row["raw"] == {"B": b"\x00"}
    assert row["day"] == {"S": "2026-08-24"}
    assert row["colour"] == {"S": "blue"}
    assert row["level"] == {"N": "2"}
    assert row["home"] == {"M": {"street": {"S": "High Street"}, "number": {"N": "1"}}}
    assert row["holes"] == {"L": [{"S": "a"}, {"NULL": True}]}
    assert row["tags"] == {"SS": ["x", "y"]}
    assert row["primes"] == {"NS": ["2", "3"]}
    assert row["blobs"] == {"BS": [b"b"]}
    assert row["groups"] == {"M": {"g": {"SS": ["m"]}, "none": {"NULL": True}}}


# What reading supplies anyway takes no place, and a sparse index depends on it.
def test_none_and_empty_sets_are_left_out() -> None:
    row = encode(Everything(id=ID, needed=None, labels=set()))
    assert not row.keys() & {"moment", "day", "home", "needed", "labels", "tags", "primes"}


# Left out, it would come back as its default.
def test_none_is_kept_where_the_default_is_another() -> None:
    assert encode(FULL)["nickname"] == {"NULL": True}
    assert "nickname" in encode(Everything(id=ID, needed=None, labels=set()))


def test_defaults_fill_what_a_row_lacks() -> None:
    assert decode(Everything, {"pk": {"S": str(ID)}, "id": {"S": str(ID)}}) == Everything(
        id=ID, needed=None, labels=set()
    )


# KEYS_ONLY indexes, and rows that others wrote, have some fields only in their keys.
def test_fields_are_read_from_the_key_where_the_row_has_them_nowhere_else() -> None:
    row = encode(Price(store="1", product="P", effective=datetime(2026, 8, 24, tzinfo=UTC), amount=Decimal(2)))
    bare = {name: row[name] for name in ("pk", "sk", "gsi1pk", "gsi1sk", "amount")}
    assert decode(Price, bare) == decode(Price, row)


def test_a_row_that_lacks_a_field_is_rejected() -> None:
    with pytest.raises(sk.DecodeError, match="a row of Price has no amount"):
        decode(Price, {"pk": {"S": "STORE#1"}, "sk": {"S": "ALL#Base#P#2026-08-24T00:00:00.000000Z"}})


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("amount", {"S": "1"}, r"Price.amount: expected N, found \{'S': '1'\}"),
        ("amount", {"NULL": True}, r"Price.amount: expected N, found \{'NULL': True\}; a field that may be None"),
        ("effective", {"N": "1787572800"}, r"Price.effective: expected S, .* Annotated\[datetime, sk.epoch\] reads"),
        ("effective", {"S": "2026-08-24T00:00:00"}, "Price.effective: .* no time zone"),
        ("effective", {"S": "tomorrow"}, "Price.effective: .*tomorrow"),
    ],
)
def test_a_row_of_another_shape_is_rejected(attribute: str, value: dict[str, Any], message: str) -> None:
    row = encode(Price(store="1", product="P", effective=datetime(2026, 8, 24, tzinfo=UTC), amount=Decimal(2)))
    with pytest.raises(sk.DecodeError, match=message):
        decode(Price, row | {attribute: value})


def test_a_value_that_its_enum_does_not_have_is_rejected() -> None:
    with pytest.raises(sk.DecodeError, match=r"Everything\.colour: .*'pink' is none of 'red'"):
        decode(Everything, encode(FULL) | {"colour": {"S": "pink"}})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": 5}, "Everything.text: expected str, got int 5"),
        ({"whole": True}, "Everything.whole: expected int, got bool True"),
        ({"whole": 10**40 + 1}, "Everything.whole: .*38"),
        ({"exact": Decimal("NaN")}, "Everything.exact: NaN is not a number"),
        ({"exact": 1.5}, "Everything.exact: expected Decimal, got float 1.5"),
        ({"rough": float("inf")}, "Everything.rough: inf"),
        ({"text": None}, "Everything.text: expected str, got None"),
        ({"moment": datetime(2026, 1, 1)}, "Everything.moment: .* has no time zone"),  # noqa: DTZ001
        ({"tags": ["x"]}, "Everything.tags: expected set, got list"),
        ({"colour": "red"}, "Everything.colour: expected one of"),
        ({"home": Point(Decimal(1), Decimal(1))}, "Everything.home: expected Address, got Point"),
    ],
)
def test_a_wrong_value_is_rejected_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.EncodeError, match=message):
        encode(sk.replace(FULL, **changes))


# Another version of the program may know attributes that this one does not.
def test_unknown_attributes_survive_reading_changing_and_writing() -> None:
    row = encode(FULL) | {"newer": {"S": "kept"}}
    row["home"]["M"]["floor"] = {"N": "3"}
    item = schema_of(Everything).decode(row)
    assert item == FULL
    assert "newer" not in repr(item)
    assert sk.extra(item) == {"newer": {"S": "kept"}}
    item.text = "changed"
    assert encode(item) == row | {"text": {"S": "changed"}}


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item)), sk.replace]
)
def test_copies_keep_unknown_attributes(copied: Any) -> None:
    item = schema_of(Everything).decode(encode(FULL) | {"newer": {"S": "kept"}})
    assert copied(item) == item
    assert sk.extra(copied(item)) == {"newer": {"S": "kept"}}


def test_attributes_may_have_other_names() -> None:
    class Camel(sk.Item, table=sk.Table("camel"), rename="camel"):
        partner_id: str

        key = sk.Key("{partner_id}")

    assert encode(Camel(partner_id="1")) == {"partnerId": {"S": "1"}, "pk": {"S": "1"}}


def test_float_is_rejected_at_import() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Weighed.weight: float cannot hold .*; use Decimal"):

        class Weighed(sk.Item):
            weight: float


class Unknown:
    pass


class Holder(msgspec.Struct):
    inner: list[float]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (Unknown, "is not a type that an item can hold"),
        (Holder, "Holder.inner: float"),
        (dict[int, str], "keys of a dict must be str"),
        (set[bool], "a set has strings, numbers or binaries"),
        (set[str] | None, "an empty set is not stored"),
        (list, "is not a type that an item can hold"),
    ],
)
def test_types_without_a_shape_are_rejected_at_import(annotation: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        types.new_class("Made", (sk.Item,), exec_body=lambda body: body.update(__annotations__={"it": annotation}))


class Document(sk.Item, table="test-item-documents", version=3):
    id: str
    title: str
    words: int

    key = sk.Key("DOC#{id}")


@Document.upgrade(1)
def title_was_name(old: dict[str, Any]) -> dict[str, Any]:
    title = old.pop("name")
    return {**old, "title": title}


@Document.upgrade(2)
def words_are_counted(old: dict[str, Any]) -> dict[str, Any]:
    return {**old, "words": len(old["title"].split())}


def test_the_version_is_written() -> None:
    assert encode(Document(id="1", title="A b", words=2))["_v"] == {"N": "3"}
    assert "_v" not in encode(FULL)


def test_old_rows_are_upgraded_step_by_step() -> None:
    old: Row = {"pk": {"S": "DOC#1"}, "id": {"S": "1"}, "name": {"S": "A b"}, "other": {"N": "1"}}
    item = schema_of(Document).decode(old)
    assert item == Document(id="1", title="A b", words=2)
    assert sk.extra(item) == {"other": {"N": "1"}}
    assert schema_of(Document).decode(encode(item)) == item
    newer: Row = {"pk": {"S": "DOC#1"}, "id": {"S": "1"}, "title": {"S": "A"}, "_v": {"N": "2"}}
    assert schema_of(Document).decode(newer) == Document(id="1", title="A", words=1)


# Writing it back would lose what the newer program knows.
def test_rows_of_the_future_are_rejected() -> None:
    with pytest.raises(sk.DecodeError, match="has version 4; this program knows versions up to 3"):
        schema_of(Document).decode({"pk": {"S": "DOC#1"}, "_v": {"N": "4"}})


def test_a_version_is_a_whole_number() -> None:
    for mark in ({"S": "2"}, {"N": "1.5"}):
        with pytest.raises(sk.DecodeError, match="which is not a version"):
            schema_of(Document).decode({"_v": mark})


def test_upgrades_must_lead_to_the_version() -> None:
    with pytest.raises(sk.DeclarationError, match="has version 3; an upgrade from 3 is not possible"):
        Document.upgrade(3)(dict)
    with pytest.raises(sk.DeclarationError, match="has an upgrade from 1 already"):
        Document.upgrade(1)(dict)


# A misspelt field would be accepted by the instance's dict, and lost by the next put.
def test_only_fields_can_be_assigned() -> None:
    price = Price(store="1", product="P", effective=datetime(2026, 1, 1, tzinfo=UTC), amount=Decimal(1))
    price.amount = Decimal(2)
    assert price.amount == 2
    with pytest.raises(AttributeError, match="Price has no field 'amuont'; did you mean 'amount'"):
        price.amuont = Decimal(3)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"Price\.key is not a field"):
        price.key = "x"  # type: ignore[assignment]


class Temperature(sk.Item):
    celsius: int = 0

    @property
    def kelvin(self) -> int:
        return self.celsius + 273

    @kelvin.setter
    def kelvin(self, value: int) -> None:
        self.celsius = value - 273


def test_setters_and_private_attributes_can_be_assigned() -> None:
    item = Temperature()
    item.kelvin = 300
    item._asked = 1  # type: ignore[attr-defined]
    assert item.celsius == 27
    assert item._asked == 1  # type: ignore[attr-defined]
