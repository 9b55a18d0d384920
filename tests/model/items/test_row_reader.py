"""The reader takes rows as their class declares them, and leaves all others to the codec."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

import sortkey as sk
from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.item_decoder import decode_path_items, start_key
from sortkey.model.items.item import schema_of
from sortkey.model.items.row_reader import NEEDS_CODEC
from tests.model.declared import Follow, Score, User


class Parcel(sk.Item, table="reader-parcels", version=2):
    number: int
    city: str | None = None
    notes: list[str] = sk.field(default_factory=list)

    key = sk.Key("PARCEL", "{number}")
    by_city = sk.Index("gsi1", "CITY#{city}")


ROW: dict[str, Any] = {"pk": {"S": "PARCEL"}, "sk": {"N": "7"}, "number": {"N": "7"}, "_v": {"N": "2"}}


def read(row: dict[str, Any]) -> Parcel:
    reader = schema_of(Parcel).reader
    return reader.item(reader.row(orjson.dumps(row)))


def test_defaults_are_made_for_each_item() -> None:
    one, other = read(ROW), read(ROW)
    assert one == Parcel(number=7)
    assert one.notes is not other.notes


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": {"S": "x"}},
        {"number": {"S": "7"}},
        {"number": {"N": "7.5"}},
        {"_v": {"N": "1"}},
        {"city": {"N": "7"}},
    ],
)
def test_a_row_that_differs_is_left_to_the_codec(change: dict[str, Any]) -> None:
    with pytest.raises(NEEDS_CODEC):
        read(ROW | change)


@pytest.mark.parametrize("name", ["pk", "sk", "number", "_v"])
def test_what_every_row_has_must_be_there(name: str) -> None:
    with pytest.raises(NEEDS_CODEC):
        read({attribute: value for attribute, value in ROW.items() if attribute != name})


# Null where the class would have left the attribute out: other programs write it.
def test_null_is_none() -> None:
    reader = schema_of(Parcel).reader
    assert reader.item(reader.with_null.row(orjson.dumps(ROW | {"city": {"NULL": True}}))).city is None


def test_keys_come_back_as_they_were_stored() -> None:
    reader = schema_of(Parcel).reader
    row = reader.row(orjson.dumps(ROW | {"city": {"S": "Rome"}, "gsi1pk": {"S": "CITY#Rome"}}))
    assert reader.key_attributes(row) == {"pk": {"S": "PARCEL"}, "sk": {"N": "7"}, "gsi1pk": {"S": "CITY#Rome"}}


# Rows of other classes lie in one partition, and of other programs anywhere.
def test_only_the_paths_own_rows_are_found() -> None:
    follows = [schema_of(Follow).encode(Follow(user="ada", other=other)) for other in "bc"]
    alien = follows[0] | {"sk": {"S": "FOLLOWED"}}
    for others in ([], [alien], [schema_of(User).encode(User(user="ada"))]):
        stored = Unparsed(orjson.dumps([*others, *follows]), False)
        path = Follow.key(user="ada")
        items, rows, strangers, _ = decode_path_items(path, stored)
        assert [row["sk"] for row in strangers] == [row["sk"] for row in others]
        assert [item.other for item in items] == ["b", "c"]
        assert start_key(path, rows[0]) == {"pk": {"S": "USER#ada"}, "sk": {"S": "FOLLOWS#b"}}


# The index does not hold the whole row, but its keys have the missing fields.
def test_rows_of_a_small_projection() -> None:
    row = {"game": {"S": "chess"}, "player": {"S": "ada"}, "score": {"N": "7"}}
    stored = Unparsed(orjson.dumps([row]), False)
    (found,) = decode_path_items(Score.ranking(game="chess"), stored).items
    assert (found.game, found.player, found.score) == ("chess", "ada", 7)
    assert sk.is_partial(found)
