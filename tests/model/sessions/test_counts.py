"""`count` and `first` agree with `iterate`, also about rows that their class cannot read."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk

COUNTED = sk.Table("counted")


class Parcel(sk.Item, table=COUNTED):
    depot: str
    number: int
    grams: int = 100
    note: str = ""
    key = sk.Key("DEPOT#{depot}", "PARCEL#{number}")
    by_depot = sk.Index("gsi1", "PARCELS#{depot}", "{number}")
    by_grams = sk.Index("gsi2", "GRAMS#{depot}", "{number}", projection=["grams"])


class Depot(sk.Item, table=COUNTED):
    depot: str
    key = sk.Key("DEPOT#{depot}", "DEPOT")


PATHS = (
    Parcel.key(depot="a"),
    Parcel.by_depot(depot="a"),
    Parcel.by_grams(depot="a"),
    sk.collection(Depot.key, depot="a"),
)
HEAVY: Any = sk.F(Parcel.grams) > 50
LIGHT: Any = sk.F(Parcel.grams) != 100


@pytest.fixture
def counted(db: sk.Session) -> sk.Session:
    """A depot with parcels 1 to 6, of which 1, 2 and 5 have a weight that is not a number."""
    db.create_tables(COUNTED)
    db.batch(put=[Depot(depot="a"), *(Parcel(depot="a", number=number) for number in range(1, 7))])
    for number in (1, 2, 5):
        db.client.update_item(
            TableName="counted",
            Key=Parcel.key(depot="a", number=number).key(),
            UpdateExpression="SET grams = :heavy",
            ExpressionAttributeValues={":heavy": {"S": "heavy"}},
        )
    return db


def test_count_raises_what_iterate_raises(counted: sk.Session) -> None:
    for path in PATHS:
        for read in (lambda path: list(counted.iterate(path)), counted.count):
            with pytest.raises(sk.DecodeError, match=r"Parcel\.grams: expected N"):
                read(path)


def test_count_leaves_out_what_iterate_leaves_out(counted: sk.Session) -> None:
    for path in PATHS:
        items = list(counted.iterate(path, undecodable="skip"))
        assert counted.count(path, undecodable="skip") == len(items) == 3 + path.collection


# The store drops a row that its filter is false for, whether or not its class can read it.
def test_counts_with_where_agree_with_iterate(counted: sk.Session) -> None:
    path = Parcel.key(depot="a")
    assert counted.count(path, where=HEAVY) == len(list(counted.iterate(path, where=HEAVY))) == 3
    with pytest.raises(sk.DecodeError, match=r"Parcel\.grams: expected N"):
        counted.count(path, where=LIGHT)
    assert counted.count(path, where=LIGHT, undecodable="skip") == 0


def test_first_leaves_out_what_iterate_leaves_out(counted: sk.Session) -> None:
    path = Parcel.key(depot="a")
    with pytest.raises(sk.DecodeError, match=r"Parcel\.grams: expected N"):
        counted.first(path)
    assert counted.first(path, undecodable="skip") == Parcel(depot="a", number=3)
    assert counted.first(path, undecodable="skip", descending=True) == Parcel(depot="a", number=6)
    assert counted.first(path.before(3), undecodable="skip") is None
    assert counted.meter.reading("Parcel.key").rows_undecodable > 0


def test_the_option_has_two_values(counted: sk.Session) -> None:
    other: Any = "ignore"
    for read in (counted.first, counted.count):
        with pytest.raises(ValueError, match="must be 'raise' or 'skip', not 'ignore'"):
            read(PATHS[0], undecodable=other)
