"""Declarations of overlays: the mistakes that are rejected at import."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import sortkey as sk
from tests.patterns.overlays.goals import VIEW, Pending, Person


class Texts(sk.Item, table=sk.Table("overlay-texts")):
    person: str
    goal: int
    balance: str
    updated: str
    seen: datetime | None = None
    key = sk.Key("PERSON#{person}", "{goal}")


class ByGoal(sk.Item, table=sk.Table("overlay-by-goal")):
    goal: str
    balance: int
    updated: datetime
    key = sk.Key("{goal}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": Texts}, r"Texts.updated must be a datetime, since instants are compared, not str"),
        ({"items": Texts, "newer": "seen"}, r"Texts.seen must be a datetime, .* not .*datetime or None"),
        ({"than": "asof"}, r"Person has no field 'asof'; did you mean 'as_of'\?"),
        ({"items": ByGoal}, r"the partition key of ByGoal has goal, which is not in the key of Person; one Query must"),
        ({"part": "goals", "by": None}, r"part= and by= belong together"),
        ({"part": "person", "by": "person"}, r"Person.person must be a list or a dict of items, as list\[Goal\], not"),
        ({"by": "balance"}, r"Goal has no field 'balance'"),
        ({"replace": {}}, r"replace= needs fields"),
        ({"replace": {"savd": "balance"}}, r"Goal has no field 'savd'; did you mean 'saved'\?"),
        ({"replace": {"saved": "balanced"}}, r"Pending has no field 'balanced'; did you mean 'balance'\?"),
        ({"replace": {"saved": "status"}}, r"Goal.saved is int, and Pending.status, .* is str"),
        ({"replace": {"status": "expires"}}, r"Pending.expires, which it is taken from, is .* or None"),
        ({"replace": {"goal": "status"}}, r"Goal.goal tells the elements apart, as by= says, so it cannot be replaced"),
        ({"over": 5}, "expected a class with a table, not 5"),
        ({"part": None, "by": None, "replace": {"person": "goal"}}, r"Person.person is in the key"),
    ],
)
def test_mistakes_are_rejected_at_import(changes: dict[str, Any], message: str) -> None:
    options = {
        "items": Pending,
        "over": Person,
        "newer": "updated",
        "than": "as_of",
        "part": "goals",
        "by": "goal",
        "replace": {"saved": "balance"},
        **changes,
    }
    with pytest.raises(sk.DeclarationError, match=message):
        sk.patterns.overlay(options.pop("items"), **options)


def test_a_condition_on_an_unknown_field_is_rejected() -> None:
    with pytest.raises(sk.UnknownField, match="state"):
        sk.patterns.overlay(
            Pending, over=Person, newer="updated", than="as_of", replace={"as_of": "updated"}, where={"state": "x"}
        )


def test_a_reader_needs_an_open_session() -> None:
    with sk.connect("memory:") as db, pytest.raises(TypeError, match=r"needs an open session, of sk\.async_connect"):
        VIEW.reader(db)  # type: ignore[arg-type]
