"""`sk.each`: keys as combinations of values."""

from __future__ import annotations

import sortkey as sk
from sortkey.model.keys.key_layout import Each


def test_single_values_and_several_are_combined() -> None:
    keys = sk.each(tenant="de", area=("BER-01", "*"), partner=["1", "2"])
    assert list(keys) == [
        {"tenant": "de", "area": "BER-01", "partner": "1"},
        {"tenant": "de", "area": "BER-01", "partner": "2"},
        {"tenant": "de", "area": "*", "partner": "1"},
        {"tenant": "de", "area": "*", "partner": "2"},
    ]
    assert len(keys) == 4
    assert repr(keys) == "<4 keys of tenant, area, partner>"


def test_what_can_be_gone_through_once_can_be_given_too() -> None:
    keys = sk.each(partner=(str(number) for number in range(3)))
    assert list(keys) == list(keys) == [{"partner": "0"}, {"partner": "1"}, {"partner": "2"}]


# Text and bytes are values of a key; that they have parts does not make them several.
def test_text_and_bytes_are_one_value() -> None:
    assert list(sk.each(name="ada", seal=b"ab")) == [{"name": "ada", "seal": b"ab"}]


def test_nothing_combined_with_anything_is_nothing() -> None:
    assert list(sk.each(name="ada", number=[])) == []
    assert len(sk.each(name="ada", number=[])) == 0


def test_it_is_made_by_its_function() -> None:
    assert isinstance(sk.each(name="ada"), Each)
