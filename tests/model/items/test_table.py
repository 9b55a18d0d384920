"""Declarations: what is rejected when a class is made, and how the classes of one table live together."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from tests.model.declared import Follow, Order, Price, User


class Kind(Enum):
    BASE = "Base"
    SWAP = "Swap"


def test_a_row_is_told_by_its_key() -> None:
    items = [User(user="a"), Follow(user="a", other="b"), Order(user="a", order="o", year=2026, month=8, day=24)]
    for item in items:
        schema = User.__table__.schema_of(schema_of(type(item)).encode(item))
        assert schema is schema_of(type(item))
    assert User.__table__.schema_of({"pk": {"S": "USER#a"}, "sk": {"S": "?"}}) is None


# A user's key contains the name twice; a row with two different names is of another class.
def test_both_halves_of_a_key_have_to_agree() -> None:
    assert User.__table__.schema_of({"pk": {"S": "USER#a"}, "sk": {"S": "USER#b"}}) is None


def test_an_overloaded_index_is_one_index() -> None:
    layouts = User.__table__.indexes()["gsi1"]
    assert [layout.name for layout in layouts] == ["by_city", "followers", "by_status"]
    assert User.__table__.projection("gsi1") == "ALL"


def test_keys_that_could_be_equal_are_rejected() -> None:
    table = sk.Table("collisions")

    class One(sk.Item, table=table):
        user: str
        order: str
        key = sk.Key("USER#{user}", "{order}")

    with pytest.raises(
        sk.DeclarationError,
        match=r"One \('USER#\{user\}', '\{order\}'\) and Two \('USER#\{user\}', 'PROFILE'\) could have the same key",
    ):

        class Two(sk.Item, table=table):
            user: str
            key = sk.Key("USER#{user}", "PROFILE")

    assert [schema.owner for schema in table.schemas] == [One]


# A field with few possible values distinguishes two classes, as a literal does.
def test_an_enum_tells_classes_apart() -> None:
    table = sk.Table("kinds")

    class Current(sk.Item, table=table):
        store: str
        kind: Kind
        product: str
        key = sk.Key("{store}", "{kind}#{product}")

    class Change(sk.Item, table=table):
        store: str
        product: str
        key = sk.Key("{store}", "CHANGE#{product}")

    row = schema_of(Change).encode(Change(store="1", product="P"))
    assert table.schema_of(row) is schema_of(Change)


def test_a_class_made_again_takes_its_own_place() -> None:
    table = sk.Table("reloaded")

    def make() -> type[sk.Item]:
        class Again(sk.Item, table=table):
            id: str
            key = sk.Key("{id}")

        return Again

    make()
    second = make()
    assert [schema.owner for schema in table.schemas] == [second]


def test_classes_of_one_table_agree_on_its_key() -> None:
    table = sk.Table("shapes")

    class Text(sk.Item, table=table):
        id: str
        key = sk.Key("TEXT#{id}", "A")

    with pytest.raises(sk.DeclarationError, match=r"Text.key has pk \(S\) and sk \(S\).*, Bare.key has pk \(S\)"):

        class Bare(sk.Item, table=table):
            id: str
            key = sk.Key("BARE#{id}")


def test_classes_of_one_index_agree_on_its_attributes() -> None:
    table = sk.Table("overloaded")

    class Text(sk.Item, table=table):
        id: str
        key = sk.Key("TEXT#{id}")
        listed = sk.Index("gsi1", "TEXTS", "{id}")

    with pytest.raises(sk.DeclarationError, match=r"gsi1sk \(S\).*gsi1sk \(N\)"):

        class Ranked(sk.Item, table=table):
            id: str
            rank: int
            key = sk.Key("RANKED#{id}")
            listed = sk.Index("gsi1", "RANKED", "{rank}")


def test_an_index_names_a_field_that_exists() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Typo.by_kind: there is no field 'knd'; did you mean 'kind'?"):

        class Typo(sk.Item, table=sk.Table("typo")):
            id: str
            kind: str
            key = sk.Key("{id}")
            by_kind = sk.Index("gsi1", "{knd}")


def test_a_primary_key_is_never_none() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Maybe.key: id may be None"):

        class Maybe(sk.Item, table=sk.Table("maybe")):
            id: str | None
            key = sk.Key("{id}")


def test_a_class_with_a_table_has_one_key() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Keyless has no sk\.Key"):

        class Keyless(sk.Item, table=sk.Table("keyless")):
            id: str


def test_a_key_attribute_may_be_the_field_itself() -> None:
    class Row(sk.Item, table=sk.Table("native")):
        device: str
        at: int
        key = sk.Key("{device}", "{at}", names=("device", "at"))

    assert schema_of(Row).encode(Row(device="a#b", at=5)) == {"device": {"S": "a#b"}, "at": {"N": "5"}}
    assert Row.key(device="a#b", at=5).key() == {"device": {"S": "a#b"}, "at": {"N": "5"}}

    with pytest.raises(sk.DeclarationError, match=r"the attribute 'pk' belongs to the field pk, so it cannot hold"):

        class Clash(sk.Item, table=sk.Table("clash")):
            pk: str
            key = sk.Key("A#{pk}")


def test_other_names_for_the_keys_attributes() -> None:
    class Renamed(sk.Item, table=sk.Table("renamed")):
        id: str
        key = sk.Key("A#{id}", "B", names=("PK", "SK"))

    assert Renamed.key(id="1").key() == {"PK": {"S": "A#1"}, "SK": {"S": "B"}}


# A row has one value of an attribute, so one of the two indexes would not find the item.
def test_keys_that_share_an_attribute_have_one_template_of_it() -> None:
    class Shared(sk.Item, table=sk.Table("shared-attribute")):
        id: str
        a: str
        b: str
        key = sk.Key("T#{id}", "A#{a}")
        by_a = sk.Index("gsi1", "A#{a}", "{b}", names=("sk", "b"))
        by_b = sk.Index("gsi2", "{b}", "A#{a}", names=("b", "sk"))

    assert schema_of(Shared).encode(Shared(id="1", a="x", b="y")).keys() == {"id", "a", "b", "pk", "sk"}

    with pytest.raises(
        sk.DeclarationError,
        match=r"Torn\.by_b: the attribute 'gp' cannot hold 'B#\{b\}', since it holds 'A#\{a\}' in Torn\.by_a",
    ):

        class Torn(sk.Item, table=sk.Table("torn-attribute")):
            id: str
            a: str
            b: str
            key = sk.Key("T#{id}")
            by_a = sk.Index("gsi1", "A#{a}", "{id}", names=("gp", "gs"))
            by_b = sk.Index("gsi2", "B#{b}", "{id}", names=("gp", "gs"))

    with pytest.raises(sk.DeclarationError, match=r"'pk' cannot hold 'A#\{a\}', since it holds 'T#\{id\}'"):

        class Overwritten(sk.Item, table=sk.Table("overwritten-key")):
            id: str
            a: str
            key = sk.Key("T#{id}")
            by_a = sk.Index("gsi1", "A#{a}", "{id}", names=("pk", "gs"))


def test_a_local_index_shares_the_partition() -> None:
    with pytest.raises(sk.DeclarationError, match=r"a local index must have the partition key of Elsewhere\.key"):

        class Elsewhere(sk.Item, table=sk.Table("elsewhere")):
            id: str
            rank: int
            key = sk.Key("{id}", "A")
            ranked = sk.Index("lsi1", "OTHER", "{rank}", local=True)


# DynamoDB rejects the table, but only when it is created.
def test_a_local_index_needs_a_sort_key_of_the_table() -> None:
    with pytest.raises(sk.DeclarationError, match=r"needs a table with a sort key, which Flat\.key lacks"):

        class Flat(sk.Item, table=sk.Table("flat")):
            id: str
            rank: int
            key = sk.Key("{id}")
            ranked = sk.Index("lsi1", "{id}", "{rank}", local=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stream": "NEW"}, "stream must be one of KEYS_ONLY, NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, not 'NEW'"),
        ({"provisioned": 5}, r"provisioned must be the read and the write units per second, such as \(5, 5\), not 5"),
        ({"provisioned": (5, 0)}, r"not \(5, 0\)"),
    ],
)
def test_settings_that_no_store_accepts_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=f"table wrong: .*{message}"):
        sk.Table("wrong", **settings)


# msgspec says "argument for StructMeta.__new__() given by name ('dict') and position (3)".
def test_a_misspelt_option_is_named() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Typo: a class has no option 'tabel'; did you mean 'table'\?"):

        class Typo(sk.Item, tabel="typos"):
            id: str


def test_a_version_is_a_number() -> None:
    for wrong in ("2", 0):
        version: Any = wrong
        with pytest.raises(sk.DeclarationError, match=f"a version is a whole number from 1 on, not {wrong!r}"):

            class Versioned(sk.Item, table=sk.Table("wrong-version"), version=version):
                id: str
                key = sk.Key("{id}")


def test_projected_fields_exist_and_add_up() -> None:
    table = sk.Table("projected")

    class One(sk.Item, table=table):
        id: str
        a: int
        key = sk.Key("ONE#{id}")
        listed = sk.Index("gsi1", "ALL", projection=["a"])

    class Two(sk.Item, table=table):
        id: str
        b: int
        key = sk.Key("TWO#{id}")
        listed = sk.Index("gsi1", "ALL", projection=["b"])

    assert table.projection("gsi1") == ("a", "b")
    with pytest.raises(sk.DeclarationError, match="no field 'c' to project"):

        class Three(sk.Item, table=table):
            id: str
            key = sk.Key("THREE#{id}")
            listed = sk.Index("gsi1", "ALL", projection=["c"])


# Fields and keys that many classes have are declared once; the table is each class's own.
def test_a_base_lends_its_fields_and_keys() -> None:
    class Base(sk.Item):
        id: str
        key = sk.Key("{id}")

    class Made(Base, table=sk.Table("derived")):
        amount: Decimal

    assert Made.key(id="1").key() == {"pk": {"S": "1"}}
    with pytest.raises(AttributeError, match="Base has no table, so key cannot be used"):
        _ = Base.key
    with pytest.raises(sk.DeclarationError, match="Base has no table"):
        schema_of(Base)


def test_sparse_items_are_not_in_the_index() -> None:
    schema = schema_of(User)
    assert not schema.encode(User(user="a")).keys() & {"gsi1pk", "gsi1sk"}
    assert schema.encode(User(user="a", city="Bern"))["gsi1pk"] == {"S": "CITY#Bern"}


def test_declared_tables_are_found_by_name() -> None:
    assert sk.Table.named("declared-prices") is Price.__table__
