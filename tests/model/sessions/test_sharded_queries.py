"""Sharded indexes: where items are, what is sent to read them, and that every store merges them alike."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.changes.typed_field import field_of
from tests.model.sessions.leaderboard import leaderboard

Score = leaderboard(4)


@pytest.fixture
def scores(db: sk.Session) -> sk.Session:
    db.create_tables(Score)
    db.batch(put=[Score(player=f"p{number:02}", board="b", score=number // 2) for number in range(40)])
    return db


def stored(db: sk.Session, player: str) -> dict[str, Any]:
    row: dict[str, Any] = db.client.get_item(TableName=Score.key(player="").table, Key=Score.key(player=player).key())[
        "Item"
    ]
    return row


def players(items: Any) -> list[str]:
    return [each.player for each in items]


def test_the_partition_key_ends_in_the_shard_of_the_item(scores: sk.Session) -> None:
    shards = {stored(scores, f"p{number:02}")["toppk"]["S"] for number in range(40)}
    assert shards == {"TOP#b#00", "TOP#b#01", "TOP#b#02", "TOP#b#03"}


def test_pages_forward_and_backward_share_their_cursors(scores: sk.Session) -> None:
    path = Score.top(board="b")
    everyone = players(scores.iterate(path))
    one = scores.page(path, first=15)
    two = scores.page(path, first=15, after=one.end_cursor)
    rest = scores.page(path, first=15, after=two.end_cursor)
    assert players([*one, *two, *rest]) == everyone
    assert [one.has_next, two.has_next, rest.has_next] == [True, True, False]
    assert players(scores.page(path, last=15, before=two.start_cursor)) == players(one)
    assert players(scores.page(path, first=1, after=two.cursor(3))) == everyone[19:20]


def test_descending_is_the_same_order_backward(scores: sk.Session) -> None:
    path = Score.top(board="b")
    assert players(scores.iterate(path, descending=True)) == players(scores.iterate(path))[::-1]
    assert players(scores.page(path, first=7, descending=True)) == players(scores.iterate(path))[:-8:-1]


def test_ranges_filters_first_and_count(scores: sk.Session) -> None:
    path = Score.top(board="b")
    assert [each.score for each in scores.iterate(path.between(3, 4))] == [3, 3, 4, 4]
    assert sorted(players(scores.iterate(path, where=field_of(Score, "player").is_in("p07", "p30")))) == ["p07", "p30"]
    assert [each.score for each in (scores.first(path), scores.first(path, descending=True)) if each] == [0, 19]
    assert scores.first(Score.top(board="none")) is None
    assert scores.count(path) == 40
    assert scores.count(path, where={"team": "blue"}) == 0


# What a top list asks for the items that are tied with its last one.
def test_the_items_with_one_sort_key_are_in_all_shards(scores: sk.Session) -> None:
    scores.batch(put=[Score(player=f"t{number:02}", board="b", score=7) for number in range(30)])
    path = Score.top(board="b", score=7)
    seen: list[str] = []
    cursor = None
    while True:
        page = scores.page(path, first=4, after=cursor)
        seen += players(page)
        cursor = page.end_cursor
        if not page.has_next:
            break
    assert sorted(seen) == sorted([*(f"t{number:02}" for number in range(30)), "p14", "p15"])
    above = Score.top(board="b").after(17)
    assert [each.score for each in scores.iterate(above, descending=True, limit=3)] == [19, 19, 18]
    assert scores.count(path) == 32


def test_a_scan_of_a_sharded_index_has_all_its_items(scores: sk.Session) -> None:
    assert sorted(players(scores.scan(Score.top))) == [f"p{number:02}" for number in range(40)]


def test_an_index_without_a_field_is_spread_by_the_primary_key(scores: sk.Session) -> None:
    found = list(scores.iterate(Score.ranked(board="b", team="red")))
    assert players(found) == [f"p{number:02}" for number in range(40)]
    assert players(scores.page(Score.ranked(board="b").starting("r"), first=3)) == ["p00", "p01", "p02"]


# An ADD moves the item in the index without a read: the sort key is the field itself, and the shard stays.
def test_adding_to_a_native_sort_key_moves_the_item_in_its_shard(scores: sk.Session) -> None:
    before = stored(scores, "p00")["toppk"]
    scores.update(Score.key(player="p00"), [field_of(Score, "score").add(100)])
    top = scores.first(Score.top(board="b"), descending=True)
    assert top is not None
    assert (top.player, top.score) == ("p00", 100)
    assert stored(scores, "p00")["toppk"] == before


def test_an_update_of_the_partition_keeps_the_shard_current(scores: sk.Session) -> None:
    scores.update(Score.key(player="p05"), {"board": "other"})
    assert players(scores.iterate(Score.top(board="other"))) == ["p05"]
    assert scores.count(Score.top(board="b")) == 39


def test_delete_all_of_a_sharded_path(scores: sk.Session) -> None:
    deleted = scores.delete_all(Score.top(board="b").between(0, 9))
    assert (deleted.items, deleted.kept) == (20, 0)
    assert [each.score for each in scores.iterate(Score.top(board="b"), limit=1)] == [10]


def test_the_meter_counts_one_request_to_each_shard(memory: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    wide = leaderboard(16)
    memory.create_tables(wide)
    memory.batch(put=[wide(player=f"p{number}", board="b", score=number) for number in range(2000)])
    with caplog.at_level(logging.WARNING):
        assert len(memory.page(wide.top(board="b"), first=200, descending=True)) == 200
    reading = memory.meter.reading(wide.top)
    assert (reading.calls, reading.rows_returned) == (16, 200)
    assert reading.rows_read < 3 * 200
    assert not caplog.records


# A page's budget is 1,000 rows. The merge reads more than the page has, which must not make the page shorter.
def test_a_large_page_is_full(memory: sk.Session) -> None:
    memory.create_tables(Score)
    memory.batch(put=[Score(player=f"p{number}", board="b", score=number) for number in range(1500)])
    page = memory.page(Score.top(board="b"), first=1000)
    assert [each.score for each in page] == list(range(1000))
    few = memory.page(Score.top(board="b"), first=10, where={"team": "blue"}, budget=200)
    assert (len(few), few.has_next) == (0, True)
    assert memory.meter.reading(Score.top).rows_read < 1500 + 400


def test_the_first_item_reads_one_row_of_each_shard(memory: sk.Session) -> None:
    memory.create_tables(Score)
    memory.batch(put=[Score(player=f"p{number}", board="b", score=number) for number in range(100)])
    first = memory.first(Score.top(board="b"))
    assert first is not None
    assert first.player == "p0"
    assert memory.meter.reading(Score.top).rows_read == 4


# The merge reads a row of each shard to find the first one; no index could do with less, so there is no warning.
def test_rows_that_the_merge_needs_are_no_amplification(memory: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    wide = leaderboard(64)
    memory.create_tables(wide)
    memory.batch(put=[wide(player=f"p{number}", board="b", score=number) for number in range(500)])
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            memory.first(wide.top(board="b"))
            memory.page(wide.top(board="b"), first=5)
    assert not caplog.records
    assert memory.meter.reading(wide.top).amplification > 10
    with caplog.at_level(logging.WARNING):
        memory.page(wide.top(board="b"), first=5, where={"team": "blue"})
    assert "reads" in caplog.text


def test_explain_shows_one_request_and_the_cost_of_all(memory: sk.Session) -> None:
    explained = memory.explain(Score.top(board="b"), rows=100, row_bytes=200)
    assert (explained.requests, explained.rows, explained.units) == (4, 100, 4.0)
    assert explained.request["ExpressionAttributeValues"] == {":pk": {"S": "TOP#b#00"}}
    assert "requests  4, one to each shard" in str(explained)


def test_explain_takes_what_all_shards_have_cost(memory: sk.Session) -> None:
    memory.create_tables(Score)
    memory.batch(put=[Score(player=f"p{number}", board="b", score=number) for number in range(100)])
    assert len(list(memory.iterate(Score.top(board="b")))) == 100
    explained = memory.explain(Score.top(board="b"))
    assert (explained.rows, explained.source.split(";")[0]) == (100, "measured over 1 call")


def test_the_audit_finds_an_item_in_the_wrong_shard(memory: sk.Session) -> None:
    memory.create_tables(Score)
    memory.put(Score(player="p1", board="b", score=1))
    right = stored(memory, "p1")["toppk"]["S"]
    wrong = "TOP#b#00" if right != "TOP#b#00" else "TOP#b#01"
    memory.client.update_item(
        TableName=Score.key(player="").table,
        Key=Score.key(player="p1").key(),
        UpdateExpression="SET toppk = :wrong",
        ExpressionAttributeValues={":wrong": {"S": wrong}},
    )
    (found,) = memory.audit(Score, repair=True).findings
    assert (found.kind, found.subject, found.repaired) == ("index-key-stale", "top", 1)
    assert stored(memory, "p1")["toppk"]["S"] == right


def test_a_partial_projection_is_read_whole(memory: sk.Session) -> None:
    class Part(sk.Item, table=sk.Table("sharded-parts")):
        name: str
        kind: str
        note: str = ""
        key = sk.Key("PART#{name}")
        by_kind = sk.Index("by_kind", "KIND#{kind}", "{name}", projection="KEYS_ONLY", shards=sk.Shards(3))

    memory.create_tables(Part)
    memory.batch(put=[Part(name=f"n{number}", kind="k", note="x") for number in range(9)])
    path = Part.by_kind(kind="k")
    assert all(map(sk.is_partial, memory.iterate(path)))
    assert [each.note for each in memory.page(path, whole=True)] == ["x"] * 9
    assert [each.name for each in memory.iterate(path)] == [f"n{number}" for number in range(9)]


def test_a_collection_of_several_classes_is_merged(memory: sk.Session) -> None:
    table = sk.Table("sharded-collection")
    spread = sk.Shards(3)

    class Apple(sk.Item, table=table):
        number: int
        key = sk.Key("APPLE#{number}")
        all = sk.Index("fruit", "FRUIT", "{number:04}", shards=spread)

    class Pear(sk.Item, table=table):
        number: int
        key = sk.Key("PEAR#{number}")
        all = sk.Index("fruit", "FRUIT", "{number:04}", shards=spread)

    memory.create_tables(Apple)
    memory.batch(put=[(Apple, Pear)[number % 2](number=number) for number in range(12)])
    fruit: list[Any] = list(memory.iterate(sk.collection(Apple.all)))
    assert [each.number for each in fruit] == list(range(12))
    assert [each.number for each in memory.iterate(Apple.all())] == list(range(0, 12, 2))


def test_a_sharded_index_without_a_sort_key(memory: sk.Session) -> None:
    class Task(sk.Item, table=sk.Table("sharded-tasks")):
        name: str
        done: bool | None = None
        key = sk.Key("TASK#{name}")
        open = sk.Index("open", "OPEN#{done}", shards=sk.Shards(3))

    memory.create_tables(Task)
    memory.batch(put=[Task(name=f"t{number}", done=False) for number in range(10)])
    memory.put(Task(name="unknown"))
    path = Task.open(done=False)
    seen: list[str] = []
    cursor = None
    while True:
        page = memory.page(path, first=3, after=cursor)
        seen += [each.name for each in page]
        cursor = page.end_cursor
        if not page.has_next:
            break
    assert sorted(seen) == sorted(f"t{number}" for number in range(10))


def test_cursors_of_other_boards_are_rejected(memory: sk.Session) -> None:
    memory.create_tables(Score)
    memory.batch(put=[Score(player=f"p{number}", board="b", score=number) for number in range(10)])
    cursor = memory.page(Score.top(board="b"), first=3).end_cursor
    with pytest.raises(sk.CursorError, match="another query"):
        memory.page(Score.top(board="c"), after=cursor)
