"""Any sequence of changes of a bounded set, and of bounded rows, answers what a plain set answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from tests.patterns.bounded_sets.boards import (
    ADA,
    ALBUMS,
    BOARDS,
    HOLIDAYS,
    Album,
    Board,
    Picture,
    picture,
    picture_key,
    store_ids,
)

M = TypeVar("M")


class Change(NamedTuple, Generic[M]):
    kind: Literal["add", "remove"]
    member: M


def changes_of(members: Sequence[M]) -> st.SearchStrategy[list[Change[M]]]:
    return st.lists(st.builds(Change, st.sampled_from(["add", "remove"]), st.sampled_from(members)), max_size=40)


IDS = [UUID(f"{letter * 8}-0000-0000-0000-000000000000") for letter in "abc"]


def expected(members: set[M], change: Change[M], limit: int) -> sk.patterns.Bounded:
    """Changes the plain set, and says what the answer must be."""
    if change.kind == "remove":
        outcome: Literal["removed", "absent"] = "removed" if change.member in members else "absent"
        members.discard(change.member)
        return sk.patterns.Bounded(outcome, len(members))
    if change.member in members:
        return sk.patterns.Bounded("present", len(members))
    if len(members) >= limit:
        return sk.patterns.Bounded("full", len(members))
    members.add(change.member)
    return sk.patterns.Bounded("added", len(members))


@given(changes=changes_of("abcdef"), limit=st.integers(1, 5), stored=st.sets(st.sampled_from("abcdef")))
def test_a_bounded_set_is_a_plain_set_with_a_limit(changes: list[Change[str]], limit: int, stored: set[str]) -> None:
    pins, members = sk.patterns.bounded(Board, "pins", limit=limit), set(stored)
    with sk.connect("memory:") as db:
        db.create_tables(BOARDS)
        db.put(Board(user="ada", pins=set(stored)))
        for change in changes:
            made = pins.add if change.kind == "add" else pins.remove
            assert made(db, ADA, change.member) == expected(members, change, limit)
        board = db.get(ADA)
        assert board is not None
        assert board.pins == members


@given(changes=changes_of("abcdef"), limit=st.integers(1, 5))
def test_bounded_rows_are_a_plain_set_with_a_limit(changes: list[Change[str]], limit: int) -> None:
    pictures, members = (
        sk.patterns.bounded_rows(Album, "pictures", Picture, limit=limit, by={"id": "album"}),
        set[str](),
    )
    with sk.connect("memory:") as db:
        db.create_tables(ALBUMS)
        db.put(Album(id="holidays"))
        for change in changes:
            if change.kind == "add":
                answer = pictures.add(db, picture(change.member))
            else:
                answer = pictures.remove(db, picture_key(change.member))
            assert answer == expected(members, change, limit)
        album = db.get(HOLIDAYS)
        assert album is not None
        assert album.pictures == len(members)
        assert {each.name for each in db.iterate(Picture.key(album="holidays"))} == members


@given(
    stored=st.sets(st.sampled_from(list(map(str, IDS)))),
    changes=changes_of(IDS),
    limit=st.integers(1, 3),
)
def test_members_that_are_stored_as_text_are_a_plain_set_too(
    stored: set[str], changes: list[Change[UUID]], limit: int
) -> None:
    ids, members = sk.patterns.bounded(Board, "ids", limit=limit), set(map(UUID, stored))
    with sk.connect("memory:") as db:
        db.create_tables(BOARDS)
        store_ids(db, *stored)
        for change in changes:
            made = ids.add if change.kind == "add" else ids.remove
            assert made(db, ADA, change.member) == expected(members, change, limit)
        board = db.get(ADA)
        assert board is not None
        assert board.ids == members
