"""200 adders at once, of 150 members, to a limit of 100: exactly 100 get in, and every answer is true."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import sortkey as sk
from tests.patterns.bounded.boards import ADA, HOLIDAYS, Album, Board, Picture, picture, picture_key

ADDERS, MEMBERS, LIMIT = 200, 150, 100
PINS = sk.bounded(Board, "pins", limit=LIMIT)
PICTURES = sk.bounded_rows(Album, "pictures", Picture, limit=LIMIT, by={"id": "album"})

Answers = list[tuple[str, sk.Bounded]]


def all_at_once(change: Callable[[str], sk.Bounded], members: list[str]) -> Answers:
    """One thread for each member, which all start together."""
    start = Barrier(len(members))

    def changed(member: str) -> tuple[str, sk.Bounded]:
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
