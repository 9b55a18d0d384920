"""Fields that only the primary key holds: `Annotated[str, sk.in_key]`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of


class Reading(sk.Item, table="in-key-readings"):
    tenant: Annotated[str, sk.in_key]
    sensor: Annotated[str, sk.in_key] = "main"
    at: Annotated[datetime, sk.in_key]
    value: int = 0
    place: str | None = None

    key = sk.Key("{tenant}#{sensor}", "{at}")
    by_place = sk.Index("gsi1", "{place}", "{tenant}#{at}", projection="KEYS_ONLY")


class Sample(sk.Item, table="in-key-samples"):
    name: str
    reading: Reading

    key = sk.Key("{name}")


NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
READING = Reading(tenant="de", sensor="roof", at=NOON, value=7, place="Berlin")


def test_the_row_has_them_only_in_its_key() -> None:
    row = schema_of(Reading).encode(READING)
    assert row == {
        "pk": {"S": "de#roof"},
        "sk": {"S": "2026-08-24T12:00:00.000000Z"},
        "value": {"N": "7"},
        "place": {"S": "Berlin"},
        "gsi1pk": {"S": "Berlin"},
        "gsi1sk": {"S": "de#2026-08-24T12:00:00.000000Z"},
    }
    # A default is for items that are made, not for rows that are read.
    assert schema_of(Reading).decode(row) == READING


# A field may be marked after rows of the class were written, and other programs may read its attribute.
def test_a_row_that_still_has_the_attribute_keeps_it_as_an_undeclared_one() -> None:
    schema = schema_of(Reading)
    row = schema.encode(READING) | {"tenant": {"S": "de"}}
    read = schema.decode(row)
    assert read == READING
    assert sk.extra(read) == {"tenant": {"S": "de"}}
    assert schema.encode(read) == row


def test_a_session_writes_and_reads_them() -> None:
    with sk.connect("memory:", tables=[Reading, Sample]) as db:
        db.create_tables()
        other = sk.replace(READING, sensor="cellar", place=None)
        db.batch(put=[READING, other])
        assert db.get(READING.key) == READING
        assert db.lookup(Reading.key, sk.each(tenant="de", sensor=["roof", "cellar"], at=NOON)) == [READING, other]
        assert db.page(Reading.key(tenant="de", sensor="roof"), first=5).items == [READING]
        assert db.update(READING.key, {"place": "Bonn"}) == sk.replace(READING, place="Bonn")
        (found,) = db.iterate(Reading.by_place(place="Bonn", tenant="de"))
        assert (found.tenant, found.sensor, found.at) == ("de", "roof", NOON)
        # In a map of another row there is no key that could hold them.
        sample = Sample(name="one", reading=READING)
        db.put(sample)
        assert db.get(sample.key) == sample


def test_a_condition_cannot_speak_of_them() -> None:
    with sk.connect("memory:", tables=[Reading]) as db:
        db.create_tables()
        db.put(READING)
        path = Reading.key(tenant="de", sensor="roof")
        with pytest.raises(sk.NoAccessPath, match=r"Reading.at is in_key: it is not stored as an attribute"):
            db.count(path, where={"at": NOON})
        with pytest.raises(sk.KeyChange, match="part of the primary key"):
            db.update(READING.key, {"at": NOON})


def test_only_a_field_that_the_key_holds_can_be_left_to_it() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Loose.note: cannot be in_key: no key contains it"):

        class Loose(sk.Item, table="in-key-loose"):
            name: str
            note: Annotated[str, sk.in_key]

            key = sk.Key("{name}")

    with pytest.raises(sk.DeclarationError, match=r"Own.name: cannot be in_key: it is the key attribute itself"):

        class Own(sk.Item, table="in-key-own"):
            name: Annotated[str, sk.in_key]

            key = sk.Key("{name}", names=("name",))


def test_an_index_cannot_be_made_of_what_is_no_attribute() -> None:
    with pytest.raises(sk.DeclarationError, match="name is in_key, so it is not an attribute"):

        class ByFields(sk.Item, table="in-key-fields"):
            name: Annotated[str, sk.in_key]
            city: str

            key = sk.Key("{name}")
            by_city = sk.Index("gsi1", ("city",), ("name",))

    with pytest.raises(sk.DeclarationError, match="name is in_key, and every index contains the key"):

        class Projected(sk.Item, table="in-key-projected"):
            name: Annotated[str, sk.in_key]
            city: str

            key = sk.Key("{name}")
            by_city = sk.Index("gsi1", "{city}", projection=("name",))
