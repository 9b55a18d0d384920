"""Explain: the request that is sent, and what it is expected to cost."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from sortkey.model.costs.explain import explain, size_of
from sortkey.values.attribute import normalise_item
from tests.model.sessions.shop import SHOP, Order, order
from tests.stores import needs


def test_a_query() -> None:
    explained = explain(Order.by_status(status="OPEN"), rows=100, row_bytes=400)
    assert explained.operation == "Query"
    assert explained.request == Order.by_status(status="OPEN").request()
    assert explained.index == "gsi1"
    assert explained.units == 5.0
    assert explained.dollars_per_million == pytest.approx(0.625)


def test_an_exact_key_is_one_row() -> None:
    explained = explain(order(1).key, sample=[order(1)], consistent=True)
    assert (explained.operation, explained.index, explained.rows, explained.units) == ("GetItem", None, 1, 1.0)
    assert explained.request == {"TableName": "shop", "Key": order(1).key.key(), "ConsistentRead": True}


def test_sizes_are_dynamodbs() -> None:
    item = order(12, city="Köln", tags={"a", "bb"}, notes=["x", "y"])
    row: dict[str, dict[str, Any]] = {
        "pk": {"S": "CUSTOMER#ada"},
        "sk": {"S": "ORDER#000012"},
        "gsi1pk": {"S": "STATUS#OPEN"},
        "gsi1sk": {"S": "000012"},
        "gsi2pk": {"S": "CITY#Köln"},
        "gsi2sk": {"S": "OPEN#a0"},
        "customer": {"S": "ada"},
        "number": {"N": "12"},
        "status": {"S": "OPEN"},
        "city": {"S": "Köln"},
        "total": {"N": "0"},
        "visits": {"N": "0"},
        "tags": {"SS": ["a", "bb"]},
        "notes": {"L": [{"S": "x"}, {"S": "y"}]},
        "updated": {"N": "0"},
        "revision": {"N": "0"},
    }
    assert size_of(item) == normalise_item(row).size


# What the session has seen is better than a guess.
def test_measured_paths_are_predicted_from_what_was_measured() -> None:
    path = Order.by_status(status="OPEN")
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        assert db.explain(path).source == "a guess"
        db.batch(put=[order(number, notes=["x" * 1000]) for number in range(40)])
        list(db.iterate(path))
        explained = db.explain(path)
        assert explained.rows == 40
        assert explained.units == db.meter.reading("Order.by_status").units
        assert explained.source == "measured over 1 call; average bytes from the capacity units"


# A read of a few bytes costs as much as one of 4 KB: the units tell at most how large a row is.
@pytest.mark.parametrize("consistent", [False, True])
def test_a_measured_size_is_a_bound(db: sk.Session, consistent: bool) -> None:
    needs(db.capabilities, "consumed_capacity")
    path = order(1).key
    db.put(order(1))
    for _ in range(3):
        db.get(path, consistent=consistent)
    explained = db.explain(path, consistent=consistent)
    assert explained.at_most
    assert size_of(order(1)) <= explained.row_bytes == 4096
    assert explained.units == (1.0 if consistent else 0.5)
    text = str(explained)
    assert "1 of at most 4,096 bytes (measured over 3 calls; average bytes from the capacity units)" in text
    assert "capacity  at most " in text
    assert not db.explain(path, row_bytes=200).at_most
    assert db.explain(path, row_bytes=200).source == "measured over 3 calls; bytes as given"


def test_lookups_are_measured_too(db: sk.Session) -> None:
    needs(db.capabilities, "consumed_capacity")
    db.batch(put=[order(number) for number in range(4)])
    keys = [{"customer": "ada", "number": number} for number in range(4)]
    for consistent in (False, True):
        db.lookup(Order.key, keys, consistent=consistent)
    assert db.meter.reading("Order.key").blocks_read == 8
    assert db.explain(order(1).key).row_bytes == 4096


@pytest.mark.slow
def test_more_rows_make_a_closer_bound(db: sk.Session) -> None:
    needs(db.capabilities, "consumed_capacity")
    db.batch(put=[order(number, notes=["x" * 900]) for number in range(40)])
    list(db.iterate(Order.key(customer="ada")))
    bound = db.explain(Order.key(customer="ada")).row_bytes
    actual = size_of(order(1, notes=["x" * 900]))
    assert actual <= bound <= actual + 4096 // 40


def test_the_text_says_it_all() -> None:
    text = str(explain(Order.by_status(status="OPEN"), rows=1, row_bytes=1))
    for part in (
        "Order.by_status(status='OPEN')",
        '"IndexName": "gsi1"',
        "0.5 read units",
        "$0.06 a million",
        "us-east-1",
    ):
        assert part in text
