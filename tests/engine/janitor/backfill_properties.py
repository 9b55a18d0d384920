"""Random writes between the chunks of a backfill: at the end, the index is as if it had always existed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.janitor import backfill
from tests.engine.orders import Orders, number, text

KEYS = [f"order-{at}" for at in range(12)]

writes = st.tuples(st.sampled_from(KEYS), st.sampled_from([None, "", "x", "y"]), st.integers(0, 2))
"""An order, its city (None deletes the order, "" leaves the city out) and its total and expiry."""


def write(orders: Orders, key: str, city: str | None, total: int) -> None:
    if city is None:
        orders.delete(key)
    else:
        orders.put(key, total=number(total), **({"city": text(city)} if city else {}))


def in_turns(db: Database) -> Iterator[None]:
    filling, indexing = backfill.fill_indexes(db), backfill.fill_expiries(db)
    while True:
        if next(filling, db) is db and next(indexing, db) is db:
            return
        yield


@given(
    before=st.lists(writes, max_size=30),
    between=st.lists(st.lists(writes, max_size=6), max_size=12),
    projection=st.sampled_from(["ALL", "KEYS_ONLY"]),
)
def test_index_and_expiries_agree_with_the_items_after_every_step(
    before: list[tuple[str, str | None, int]], between: list[list[tuple[str, str | None, int]]], projection: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backfill, "CHUNK_ROWS", 2)
        db = Database(None, ManualClock())
        orders = Orders(db)
        for each in before:
            write(orders, *each)
        orders.add_index("city", projection=projection)
        orders.expire_by("total")
        rounds = iter(between)
        for _ in in_turns(db):
            for each in next(rounds, []):
                write(orders, *each)
            assert check_database(db).problems == []
        with_city = [item for item in db.call("Scan", {"TableName": orders.name})["Items"] if "city" in item]
        assert orders.index()["IndexStatus"] == "ACTIVE"
        assert orders.index()["ItemCount"] == check_database(db).index_rows == len(with_city)
        db.close()
