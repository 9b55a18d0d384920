"""Names and templates that no store accepts are rejected where they are declared."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk


@pytest.mark.parametrize("name", ["", "ab", "a" * 256, "a b", "café", "a\ud800bc", "abc\n", None, 5])
def test_names_of_tables_and_indexes(name: Any) -> None:
    with pytest.raises(sk.DeclarationError, match="the name of a table has 3 to 255 letters"):
        sk.Table(name)
    with pytest.raises(sk.DeclarationError, match="the name of an index has 3 to 255 letters"):
        sk.Index(name, "A#{a}")


@pytest.mark.parametrize("table", ["ab", 5, b"abc", object()])
def test_the_table_of_a_class(table: Any) -> None:
    with pytest.raises(sk.DeclarationError, match=r"the name of a table|table= takes a name or a sk.Table"):

        class Named(sk.Item, table=table):
            a: str

            key = sk.Key("A#{a}")


@pytest.mark.parametrize("names", [("",), ("a" * 256,), ("\ud800",), (5,), "pk", 5, ()])
def test_names_of_key_attributes(names: Any) -> None:
    with pytest.raises(sk.DeclarationError, match="names="):
        sk.Key("A#{a}", names=names)
    with pytest.raises(sk.DeclarationError, match="names="):
        sk.Index("gsi1", "A#{a}", names=names)


@pytest.mark.parametrize("template", ["A#\ud800", 5, b"A#{a}", "A#" + "x" * 2100, "{a", "{}", "{a!r}"])
def test_templates(template: Any) -> None:
    with pytest.raises(sk.DeclarationError):

        class Templated(sk.Item, table="names-templates"):
            a: str

            key = sk.Key(template)


@pytest.mark.parametrize("name", ["", "\ud800", "a" * 65_536])
def test_names_of_attributes(name: str) -> None:
    with pytest.raises(sk.DeclarationError, match=r"Renamed.*: .* is no name of an attribute"):

        class Renamed(sk.Item):
            a: str = sk.field(name=name)


@pytest.mark.parametrize("projection", [5, "SOME", [1], None])
def test_projections(projection: Any) -> None:
    with pytest.raises(sk.DeclarationError, match="gsi1: the projection must be"):
        sk.Index("gsi1", "A#{a}", projection=projection)


# The store rejects every row of the second class: the attribute has the type that the index of the first declares.
def test_a_field_on_the_key_attribute_of_another_class() -> None:
    table = sk.Table("names-shared")

    class Indexed(sk.Item, table=table):
        a: str
        city: str

        key = sk.Key("INDEXED#{a}")
        by_city = sk.Index("gsi1", "CITY#{city}")

    with pytest.raises(
        sk.DeclarationError,
        match=r"Counted\.gsi1pk is stored as N in the attribute 'gsi1pk', which Indexed\.by_city declares as S",
    ):

        class Counted(sk.Item, table=table):
            a: str
            gsi1pk: int

            key = sk.Key("COUNTED#{a}")

    with pytest.raises(sk.DeclarationError, match=r"Nullable\.gsi1pk is stored as NULL, if it is None"):

        class Nullable(sk.Item, table=table):
            a: str
            gsi1pk: str | None = "x"

            key = sk.Key("NULLABLE#{a}")

    class Fitting(sk.Item, table=table):
        a: str
        gsi1pk: str | None = None

        key = sk.Key("FITTING#{a}")


def test_one_attribute_in_two_indexes_with_two_types() -> None:
    table = sk.Table("names-twice")

    class ByNumber(sk.Item, table=table):
        a: str
        n: int

        key = sk.Key("A#{a}")
        by_n = sk.Index("gsi1", "{n}", names=("shared",))

    with pytest.raises(sk.DeclarationError, match=r"'shared', which ByNumber\.by_n declares as N"):

        class ByText(sk.Item, table=table):
            a: str

            key = sk.Key("B#{a}")
            by_a = sk.Index("gsi2", "B#{a}", names=("shared",))
