"""After any sequence of partial updates every row equals the one computed from its item afresh."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.changes.operators import Add, Append, FieldChange, IfNotExists, Operator
from sortkey.model.items.item import schema_of
from tests.model.sessions.shop import SHOP, Order, order

TEXT = st.text("ab#$", min_size=1, max_size=3)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "status": TEXT | st.builds(IfNotExists, TEXT),
        "city": TEXT | st.none() | st.builds(IfNotExists, TEXT),
        "visits": st.integers(-20, 20) | st.builds(Add, st.integers(-5, 5)),
        "tags": st.sets(TEXT, max_size=2) | st.builds(Add, st.sets(TEXT, min_size=1, max_size=2)),
        "notes": st.lists(TEXT, max_size=2) | st.builds(Append, st.lists(TEXT, min_size=1, max_size=2)),
        "updated": st.integers(0, 9),
    },
).filter(bool)


def after(item: Order, changes: dict[str, Any]) -> Order:
    values = {
        name: change.apply(getattr(item, name)) if isinstance(change, Operator) else change
        for name, change in changes.items()
    }
    return sk.replace(item, **values)


@given(st.lists(CHANGES, max_size=6), st.none() | TEXT)
def test_rows_are_as_if_put_afresh(updates: list[dict[str, Any]], city: str | None) -> None:
    expected = order(1, city=city)
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.put(expected)
        for changes in updates:
            expected = after(expected, changes)
            assert db.update(expected.key, [FieldChange(*change) for change in changes.items()]) == expected
            stored = db.client.scan(TableName="shop")["Items"]
            assert list(map(in_order, stored)) == [in_order(schema_of(Order).encode(expected))]
            for index in ("gsi1", "gsi2"):
                rows = db.client.scan(TableName="shop", IndexName=index)["Items"]
                assert list(map(in_order, rows)) == [
                    in_order(row) for row in map(schema_of(Order).encode, [expected]) if f"{index}pk" in row
                ]


def in_order(row: dict[str, Any]) -> dict[str, Any]:
    """Sets have no order."""
    return {name: {"SS": sorted(value["SS"])} if "SS" in value else value for name, value in row.items()}
