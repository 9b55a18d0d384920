"""Walking pages in either direction, with any sizes, sees each row once, whatever happens to other rows meanwhile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from tests.model.sessions.shop import SHOP, Order, numbers, order

STAYING = st.sets(st.integers(0, 200), max_size=30)
SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=5)
MEDDLING = st.lists(st.tuples(st.booleans(), st.integers(0, 200)), max_size=12)


@given(
    staying=STAYING,
    sizes=SIZES,
    meddling=MEDDLING,
    backward=st.booleans(),
    descending=st.booleans(),
    filtered=st.booleans(),
    budget=st.integers(1, 40),
)
def test_each_row_is_seen_once(
    staying: set[int],
    sizes: list[int],
    meddling: list[tuple[bool, int]],
    backward: bool,
    descending: bool,
    filtered: bool,
    budget: int,
) -> None:
    where = sk.F(Order.visits) <= 9 if filtered else None
    path = Order.by_status(status="OPEN")
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.batch(put=[order(number, visits=number % 10) for number in staying])
        seen: list[int] = []
        cursor = None
        for step in range(1000):
            size = sizes[step % len(sizes)]
            if backward:
                page = db.page(path, last=size, before=cursor, where=where, descending=descending, budget=budget)
                seen = numbers(page.items) + seen
                more, cursor = page.has_previous, page.start_cursor
            else:
                page = db.page(path, first=size, after=cursor, where=where, descending=descending, budget=budget)
                seen += numbers(page.items)
                more, cursor = page.has_next, page.end_cursor
            if not more:
                break
            for arrives, number in meddling[step::3]:
                if number not in staying:
                    if arrives:
                        db.put(order(number, visits=99 if filtered else 0))
                    else:
                        db.delete(order(number).key)
        expected = sorted(staying, reverse=descending)
        assert [number for number in seen if number in staying] == expected
        assert len(set(seen)) == len(seen)
