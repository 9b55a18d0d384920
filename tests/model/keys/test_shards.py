"""`sk.Shards`: what can be declared, and where the shards of keys are."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from sortkey.model.keys.shards import jump


def declared(index: sk.Index) -> Any:
    class Visit(sk.Item, table=sk.Table("sharded-visits")):
        visitor: str
        place: str
        on: date
        note: bytes | None = None
        key = sk.Key("VISITOR#{visitor}", "{on}")
        by_place = index

    return Visit


def row(index: sk.Index, **fields: Any) -> dict[str, Any]:
    visit = declared(index)
    return schema_of(visit).encode(visit(visitor="ada", place="zoo", on=date(2026, 8, 24), **fields))


# The text of a shard is the same with 4, 16 and 1,000 of them, so rows stay readable when the number grows.
def test_the_shard_has_two_digits_or_more() -> None:
    few = row(sk.Index("by_place", "PLACE#{place}", shards=sk.Shards(4, by="visitor")))["by_placepk"]["S"]
    many = row(sk.Index("by_place", "PLACE#{place}", shards=sk.Shards(1000, by="visitor")))["by_placepk"]["S"]
    assert (few, many) == ("PLACE#zoo#01", "PLACE#zoo#957")


def test_a_template_without_fields_has_shards() -> None:
    assert row(sk.Index("all", "ALL", "{on}", shards=sk.Shards(4, by="visitor")))["allpk"] == {"S": "ALL#01"}


def test_an_item_without_the_deciding_field_is_not_in_the_index() -> None:
    index = sk.Index("by_place", "PLACE#{place}", shards=sk.Shards(4, by="note"))
    assert "by_placepk" not in row(index)
    assert "by_placepk" in row(index, note=b"x")


def test_the_fields_of_a_key_are_parsed_without_its_shard() -> None:
    visit = declared(sk.Index("by_place", "PLACE#{place}", "{on}", shards=sk.Shards(4, by="visitor")))
    assert visit.by_place.parse({"by_placepk": {"S": "PLACE#zoo#03"}, "by_placesk": {"S": "2026-08-24"}}) == {
        "place": "zoo",
        "on": date(2026, 8, 24),
    }
    assert visit.by_place.parse({"by_placepk": {"S": "PLACE#zoo"}, "by_placesk": {"S": "2026-08-24"}}) is None


def test_paths_do_not_name_the_shard() -> None:
    visit = declared(sk.Index("by_place", "PLACE#{place}", "{on}", shards=sk.Shards(4, by="visitor")))
    assert visit.by_place(place="zoo").is_sharded
    with pytest.raises(sk.NoAccessPath, match="does not contain visitor"):
        visit.by_place(place="zoo", visitor="ada")


def test_a_path_that_decides_the_shard_is_in_it() -> None:
    visit = declared(sk.Index("by_place", "PLACE#{place}", "{visitor}#{on}", shards=sk.Shards(4, by="visitor")))
    path = visit.by_place(place="zoo", visitor="ada")
    assert not path.is_sharded
    assert path.equal == {"by_placepk": {"S": "PLACE#zoo#01"}}


@pytest.mark.parametrize("number", [0, -1, 1001, 2.0, True, "4", None])
def test_a_number_of_shards_is_a_small_whole_number(number: Any) -> None:
    with pytest.raises(sk.DeclarationError, match="from 1 to 1000, not"):
        sk.Shards(number)
    if number is not None:
        with pytest.raises(sk.DeclarationError, match="from 1 to 1000, not"):
            sk.Shards(4, formerly=number)


def test_declarations_that_cannot_be_are_rejected() -> None:
    with pytest.raises(sk.DeclarationError, match=r"by= names one field, not \('a', 'b'\)"):
        sk.Shards(4, by=("a", "b"))  # type: ignore[arg-type]
    with pytest.raises(sk.DeclarationError, match=r"all: shards= takes sk.Shards\(…\), not 4"):
        sk.Index("all", "ALL", shards=4)  # type: ignore[arg-type]
    with pytest.raises(sk.DeclarationError, match="its key has fields, so it cannot have shards"):
        sk.Index("all", ("place",), ("on",), shards=sk.Shards(4))
    with pytest.raises(sk.DeclarationError, match="a local index shares the partition key"):
        sk.Index("all", "VISITOR#{visitor}", "{place}", local=True, shards=sk.Shards(4))
    with pytest.raises(sk.DeclarationError, match="there is no field 'vistor'; did you mean 'visitor'"):
        declared(sk.Index("all", "ALL", shards=sk.Shards(4, by="vistor")))
    with pytest.raises(sk.DeclarationError, match="contains place, so all items of a partition would be in one shard"):
        declared(sk.Index("all", "PLACE#{place}", shards=sk.Shards(4, by="place")))
    with pytest.raises(sk.DeclarationError, match="the attribute 'place' is a field, so it cannot have shards"):
        declared(sk.Index("all", "{place}", names=("place",), shards=sk.Shards(4, by="visitor")))


# A collection of one class would not see the items of another that has more shards.
def test_classes_in_one_partition_have_the_same_shards() -> None:
    table = sk.Table("sharded-differently")

    class Apple(sk.Item, table=table):
        number: int
        key = sk.Key("APPLE#{number}")
        all = sk.Index("fruit", "FRUIT", "{number:04}", shards=sk.Shards(3))

    with pytest.raises(sk.DeclarationError, match=r"'FRUIT' in 3 shards by number, Pear\.all has 'FRUIT' in 4 shards"):

        class Pear(sk.Item, table=table):
            number: int
            key = sk.Key("PEAR#{number}")
            all = sk.Index("fruit", "FRUIT", "{number:04}", shards=sk.Shards(4))

    class Plum(sk.Item, table=table):
        number: int
        key = sk.Key("PLUM#{number}")
        all = sk.Index("fruit", "PLUMS", "{number:04}")

    assert table.schemas[-1].owner is Plum


# These numbers are stored in keys: another hash would lose the items of existing tables.
def test_the_hash_is_never_another() -> None:
    published = {(1, 1): 0, (42, 57): 43, (0xDEAD10CC, 1): 0, (0xDEAD10CC, 666): 361, (256, 1024): 520}
    assert {(digest, shards): jump(digest, shards) for digest, shards in published} == published


def test_a_deciding_value_that_a_key_cannot_hold_names_its_field() -> None:
    visit = declared(sk.Index("by_place", "PLACE#{place}", "{visitor}", shards=sk.Shards(4, by="visitor")))
    with pytest.raises(sk.KeyPartError, match="visitor: expected str, got int 7"):
        visit.by_place(place="zoo", visitor=7)
    with pytest.raises(sk.KeyPartError, match="visitor: expected str, got list"):
        visit.by_place(place="zoo", visitor=["ada"])
