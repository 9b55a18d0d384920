"""200 adders at once, of 150 members, to a limit of 100: exactly 100 get in, and every answer is true."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import NAMESPACE_OID, uuid5

import pytest

import sortkey as sk
from sortkey.model.calls.steps import Pacing
from tests.patterns.bounded_sets.boards import ADA, HOLIDAYS, Album, Board, Picture, picture, picture_key

ADDERS, MEMBERS, LIMIT = 200, 150, 100
PINS = sk.patterns.bounded(Board, "pins", limit=LIMIT)
PICTURES = sk.patterns.bounded_rows(Album, "pictures", Picture, limit=LIMIT, by={"id": "album"})

Answers = list[tuple[str, sk.patterns.Bounded]]


def all_at_once(change: Callable[[str], sk.patterns.Bounded], members: list[str]) -> Answers:
    """One thread for each member, which all start together."""
    start = Barrier(len(members))

    def changed(member: str) -> tuple[str, sk.patterns.Bounded]:
        start.wait()
        return member, change(member)

    with ThreadPoolExecutor(len(members)) as threads:
        return list(threads.map(changed, members))


def adders() -> list[str]:
    return [f"m{number % MEMBERS:03}" for number in range(ADDERS)]


def assert_true(answers: Answers, stored: set[str]) -> None:
    """Nothing is removed, so a member that was rejected as one too many never gets in later."""
    by_outcome = {
        outcome: [member for member, answer in answers if answer.outcome == outcome]
        for outcome in ("added", "present", "full")
    }
    assert sum(map(len, by_outcome.values())) == ADDERS
    assert len(by_outcome["added"]) == LIMIT
    assert set(by_outcome["added"]) == stored
    assert set(by_outcome["present"]) <= stored
    assert not stored.intersection(by_outcome["full"])
    assert {answer.size for _, answer in answers if answer.outcome == "full"} <= {LIMIT}
    assert all(1 <= answer.size <= LIMIT for _, answer in answers)


def test_a_bounded_set_takes_exactly_its_limit(db: sk.Session) -> None:
    answers = all_at_once(lambda member: PINS.add(db, ADA, member), adders())
    board = db.get(ADA, consistent=True)
    assert board is not None
    assert_true(answers, board.pins)
    # The size is of the write itself, so each number is answered once.
    assert sorted(answer.size for _, answer in answers if answer.outcome == "added") == list(range(1, LIMIT + 1))


# Other programs may store UUIDs in other forms, and that must not make writers wait for each other.
@pytest.mark.slow
def test_a_bounded_set_of_members_with_several_forms_takes_exactly_its_limit(memory: sk.Session) -> None:
    ids = sk.patterns.bounded(Board, "ids", limit=LIMIT)
    answers = all_at_once(lambda member: ids.add(memory, ADA, uuid5(NAMESPACE_OID, member)), adders())
    board = memory.get(ADA, consistent=True)
    assert board is not None
    assert_true([(str(uuid5(NAMESPACE_OID, member)), answer) for member, answer in answers], set(map(str, board.ids)))


@pytest.mark.slow
def test_bounded_rows_take_exactly_their_limit(db: sk.Session) -> None:
    answers = all_at_once(lambda member: PICTURES.add(db, picture(member)), adders())
    album = db.get(HOLIDAYS, consistent=True)
    assert album is not None
    assert album.pictures == LIMIT
    assert_true(answers, {each.name for each in db.iterate(Picture.key(album="holidays"), consistent=True)})


# Two removers of each member: one of both has removed it.
def test_each_member_is_removed_once(db: sk.Session) -> None:
    members = [f"m{number:02}" for number in range(20)]
    for member in members:
        PINS.add(db, ADA, member)
        PICTURES.add(db, picture(member))
    answers = {
        "pins": all_at_once(lambda member: PINS.remove(db, ADA, member), members * 2),
        "pictures": all_at_once(lambda member: PICTURES.remove(db, picture_key(member)), members * 2),
    }
    for each in answers.values():
        assert sorted(member for member, answer in each if answer.outcome == "removed") == members
        assert sorted(member for member, answer in each if answer.outcome == "absent") == members
    board, album = db.get(ADA, consistent=True), db.get(HOLIDAYS, consistent=True)
    assert board is not None
    assert album is not None
    assert (board.pins, album.pictures) == (set(), 0)


# On AWS, transactions of one parent conflict, and requests are throttled: they are sent again, and count once.
def test_conflicts_do_not_change_the_answers() -> None:
    faults = sk.testing.Faults(seed=7, transaction_conflicts=0.3, throttle=0.1)
    pictures = sk.patterns.bounded_rows(Album, "pictures", Picture, limit=5, by={"id": "album"})
    with sk.connect("memory:", faults=faults, pacing=Pacing(first_pause=0.001)) as db:
        db.create_tables(Album)
        db.put(Album(id="holidays"))
        names = [f"p{number}" for number in range(8)]
        added = [pictures.add(db, picture(name)) for name in names]
        assert [answer.outcome for answer in added] == ["added"] * 5 + ["full"] * 3
        assert [answer.size for answer in added] == [1, 2, 3, 4, 5, 5, 5, 5]
        removed = [pictures.remove(db, picture_key(name)) for name in names]
        assert [answer.outcome for answer in removed] == ["removed"] * 5 + ["absent"] * 3
        assert [answer.size for answer in removed] == [4, 3, 2, 1, 0, 0, 0, 0]
