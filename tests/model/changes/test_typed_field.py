"""What `sk.F` takes, and what it rejects before anything is asked of a store."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk


class Place(sk.Item):
    city: str = ""
    near: dict[str, int] = sk.field(default_factory=dict)


class Person(sk.Item):
    city: str = ""


class Base(sk.Item):
    id: str
    home: Place | None = None


class Trip(Base, table="typed-trips"):
    stops: list[Place] = sk.field(default_factory=list)
    photos = sk.Entries(Place, "photo:")

    key = sk.Key("TRIP#{id}")


def test_its_name_is_that_of_the_field_or_the_place() -> None:
    assert sk.F(Trip.stops).name == "stops"
    assert sk.F(Trip.home).name == "home"
    assert sk.F(Trip.stops)[1].at(Place.near)["x.y"].name == "stops[1].near.x.y"
    assert repr(sk.F(Trip.stops)[1]) == "F(Trip.stops[1])"


@pytest.mark.parametrize("other", ["stops", 3, None, Trip.key, Trip.photos])
def test_it_takes_a_field_of_a_class(other: Any) -> None:
    with pytest.raises(TypeError, match=r"sk\.F takes a field of a class, such as sk\.F\(Product\.stock\), not "):
        sk.F(other)


def test_a_field_of_a_nested_item_is_one_of_its_own() -> None:
    assert sk.F(Trip.home).at(Place.city).name == "home.city"
    with pytest.raises(sk.UnknownField, match=r"F\(Base\.home\) is Place, so it has no Person\.city"):
        sk.F(Trip.home).at(Person.city)
    with pytest.raises(sk.UnknownField, match=r"F\(Trip\.stops\) is list, so it has no Place\.city"):
        sk.F(Trip.stops).at(Place.city)


def test_it_is_neither_a_truth_nor_a_collection() -> None:
    stops: Any = sk.F(Trip.stops)
    with pytest.raises(TypeError, match="not iterable"):
        list(stops)
    with pytest.raises(TypeError, match="not a container"):
        _ = Place() in stops
    with pytest.raises(TypeError, match="neither true nor false"):
        _ = not stops
    with pytest.raises(TypeError, match="unhashable"):
        hash(stops)


def test_a_change_is_a_mapping_with_one_entry() -> None:
    change = sk.F(Trip.stops).append([Place(city="Rome")])
    assert list(change) == ["stops"]
    assert "home" not in change
    assert repr(sk.F(Trip.id).set("2")) == "{id: '2'}"


def test_a_comparison_with_a_place_is_rejected() -> None:
    with pytest.raises(sk.NoAccessPath, match=r"F\(Base\.home\.city\) is a place in a field"):
        _ = sk.F(Trip.id) == sk.F(Trip.home).at(Place.city)
