"""Pages: Relay's arguments, exact ends, and filters that leave no page short."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from tests.model.sessions.shop import Order, numbers, order

ADA = Order.key(customer="ada")


def test_forward_and_backward(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(7)])
    first = db.page(ADA, first=3)
    assert (numbers(first.items), first.has_previous, first.has_next) == ([0, 1, 2], False, True)
    second = db.page(ADA, first=3, after=first.end_cursor)
    assert (numbers(second.items), second.has_previous, second.has_next) == ([3, 4, 5], True, True)
    third = db.page(ADA, first=3, after=second.end_cursor)
    assert (numbers(third.items), third.has_previous, third.has_next) == ([6], True, False)
    back = db.page(ADA, last=2, before=third.start_cursor)
    assert (numbers(back.items), back.has_previous, back.has_next) == ([4, 5], True, True)
    back = db.page(ADA, last=5, before=back.start_cursor)
    assert (numbers(back.items), back.has_previous, back.has_next) == ([0, 1, 2, 3], False, True)
    end = db.page(ADA, last=3)
    assert (numbers(end.items), end.has_previous, end.has_next) == ([4, 5, 6], True, False)


# A client may stop anywhere in a page, so every edge has its own cursor.
def test_every_edge_has_a_cursor(db: sk.Session) -> None:
    db.batch(put=[order(number, status="OPEN") for number in range(5)])
    path = Order.by_status(status="OPEN")
    for edge in db.page(path, first=4).edges:
        assert numbers(db.page(path, first=1, after=edge.cursor).items) == [edge.item.number + 1]


def test_descending(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(5)])
    first = db.page(ADA, first=2, descending=True)
    assert numbers(first.items) == [4, 3]
    assert numbers(db.page(ADA, first=5, after=first.end_cursor, descending=True).items) == [2, 1, 0]
    assert numbers(db.page(ADA, last=2, descending=True).items) == [1, 0]


# The last full page must not promise another one.
def test_an_exact_end_is_an_end(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(4)])
    assert not db.page(ADA, first=4).has_next
    assert not db.page(ADA, last=4).has_previous
    empty = db.page(Order.key(customer="nobody"), first=4)
    assert (empty.items, empty.has_next, empty.start_cursor, empty.end_cursor) == ([], False, None, None)


def test_a_filtered_page_is_filled_up(db: sk.Session) -> None:
    db.batch(put=[order(number, status="RARE" if number % 50 == 49 else "OPEN") for number in range(220)])
    page = db.page(ADA, first=3, where={"status": "RARE"})
    assert (numbers(page.items), page.has_next) == ([49, 99, 149], True)
    page = db.page(ADA, first=3, where={"status": "RARE"}, after=page.end_cursor)
    assert (numbers(page.items), page.has_next) == ([199], False)


# A page that reaches its budget is short, and the next one continues where reading stopped.
def test_the_read_budget_ends_a_page(db: sk.Session) -> None:
    db.batch(put=[order(number, status="RARE" if number == 90 else "OPEN") for number in range(100)])
    found, cursor, pages = [], None, 0
    while True:
        page = db.page(ADA, first=2, where={"status": "RARE"}, after=cursor, budget=30)
        found += numbers(page.items)
        cursor, pages = page.end_cursor, pages + 1
        if not page.has_next:
            break
    assert found == [90]
    assert pages == 4
    back = db.page(ADA, last=2, where={"status": "RARE"}, budget=5)
    assert (back.items, back.has_previous) == ([], True)
    assert numbers(db.page(ADA, last=2, where={"status": "RARE"}, before=back.start_cursor).items) == [90]


@pytest.mark.parametrize(
    "arguments",
    [{"first": 0}, {"last": -1}, {"first": 1, "last": 1}, {"first": 1, "before": "x"}, {"first": 1, "budget": 0}],
)
def test_arguments_that_contradict_each_other(memory: sk.Session, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="first"):
        memory.page(ADA, **arguments)


def test_fifty_is_the_size_of_a_page(memory: sk.Session) -> None:
    memory.batch(put=[order(number) for number in range(60)])
    assert numbers(memory.page(ADA).items) == list(range(50))
