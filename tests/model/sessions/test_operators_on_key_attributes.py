"""Operators on a field that is itself an attribute of an index key: the rest of the key must be there, too."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk


class Score(sk.Item, table="operated-scores"):
    player: str
    game: str = "chess"
    team: str | None = None
    points: int = 0

    key = sk.Key("PLAYER#{player}")
    by_points = sk.Index("gsi1", "GAME#{game}", "{points}", names=("gsi1pk", "points"))
    by_team = sk.Index("gsi2", "TEAM#{team}", "{points}", names=("gsi2pk", "points"))


class Season(sk.Item, table="operated-seasons"):
    player: str
    game: str = "chess"
    wins: int | None = None
    points: int = 0

    key = sk.Key("PLAYER#{player}")
    by_wins = sk.Index("gsi1", ("game",), ("wins", "points"))


ADA = Score.key(player="ada")
ROW: dict[str, Any] = {"pk": {"S": "PLAYER#ada"}, "player": {"S": "ada"}}


@pytest.fixture
def scores(db: sk.Session) -> sk.Session:
    db.create_tables(Score)
    return db


def store(db: sk.Session, **attributes: Any) -> None:
    db.client.put_item(TableName="operated-scores", Item={**ROW, **attributes})


def calls(db: sk.Session) -> int:
    return sum(reading.calls for reading in db.meter.readings())


# Rows that are older than the index, with and without the field.
@pytest.mark.parametrize("points", [{}, {"points": {"N": "3"}}], ids=["absent", "stored"])
@pytest.mark.parametrize(
    "change", [sk.F(Score.points).add(2), sk.F(Score.points).if_not_exists(7)], ids=["add", "if_not_exists"]
)
def test_an_operator_completes_the_index_key(scores: sk.Session, points: Any, change: Any) -> None:
    store(scores, **points)
    after = scores.update(ADA, change)
    assert list(scores.iterate(Score.by_points(game="chess"))) == [after]
    assert scores.audit(Score.__table__).fine == 1


def test_an_operator_of_a_transaction_completes_the_index_key(scores: sk.Session) -> None:
    store(scores, team={"S": "red"})
    transaction = sk.Transaction()
    transaction.update(ADA, [sk.F(Score.points).add(2)])
    scores.transact(transaction)
    (found,) = scores.iterate(Score.by_team(team="red"))
    assert found == Score(player="ada", team="red", points=2)
    assert list(scores.iterate(Score.by_points(game="chess"))) == [found]


# The index is made of fields alone, and the row lacks one that has a default.
@pytest.mark.parametrize(
    "change", [sk.F(Season.wins).add(1), sk.F(Season.wins).if_not_exists(1)], ids=["add", "if_not_exists"]
)
def test_an_operator_that_brings_an_item_into_an_index_of_fields(db: sk.Session, change: Any) -> None:
    db.create_tables(Season)
    db.client.put_item(TableName="operated-seasons", Item={**ROW, "game": {"S": "go"}})
    after = db.update(Season.key(player="ada"), change)
    assert after == Season(player="ada", game="go", wins=1)
    assert list(db.iterate(Season.by_wins(game="go"))) == [after]
    assert db.audit(Season.__table__).fine == 1


@pytest.mark.parametrize("team", [None, "red"])
def test_an_item_with_complete_keys_takes_one_request(scores: sk.Session, team: str | None) -> None:
    scores.put(Score(player="ada", team=team))
    before = calls(scores)
    assert scores.update(ADA, [sk.F(Score.points).add(2)]).points == 2
    assert calls(scores) == before + 1


# An item that is in no team has no key of the index by team, whatever else changes.
def test_an_assignment_outside_of_a_sparse_index_takes_one_request(scores: sk.Session) -> None:
    scores.put(Score(player="ada"))
    before = calls(scores)
    assert scores.update(ADA, {"points": 5}).points == 5
    assert calls(scores) == before + 1
    assert scores.audit(Score.__table__).fine == 1


def test_operators_and_assignments_together(scores: sk.Session) -> None:
    store(scores)
    after = scores.update(ADA, [sk.F(Score.points).add(2), {"team": "blue"}])
    for path in (Score.by_points(game="chess"), Score.by_team(team="blue")):
        assert list(scores.iterate(path)) == [after]
    after = scores.update(ADA, [sk.F(Score.points).add(2), {"team": None}])
    assert list(scores.iterate(Score.by_points(game="chess"))) == [after]
    assert list(scores.iterate(Score.by_team(team="blue"))) == []
    assert scores.audit(Score.__table__).fine == 1
