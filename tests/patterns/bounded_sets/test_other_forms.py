"""Bounded sets whose members other programs have stored in other forms: the answers are of what the item shows."""

from __future__ import annotations

from uuid import UUID

import sortkey as sk
from tests.patterns.bounded_sets.boards import ADA, Board, store_ids

A, B, C = (UUID(f"{letter * 8}-0000-0000-0000-000000000000") for letter in "abc")
IDS = sk.patterns.bounded(Board, "ids", limit=2)


def shown(db: sk.Session) -> set[UUID]:
    board = db.get(ADA)
    assert board is not None
    return board.ids


def capital(member: UUID) -> str:
    return str(member).upper()


def test_a_member_in_another_form_is_present(memory: sk.Session) -> None:
    store_ids(memory, capital(A))
    assert IDS.add(memory, ADA, A) == sk.patterns.Bounded("present", 1)
    assert shown(memory) == {A}


def test_a_member_is_removed_in_all_its_forms(memory: sk.Session) -> None:
    for forms in ([capital(A)], [str(A)], [capital(A), str(A)]):
        store_ids(memory, *forms, str(B))
        assert IDS.remove(memory, ADA, A) == sk.patterns.Bounded("removed", 1)
        assert shown(memory) == {B}


# The stored set has two elements, which are one member.
def test_several_forms_of_a_member_count_once(memory: sk.Session) -> None:
    store_ids(memory, capital(A), str(A))
    assert IDS.add(memory, ADA, B) == sk.patterns.Bounded("added", 2)
    assert IDS.add(memory, ADA, C) == sk.patterns.Bounded("full", 2)
    assert shown(memory) == {A, B}
