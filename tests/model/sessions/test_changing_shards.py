"""A change of the number of shards: items move as they are written and by the audit, and reads have each item once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.audit.finding import Kind
from sortkey.model.calls.steps import Call
from sortkey.model.changes.typed_field import field_of
from tests.model.sessions.leaderboard import leaderboard

BEFORE = leaderboard(4)
PREPARED = leaderboard(4, 16)
CHANGING = leaderboard(16, 4)
AFTER = leaderboard(16)
EVERYONE = [f"p{number:03}" for number in range(80)]


@pytest.fixture
def scores(db: sk.Session) -> sk.Session:
    db.create_tables(BEFORE)
    db.batch(put=[BEFORE(player=player, board="b", score=number // 3) for number, player in enumerate(EVERYONE)])
    return db


def shards_of(db: sk.Session) -> set[str]:
    return {row["toppk"]["S"].rpartition("#")[2] for row in db.scan_rows(BEFORE)}


def test_each_version_of_the_program_reads_all_items(scores: sk.Session) -> None:
    for version in (BEFORE, PREPARED, CHANGING):
        assert scores.count(version.top(board="b")) == 80
        assert [each.player for each in scores.iterate(version.ranked(board="b"))] == EVERYONE
    scores.audit(CHANGING, repair=True)
    for version in (PREPARED, CHANGING, AFTER):
        assert scores.count(version.top(board="b")) == 80
        assert [each.player for each in scores.iterate(version.ranked(board="b"))] == EVERYONE


def test_the_audit_moves_items_and_says_when_all_have_moved(scores: sk.Session) -> None:
    report = scores.audit(CHANGING)
    assert report.is_clean
    assert {each.kind for each in report.findings} == {Kind.FORMER_SHARD}
    moved = scores.audit(CHANGING, repair=True)
    assert [(each.subject, each.left) for each in moved.findings] == [("top", 0), ("ranked", 0)]
    assert scores.audit(CHANGING).fine == 80
    assert scores.audit(AFTER).fine == 80
    assert len(shards_of(scores)) == 16


def test_the_audit_of_a_program_that_does_not_know_the_former_number_finds_flaws(scores: sk.Session) -> None:
    report = scores.audit(AFTER)
    assert not report.is_clean
    assert {each.kind for each in report.findings} == {Kind.INDEX_KEY_STALE}


def test_a_write_moves_its_item(scores: sk.Session) -> None:
    for player in EVERYONE:
        scores.update(CHANGING.key(player=player), [{"board": "b"}, field_of(CHANGING, "score").add(1)])
    assert len(shards_of(scores)) == 16
    assert scores.audit(CHANGING).fine == 80


def test_a_page_has_a_cursor_that_every_version_takes(scores: sk.Session) -> None:
    seen = []
    cursor = None
    for version in (BEFORE, PREPARED, CHANGING, CHANGING, AFTER, AFTER, AFTER, AFTER):
        if version is AFTER:
            scores.audit(CHANGING, repair=True)
        page = scores.page(version.ranked(board="b"), first=10, after=cursor)
        seen += [each.player for each in page]
        cursor = page.end_cursor
    assert seen == EVERYONE


# The mover is not stopped by a counter that changes all the time: the shard does not follow from it.
def test_a_move_does_not_depend_on_the_sort_key(memory: sk.Session) -> None:
    memory.create_tables(BEFORE)
    player = next(player for player in EVERYONE if _shard(BEFORE, player) != _shard(AFTER, player))
    memory.put(BEFORE(player=player, board="b", score=1))
    send = memory.client._call
    repaired: list[str] = []

    def counting(operation: str, members: dict[str, Any]) -> dict[str, Any]:
        if operation == "UpdateItem" and "ConditionExpression" in members:
            memory.client.update_item(
                TableName=members["TableName"],
                Key=members["Key"],
                UpdateExpression="ADD score :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
            repaired.append(operation)
        return send(operation, members)

    memory.client._call = counting  # type: ignore[method-assign]
    report = memory.audit(CHANGING, repair=True)
    assert (report.changed, [each.repaired for each in report.findings]) == (0, [1, 1])
    assert repaired == ["UpdateItem"]
    assert [each.score for each in memory.iterate(AFTER.top(board="b"))] == [2]


def _shard(version: Any, player: str) -> Any:
    return version.__schema__.indexes["top"].attributes_of(version(player=player, board="b", score=0))["toppk"]


# An item that moves between two requests is in a shard that was read before, or in one that is read after. All items
# come from one shard, so a page takes several rounds of requests.
@pytest.mark.slow
@pytest.mark.parametrize(("version", "former", "shard"), [(CHANGING, BEFORE, "00"), (PREPARED, AFTER, "09")])
def test_an_item_that_moves_between_two_requests_is_returned_once(
    memory: sk.Session, version: Any, former: Any, shard: str
) -> None:
    many = [f"p{number}" for number in range(2000)]
    players = sorted(player for player in many if _shard(former, player) == {"S": f"TOP#b#{shard}"})[:80]
    memory.create_tables(former)

    def write(by: Any) -> None:
        memory.batch(put=[by(player=player, board="b", score=1) for player in players])

    for nth in range(60):
        for read in (_players_of_page, _players_counted):
            write(former)
            _before_request(memory, nth, lambda: write(version))
            assert read(memory, version.top(board="b")) == 80


def _players_of_page(db: sk.Session, path: sk.AccessPath[Any]) -> int:
    page = db.page(path, first=80)
    assert not page.has_next
    return len({each.player for each in page}) if len(page) == 80 else len(page)


def _players_counted(db: sk.Session, path: sk.AccessPath[Any]) -> int:
    return db.count(path)


def _before_request(db: sk.Session, nth: int, act: Callable[[], None]) -> None:
    """Acts before the nth Query of the session from now on."""
    perform = db._runner._perform
    queries = 0

    def performed(call: Call, deadline: Any) -> Any:
        nonlocal queries
        if call.operation == "Query":
            if queries == nth:
                act()
            queries += 1
        return perform(call, deadline)

    db._runner._perform = performed  # type: ignore[method-assign]


# Readers, writers and the mover at once, in threads of one process. Scores are tied, ranks are not.
@pytest.mark.slow
@pytest.mark.parametrize("index", ["top", "ranked"])
def test_nothing_is_missing_or_twice_while_writes_go_on(store: str, index: str) -> None:
    with sk.connect(store, tables=[BEFORE]) as db, ThreadPoolExecutor(2) as threads:
        if index == "top" and not db.capabilities.ties_by_hash:
            pytest.skip("the store's order of equal keys is not known")
        db.create_tables()
        db.batch(put=[BEFORE(player=player, board="b", score=number // 3) for number, player in enumerate(EVERYONE)])
        done = threading.Event()

        def write() -> None:
            number = 0
            while not done.is_set():
                number += 1
                db.update(CHANGING.key(player=EVERYONE[number * 7 % 80]), {"board": "b", "note": str(number)})

        def move() -> None:
            try:
                while db.audit(CHANGING, repair=True).count(Kind.FORMER_SHARD):
                    pass
            finally:
                done.set()

        running = [threads.submit(write), threads.submit(move)]
        try:
            path = getattr(CHANGING, index)(board="b")
            passes = 0
            while not done.is_set() or passes < 3:
                passes += 1
                assert _walked(db, path) == Counter(EVERYONE)
        finally:
            done.set()
        for each in running:
            each.result()
        assert db.audit(AFTER).fine == 80


def _walked(db: sk.Session, path: sk.AccessPath[Any]) -> Counter[str]:
    seen: Counter[str] = Counter()
    cursor = None
    while True:
        page = db.page(path, first=7, after=cursor)
        seen.update(each.player for each in page)
        cursor = page.end_cursor
        if not page.has_next:
            return seen
