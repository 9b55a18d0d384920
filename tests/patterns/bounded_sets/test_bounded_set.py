"""Bounded sets: every outcome with its size, every type of member, and what else an item may be."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

import sortkey as sk
from tests.patterns.bounded_sets.boards import ADA, BOARDS, HOLIDAYS, Board

pytestmark = pytest.mark.every_store

PINS = sk.patterns.bounded(Board, "pins", limit=2)


def outcomes(*answers: sk.patterns.Bounded) -> list[tuple[str, int]]:
    return [(each.outcome, each.size) for each in answers]


def test_every_outcome_has_the_size(db: sk.Session) -> None:
    added = [PINS.add(db, ADA, pin) for pin in ("a", "a", "b", "c", "b")]
    assert outcomes(*added) == [("added", 1), ("present", 1), ("added", 2), ("full", 2), ("present", 2)]
    removed = [PINS.remove(db, ADA, pin) for pin in ("c", "a", "a", "b", "b")]
    assert outcomes(*removed) == [("absent", 2), ("removed", 1), ("absent", 1), ("removed", 0), ("absent", 0)]
    assert PINS.add(db, ADA, "d") == sk.patterns.Bounded(outcome="added", size=1)


# As `update`: an item of a key and a set alone would be no whole item.
def test_a_missing_item_is_an_error_and_stays_missing(db: sk.Session) -> None:
    nobody = Board.key(user="nobody")
    for change in (PINS.add, PINS.remove):
        with pytest.raises(sk.ItemMissing, match="user='nobody'"):
            change(db, nobody, "a")
    assert db.get(nobody) is None


@pytest.mark.parametrize(
    ("field", "members"),
    [
        ("lucky", [7, 8, 9]),
        ("prices", [Decimal("1.25"), Decimal(2), Decimal(3)]),
        ("hashes", [b"\0", b"\1", b"\2"]),
        ("seen", [datetime(2026, 8, day, tzinfo=UTC) for day in (1, 2, 3)]),
        ("ids", [UUID(int=number) for number in (10, 11, 12)]),
    ],
)
def test_members_are_of_any_type_that_a_set_can_have(db: sk.Session, field: str, members: list[Any]) -> None:
    bounded = sk.patterns.bounded(Board, field, limit=2)
    one, two, three = members
    added = [bounded.add(db, ADA, member) for member in (one, one, two, three)]
    assert outcomes(*added) == [("added", 1), ("present", 1), ("added", 2), ("full", 2)]
    removed = [bounded.remove(db, ADA, member) for member in (three, one)]
    assert outcomes(*removed) == [("absent", 2), ("removed", 1)]
    stored = db.get(ADA)
    assert stored is not None
    assert getattr(stored, field) == {two}


# Both are stored as one value, so the second is a member although it is written otherwise.
@pytest.mark.parametrize(
    ("field", "member", "same"),
    [
        ("prices", Decimal("1.5"), Decimal("1.500")),
        (
            "seen",
            datetime(2026, 8, 24, 12, tzinfo=UTC),
            datetime(2026, 8, 24, 14, tzinfo=timezone(timedelta(hours=2))),
        ),
    ],
)
def test_equal_members_are_one_member(memory: sk.Session, field: str, member: Any, same: Any) -> None:
    bounded = sk.patterns.bounded(Board, field, limit=1)
    assert bounded.add(memory, ADA, member).outcome == "added"
    assert bounded.add(memory, ADA, same) == sk.patterns.Bounded("present", 1)
    assert bounded.remove(memory, ADA, same) == sk.patterns.Bounded("removed", 0)


# A limit that was lowered: nothing is lost, and nothing is added before there is room again.
def test_a_set_that_is_larger_than_its_limit_shrinks_only(memory: sk.Session) -> None:
    memory.put(Board(user="ada", pins={"a", "b", "c"}))
    answers = [PINS.add(memory, ADA, "d"), PINS.add(memory, ADA, "a"), PINS.remove(memory, ADA, "a")]
    assert outcomes(*answers) == [("full", 3), ("present", 3), ("removed", 2)]


# Also one that is rejected: the error of the store has the set.
def test_a_change_is_one_request(memory: sk.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    call = memory.client._call

    def recorded(operation: str, members: dict[str, Any]) -> Any:
        sent.append(operation)
        return call(operation, members)

    monkeypatch.setattr(memory.client, "_call", recorded)
    for change, member in ((PINS.add, "a"), (PINS.add, "a"), (PINS.add, "b"), (PINS.add, "c"), (PINS.remove, "c")):
        change(memory, ADA, member)
    assert sent == ["UpdateItem"] * 5


def test_other_fields_stay_and_stamps_are_set(memory: sk.Session) -> None:
    memory.put(Board(user="ada", name="Ada"))
    before = memory.get(ADA)
    PINS.add(memory, ADA, "a")
    after = memory.get(ADA)
    assert before is not None
    assert after is not None
    assert after.name == "Ada"
    assert after.changed is not None
    assert before.changed is not None
    assert after.changed >= before.changed


def test_an_async_session_awaits_the_answer() -> None:
    async def main() -> list[sk.patterns.Bounded]:
        async with sk.async_connect("memory:", tables=[BOARDS]) as db:
            await db.create_tables()
            await db.put(Board(user="ada"))
            return [await PINS.add(db, ADA, "a"), await PINS.remove(db, ADA, "b"), await PINS.remove(db, ADA, "a")]

    assert outcomes(*asyncio.run(main())) == [("added", 1), ("absent", 1), ("removed", 0)]


def test_what_is_no_session_path_or_member_is_named(memory: sk.Session) -> None:
    with pytest.raises(TypeError, match=r"expected an open session, of sk.connect or sk.async_connect, not 'ada'"):
        PINS.add("ada", ADA, "a")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"in the items of Board, not in Album\.key"):
        PINS.add(memory, HOLIDAYS, "a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected an access path"):
        PINS.add(memory, Board(user="ada"), "a")  # type: ignore[call-overload]
    with pytest.raises(sk.EncodeError, match=r"Board\.pins: expected str, got int"):
        PINS.add(memory, ADA, 7)


# Lists and strings have a size and elements, too, so the condition alone would let the change through to an error of
# the store that names nothing.
@pytest.mark.parametrize("stored", [{"L": [{"S": "a"}]}, {"NS": ["1"]}, {"S": "a"}, {"M": {}}], ids=str)
def test_a_stored_field_of_another_type_is_named_and_stays(db: sk.Session, stored: dict[str, Any]) -> None:
    row = {"pk": {"S": "BOARD#ada"}, "user": {"S": "ada"}, "pins": stored}
    db.client.put_item(TableName="bounded-boards", Item=row)
    for change in (PINS.add, PINS.remove):
        with pytest.raises(sk.DecodeError, match=r"Board\.pins: expected SS, found .* key pk='BOARD#ada'") as error:
            change(db, ADA, "a")
        assert not error.value.written
    assert db.client.get_item(TableName="bounded-boards", Key={"pk": {"S": "BOARD#ada"}})["Item"] == row


@pytest.mark.parametrize(
    ("field", "limit", "message"),
    [
        ("pin", 2, "Board has no field 'pin'; did you mean 'pins'"),
        ("name", 2, "Board.name: the field must be a set"),
        ("pins", 0, "limit= is the largest number of members, an int of at least 1, not 0"),
        ("pins", True, "not True"),
        ("chosen", 2, "the default has members; a bounded set is empty at first"),
        (Board.pins, 2, r"expected the name of a field, or sk\.F\(Product\.stock\), not <member 'pins'"),
    ],
)
def test_declarations_that_cannot_work_are_rejected(field: Any, limit: int, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.patterns.bounded(Board, field, limit=limit)


def test_what_is_no_class_is_named() -> None:
    with pytest.raises(sk.DeclarationError, match="expected a class with a table, not 5"):
        sk.patterns.bounded(5, "pins", limit=2)  # type: ignore[arg-type]


def test_a_field_may_be_named_by_its_class() -> None:
    assert repr(sk.patterns.bounded(Board, sk.F(Board.pins), limit=2)) == "<bounded set Board.pins: at most 2 members>"
