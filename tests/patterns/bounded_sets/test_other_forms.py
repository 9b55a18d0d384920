"""Bounded sets with members in another form than Sortkey stores: no answer, since the set cannot be read."""

from __future__ import annotations

from uuid import UUID

import pytest

import sortkey as sk
from tests.patterns.bounded_sets.boards import ADA, Board, store_ids

A, B = (UUID(f"{letter * 8}-0000-0000-0000-000000000000") for letter in "ab")
IDS = sk.patterns.bounded(Board, "ids", limit=2)


@pytest.mark.parametrize("member", [A, B])
def test_a_member_in_another_form_is_an_error_that_an_audit_repairs(memory: sk.Session, member: UUID) -> None:
    for change in (IDS.add, IDS.remove):
        store_ids(memory, str(A).upper())
        with pytest.raises(sk.DecodeError, match=r"Board\.ids: 'AAAAAAAA-.* is not in the form of the field"):
            change(memory, ADA, member)
    store_ids(memory, str(A).upper())
    memory.audit(Board, repair=True)
    assert IDS.add(memory, ADA, A) == sk.patterns.Bounded("present", 1)
    assert IDS.remove(memory, ADA, A) == sk.patterns.Bounded("removed", 0)
