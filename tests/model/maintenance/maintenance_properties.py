"""Scans and deletes against a plain model: a list of the items that were put."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from tests.model.sessions.shop import SHOP, Customer, Order, Parcel

names = st.sampled_from(["ada", "bob", "eve", "Ada L"])
orders = st.builds(
    Order,
    customer=names,
    number=st.integers(0, 30),
    status=st.sampled_from(["OPEN", "DONE"]),
    city=st.sampled_from([None, "Rome", "Oslo"]),
    visits=st.integers(0, 3),
)
items = st.lists(
    orders | st.builds(Customer, customer=names) | st.builds(Parcel, parcel=names, status=st.just("OPEN")), max_size=40
)
FILTERS: list[tuple[Any, Callable[[Order], bool]]] = [
    (None, lambda _: True),
    ({"status": "DONE"}, lambda item: item.status == "DONE"),
    (sk.F(Order.visits) >= 2, lambda item: item.visits >= 2),
    ({"city": None}, lambda item: item.city is None),
    (
        sk.F(Order.city).exists() & (sk.F(Order.visits) < 2),
        lambda item: item.city is not None and item.visits < 2,
    ),
    (
        (sk.F(Order.customer) == "ada") | (sk.F(Order.number) > 20),
        lambda item: item.customer == "ada" or item.number > 20,
    ),
]
filters: st.SearchStrategy[Any] = st.sampled_from([where for where, _ in FILTERS])
FOREIGN = ({"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#3"}}, {"pk": {"S": "X"}, "sk": {"S": "Y"}})


@pytest.fixture(scope="module")
def store() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[SHOP]) as session:
        session.create_tables()
        yield session


def filled(db: sk.Session, put: list[sk.Item]) -> dict[str, sk.Item]:
    """The store with these items and two rows that are nobody's; the items by their keys, the last of each key."""
    keys = [{name: row[name] for name in ("pk", "sk")} for row in db.scan_rows(SHOP)]
    for key in keys:
        db.client.delete_item(TableName="shop", Key=key)
    db.batch(put=put)
    for row in FOREIGN:
        db.client.put_item(TableName="shop", Item=row)
    return {repr(item.key.key()): item for item in put}  # type: ignore[attr-defined]


def matches(item: Order, where: Any) -> bool:
    """What the filters above mean."""
    return next(meaning for each, meaning in FILTERS if each is where)(item)


def shown(found: Any) -> list[str]:
    return sorted(map(repr, found))


# However often a scan is stopped and continued from its cursor, it hands out each item once.
@given(items, filters, st.integers(1, 5), st.lists(st.integers(0, 12), max_size=6))
def test_a_scan_in_pieces(store: sk.Session, put: list[sk.Item], where: Any, segments: int, pieces: list[int]) -> None:
    model = filled(store, put)
    found: list[Order] = []
    scan = store.scan(Order, where=where, segments=segments)
    for piece in pieces:
        found += islice(scan, piece)
        scan = store.scan(Order, where=where, after=scan.cursor)
    found += scan
    assert shown(found) == shown(each for each in model.values() if isinstance(each, Order) and matches(each, where))
    assert shown(store.scan(SHOP, segments=segments)) == shown(model.values())
    assert len(list(store.scan_rows(SHOP, segments=segments))) == len(model) + len(FOREIGN)


PLACES: dict[str, tuple[sk.AccessPath[Order] | None, Callable[[Order], bool]]] = {
    "key": (Order.key(customer="ada"), lambda item: item.customer == "ada"),
    "range": (Order.key(customer="ada").after(7), lambda item: item.customer == "ada" and item.number > 7),
    "index": (Order.by_status(status="DONE"), lambda item: item.status == "DONE"),
    "class": (None, lambda _item: True),
}


@given(items, filters, st.sampled_from(sorted(PLACES)))
def test_a_delete_takes_what_matches_and_nothing_else(
    store: sk.Session, put: list[sk.Item], where: Any, kind: str
) -> None:
    model = filled(store, put)
    path, is_on = PLACES[kind]
    gone = [each for each in model.values() if isinstance(each, Order) and is_on(each) and matches(each, where)]
    deleted = store.delete_all(Order, where=where, scan=True) if path is None else store.delete_all(path, where=where)
    assert (deleted.items, deleted.kept) == (len(gone), 0)
    assert shown(store.scan(SHOP)) == sorted(set(shown(model.values())) - set(shown(gone)))
    assert len(list(store.scan_rows(SHOP))) == len(model) - len(gone) + len(FOREIGN)
