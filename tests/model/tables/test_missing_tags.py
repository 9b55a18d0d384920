"""An index of tagged classes that another program made without the tag: its rows do not say what class they are of."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from sortkey.model.tables.provision import create_request


class Pet(sk.Item, table="untagged-pets", tag_field="kind", tag="pet"):
    owner: str
    name: str
    city: str

    key = sk.Key("OWNER#{owner}", "PET#{name}")
    by_city = sk.Index("gsi1", "CITY#{city}", "{name}", projection=["owner"])


class Dog(Pet, tag="dog"):
    breed: str = ""


REASON = "index gsi1 projects INCLUDE, owner without kind, the tag that says that a row is of Dog"


@pytest.fixture
def pets() -> Any:
    with sk.connect("memory:", tables=[Pet]) as db:
        request = create_request(Pet.__table__)
        (index,) = request["GlobalSecondaryIndexes"]
        index["Projection"] = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["owner"]}
        db.client.create_table(**request)
        db.put(Dog(owner="ada", name="rex", city="Rome"))
        yield db


def test_create_tables_names_the_projection_and_the_attribute(pets: sk.Session) -> None:
    with pytest.raises(sk.TablesDiffer, match=REASON):
        pets.create_tables()
    assert any("include kind in its projection" in each for each in pets.diff_tables())


def test_the_error_of_a_read_does_not_advise_to_skip_every_row(pets: sk.Session) -> None:
    with pytest.raises(sk.DecodeError, match=r"has no kind, .* the projection of the index lacks kind") as caught:
        list(pets.iterate(Pet.by_city(city="Rome")))
    assert "skip" not in str(caught.value)


# The table itself has the tag, so its rows are fine.
def test_an_unknown_tag_is_another_error(pets: sk.Session) -> None:
    assert pets.get(Pet.key(owner="ada", name="rex")) == Dog(owner="ada", name="rex", city="Rome")
    pets.client.put_item(
        TableName="untagged-pets",
        Item={"pk": {"S": "OWNER#ada"}, "sk": {"S": "PET#kit"}, "kind": {"S": "cat"}},
    )
    with pytest.raises(sk.DecodeError, match="undecodable='skip'"):
        list(pets.iterate(Pet.key(owner="ada")))
