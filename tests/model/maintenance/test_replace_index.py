"""`db.replace_index`: a list gets another order, and the index that had the one before goes."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk

pytestmark = pytest.mark.usefixtures("brief_polls")

TABLE = "replaced-scores"


class Before:
    """The program as it was."""

    table = sk.Table(TABLE)

    class Score(sk.Item, table=table):
        game: str
        player: str
        points: int = 0

        key = sk.Key("GAME#{game}", "PLAYER#{player}")
        top = sk.Index("by_points", "TOP#{game}", "{points}", names=("toppk", "points"))


class After:
    """The program as it is."""

    table = sk.Table(TABLE)

    class Score(sk.Item, table=table):
        game: str
        player: str
        points: int = 0

        key = sk.Key("GAME#{game}", "PLAYER#{player}")
        top = sk.Index("top", "TOP#{game}", "{points:desc}#{player}", names=("toppk", "topsk"))


POINTS = {f"p{number:02}": number % 4 for number in range(30)}
RANKED = sorted(POINTS, key=lambda player: (-POINTS[player], player))


@pytest.fixture
def scores(db: sk.Session) -> sk.Session:
    db.create_tables(Before.table)
    db.batch(put=[Before.Score(game="chess", player=player, points=POINTS[player]) for player in POINTS])
    return db


def top(db: sk.Session) -> list[str]:
    return [each.player for each in db.iterate(After.Score.top(game="chess"))]


def test_the_new_index_is_filled_and_the_former_one_is_gone(scores: sk.Session) -> None:
    report = scores.replace_index(After.Score.top, "by_points")
    assert report is not None
    assert (report.rows, report.is_clean) == (30, True)
    assert top(scores) == RANKED
    assert scores.diff_tables(After.table) == []


# A program begins with it, each time.
def test_without_the_former_index_or_without_the_table_nothing_is_done(db: sk.Session) -> None:
    assert db.replace_index(After.Score.top, "by_points") is None
    assert db.diff_tables(After.table) == [f"table {TABLE} does not exist"]
    db.create_tables(After.table)
    assert db.replace_index(After.Score.top, "by_points") is None
    assert db.diff_tables(After.table) == []


# The former index goes last, so as long as it is there, not everything is done.
def test_what_was_stopped_on_the_way_goes_on(scores: sk.Session) -> None:
    class Stopped(Exception):
        pass

    def stop(_: Any) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        scores.replace_index(After.Score.top, "by_points", progress=stop)
    assert scores.diff_tables(After.table) == [f"table {TABLE}: index by_points is not declared"]
    scores.put(Before.Score(game="chess", player="p99", points=9))
    scores.replace_index(After.Score.top, "by_points")
    assert top(scores) == ["p99", *RANKED]
    assert scores.diff_tables(After.table) == []


def test_an_index_that_is_declared_is_not_replaced(memory: sk.Session) -> None:
    memory.create_tables(After.table)
    with pytest.raises(ValueError, match=f"the index top of table {TABLE} is declared, so .*top cannot replace it"):
        memory.replace_index(After.Score.top, "top")
    assert memory.diff_tables(After.table) == []
