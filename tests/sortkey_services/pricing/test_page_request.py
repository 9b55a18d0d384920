"""Which part of a list is asked for: 64 items unless the request says otherwise, 2,048 at most."""

from __future__ import annotations

import pytest

import sortkey as sk
from sortkey_services.pricing.reads import page_request


def test_without_arguments_the_first_64_items_are_asked_for() -> None:
    assert page_request() == {"first": 64, "after": None, "last": None, "before": None}


def test_before_alone_asks_for_the_64_items_before_it() -> None:
    assert page_request(before="c") == {"first": None, "after": None, "last": 64, "before": "c"}


@pytest.mark.parametrize("size", [1, 2048])
def test_sizes_from_1_to_2048_are_taken(size: int) -> None:
    assert page_request(first=size)["first"] == page_request(last=size)["last"] == size


@pytest.mark.parametrize("size", [-1, 0, 2049])
@pytest.mark.parametrize("name", ["first", "last"])
def test_another_size_is_rejected_by_its_name(name: str, size: int) -> None:
    with pytest.raises(sk.services.BadRequest, match=f"{name}: must be from 1 to 2,048, not {size}"):
        page_request(**{name: size})  # type: ignore[arg-type]  # The two sizes are ints.


def test_both_directions_at_once_are_rejected() -> None:
    with pytest.raises(sk.services.BadRequest, match="not both"):
        page_request(first=1, before="c")
