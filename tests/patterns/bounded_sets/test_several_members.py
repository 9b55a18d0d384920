"""Several members at once: all of them are added, or none, and each has its outcome."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from tests.patterns.bounded_sets.boards import ADA, BOARDS, Board

PINS = sk.patterns.bounded(Board, "pins", limit=3)


def stored(db: sk.Session) -> set[str]:
    board = db.get(ADA, consistent=True)
    assert board is not None
    return board.pins


def test_each_member_has_its_outcome(db: sk.Session) -> None:
    assert PINS.add(db, ADA, ["a", "b"]) == sk.patterns.BoundedMany({"a": "added", "b": "added"}, size=2)
    assert PINS.add(db, ADA, {"b"}) == sk.patterns.BoundedMany({"b": "present"}, size=2)
    # More than the limit if all were new.
    assert PINS.add(db, ADA, ["a", "b", "c"]).outcomes == {"a": "present", "b": "present", "c": "added"}
    assert PINS.remove(db, ADA, ["a", "x", "c"]) == sk.patterns.BoundedMany(
        {"a": "removed", "x": "absent", "c": "removed"}, size=1
    )
    assert stored(db) == {"b"}


def test_without_room_for_all_nothing_is_added(db: sk.Session) -> None:
    PINS.add(db, ADA, ["a", "b"])
    answer = PINS.add(db, ADA, ["b", "c", "d"])
    assert answer == sk.patterns.BoundedMany({"b": "present", "c": "full", "d": "full"}, size=2)
    assert stored(db) == {"a", "b"}
    assert PINS.add(db, ADA, ["p", "q", "r", "s"]).size == 2


def test_a_missing_item_is_an_error_and_stays_missing(db: sk.Session) -> None:
    nobody = Board.key(user="nobody")
    for change in (PINS.add, PINS.remove):
        with pytest.raises(sk.ItemMissing, match="user='nobody'"):
            change(db, nobody, ["a", "b"])
    assert db.get(nobody) is None


@pytest.mark.parametrize("members", [[], [f"m{number}" for number in range(101)]])
def test_too_few_or_too_many(db: sk.Session, members: list[str]) -> None:
    for change in (PINS.add, PINS.remove):
        with pytest.raises(ValueError, match=f"takes 1 to 100 members at a time, not {len(members)}"):
            change(db, ADA, members)


# An expression of the condition has 4 KB at most.
def test_the_most_members_of_which_nearly_all_are_present(db: sk.Session) -> None:
    many = sk.patterns.bounded(Board, "pins", limit=100)
    members = [f"m{number:03}" for number in range(100)]
    many.add(db, ADA, members[1:])
    answer = many.add(db, ADA, members)
    assert answer.size == 100
    assert [each for each, outcome in answer.outcomes.items() if outcome == "added"] == ["m000"]


# Both are stored as one value.
def test_members_that_are_written_otherwise(db: sk.Session) -> None:
    prices = sk.patterns.bounded(Board, "prices", limit=2)
    assert prices.add(db, ADA, [Decimal("1.5"), Decimal("1.500"), Decimal(2)]).size == 2
    assert prices.add(db, ADA, [Decimal("1.50"), Decimal("2.0")]).outcomes == {Decimal("1.5"): "present", 2: "present"}


def test_a_member_that_the_set_cannot_have(db: sk.Session) -> None:
    with pytest.raises(sk.EncodeError):
        PINS.add(db, ADA, ["a", 7])
    assert stored(db) == set()


# Between the two requests of one call, another program takes a member out that was counted on.
def test_others_that_are_quicker(db: sk.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    PINS.add(db, ADA, ["a", "b"])
    change, calls = sk.patterns.BoundedSet._change, []

    def changed(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            yield from change(PINS, arguments[1], ADA, *_swap())
        return (yield from change(*arguments))

    def _swap() -> tuple[Any, Any]:
        return PINS._set.delete({"a"}), PINS._set.contains("a")

    monkeypatch.setattr(sk.patterns.BoundedSet, "_change", changed)
    answer = PINS.add(db, ADA, ["a", "b", "c"])
    assert answer == sk.patterns.BoundedMany({"a": "added", "b": "present", "c": "added"}, size=3)
    assert stored(db) == {"a", "b", "c"}


MEMBERS = st.sets(st.sampled_from("abcdef"))


@given(
    changes=st.lists(st.tuples(st.sampled_from(["add", "remove"]), MEMBERS.filter(bool)), max_size=20),
    limit=st.integers(1, 5),
    before=MEMBERS,
)
def test_a_plain_set_with_a_limit_answers_the_same(
    changes: list[tuple[str, set[str]]], limit: int, before: set[str]
) -> None:
    pins, plain = sk.patterns.bounded(Board, "pins", limit=limit), set(before)
    with sk.connect("memory:") as db:
        db.create_tables(BOARDS)
        db.put(Board(user="ada", pins=set(before)))
        for kind, members in changes:
            if kind == "remove":
                outcomes = {each: "removed" if each in plain else "absent" for each in members}
                plain -= members
                removed = pins.remove(db, ADA, members)
                assert (removed.outcomes, removed.size) == (outcomes, len(plain))
                continue
            fits = members <= plain or len(plain | members) <= limit
            outcomes = {each: "present" if each in plain else "added" if fits else "full" for each in members}
            plain |= members if fits else set()
            added = pins.add(db, ADA, members)
            assert (added.outcomes, added.size) == (outcomes, len(plain))
        assert stored(db) == plain
