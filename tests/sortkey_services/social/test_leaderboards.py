"""Leaderboards: points count once, ties share a rank, totals are exact."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any, cast

import pytest

import sortkey as sk
from sortkey_services.social.leaderboards import MAX_POINTS, new_event
from sortkey_services.social.model import SHARDS, Score, ScoreEvent
from sortkey_services.social.service import SocialService
from tests.sortkey_services.social.leaderboard import Board

CHI_SQUARE = 27.88
"""One of a thousand uniform draws exceeds it, with nine degrees of freedom."""


@pytest.fixture
def board(store: str) -> Iterator[Board]:
    with asyncio.Runner() as runner:
        session, leaderboards = runner.run(Board.opened(store))
        yield Board(leaderboards, session, runner.run)
        runner.run(session.close())


in_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)
"""For what does not depend on the store."""


def test_points_are_added_and_ranked(board: Board) -> None:
    board.add(("ada", 50), ("bob", 70), ("ada", 20), ("cyd", 12), ("dan", -5))
    board.count()
    assert board.top() == [("ada", 70, 1), ("bob", 70, 1), ("cyd", 12, 3), ("dan", -5, 4)]
    assert board.top(limit=1) == [("ada", 70, 1)]
    assert [board.standing(player) for player in ("bob", "cyd", "dan")] == [(70, 1, True), (12, 3, True), (-5, 4, True)]
    assert board.total() == (4, 147)
    board.add(("dan", 100), ("bob", -70))
    board.count()
    assert board.top() == [("dan", 95, 1), ("ada", 70, 2), ("cyd", 12, 3), ("bob", 0, 4)]
    assert board.standing("bob") == (0, 4, True)
    assert board.total() == (4, 177)


def test_an_event_counts_once(board: Board) -> None:
    event = new_event("chess", "ada", 50, "e1")
    assert board.add_events(event) == (1, 0)
    assert board.add_events(event, new_event("chess", "ada", 7, "e2")) == (1, 1)
    # The id is that of the event in its game, whatever else a repetition says.
    assert board.add_events(new_event("chess", "bob", 99, "e1"), new_event("go", "ada", 1, "e1")) == (1, 1)
    assert board.add_events(*[new_event("chess", "ada", 3, "e3")] * 20) == (1, 19)
    board.count()
    assert board.top() == [("ada", 60, 1)]
    assert board.top("go") == [("ada", 1, 1)]


@in_memory
def test_a_game_that_nobody_has_played_is_empty(board: Board) -> None:
    assert board.top("go") == []
    assert board.total("go") == (0, 0)
    with pytest.raises(sk.services.NotFound, match="the player 'ada' has no points in 'go'"):
        board.standing("ada", "go")


@in_memory
@pytest.mark.parametrize(
    ("event", "message"),
    [
        (new_event("chess", "", 1, None), "player: must have 1 to 256 bytes, not 0"),
        (new_event("chess", "x" * 257, 1, None), "player: must have 1 to 256 bytes"),
        # The player is no part of the event's key, but of the score's.
        (new_event("chess", "\U0010ffff", 1, None), r"^\[1\]\.player: must not contain U\+10FFFF"),
        (new_event("chess", "a/b", 1, None), r"player: must not contain /"),
        (new_event("", "ada", 1, None), "^game: must have"),
        (new_event("chess", "ada", 1, "\U0010ffff"), r"^\[1\]\.eventId: must not contain U\+10FFFF"),
        (new_event("chess", "ada", cast(Any, 1.5), None), r"^\[1\]\.points: must be a whole number, not 1\.5"),
        (new_event("chess", "ada", True, None), "points: must be a whole number, not True"),
        (new_event("chess", "ada", cast(Any, "1"), None), "points: must be a whole number, not '1'"),
        (new_event("chess", cast(Any, 7), 1, None), "player: must be a text, not 7"),
        (new_event("chess", "ada", 1, ""), "eventId: must have"),
        (new_event("chess", "ada", MAX_POINTS + 1, None), "points: must be from"),
        (new_event("chess", "ada", -MAX_POINTS - 1, None), "points: must be from"),
    ],
)
def test_an_invalid_event_is_rejected_with_all_others(board: Board, event: ScoreEvent, message: str) -> None:
    with pytest.raises(sk.services.BadRequest, match=message):
        board.add_events(new_event("chess", "bob", 1, None), event)
    board.count()
    assert board.top() == []


@in_memory
@pytest.mark.parametrize("text", ["a#b", "#", "ü:ß", " ", "x" * 256])
def test_ids_may_have_any_characters_but_a_slash(board: Board, text: str) -> None:
    board.add_events(*[new_event(text, text, 3, text)] * 2)
    board.count()
    assert board.top(text) == [(text, 3, 1)]
    assert board.standing(text, text) == (3, 1, True)


# The hash of the player chooses the shard: if it were uneven, one shard would take more writes than the others.
@pytest.mark.slow
@in_memory
def test_ten_thousand_writes_spread_over_ten_shards(board: Board) -> None:
    players = [f"player-{number}" for number in range(10_000)]
    points = {player: 17 * number % 10_007 for number, player in enumerate(players)}
    events = [new_event("chess", player, points[player], None) for player in players]
    board.wait(board.session.batch(put=events))
    board.count()

    expected = len(players) / SHARDS
    sizes = board.wait(rows_of_shards(board.session))
    assert sum(sizes) == len(players)
    assert sum((size - expected) ** 2 / expected for size in sizes) < CHI_SQUARE

    best = sorted(points.items(), key=lambda each: -each[1])[:100]
    assert board.top(limit=100) == [(player, own, rank) for rank, (player, own) in enumerate(best, 1)]
    assert board.total() == (10_000, sum(points.values()))
    assert board.standing("player-77") == (1309, 1 + sum(own > 1309 for own in points.values()), True)


# Nine of ten players have the points of a first game; the list is not read for the ten that it shows.
@in_memory
def test_a_top_list_has_the_first_of_any_number_of_ties_and_reads_no_more(board: Board) -> None:
    def read(game: str, players: int) -> tuple[list[tuple[str, int, int]], int]:
        names = [f"p{number:04}" for number in range(players)]
        board.wait(board.session.batch(put=[Score(game=game, player=each, points=10) for each in names]))
        before = board.session.meter.reading(Score.top).rows_read
        return board.top(game, limit=10), board.session.meter.reading(Score.top).rows_read - before

    few, many = read("few", 150), read("many", 1500)
    assert few == many
    assert many[0] == [(f"p{number:04}", 10, 1) for number in range(10)]


class FormerScore(sk.Item, table=sk.Table("social-scores", stream="NEW_AND_OLD_IMAGES")):
    """As an earlier version had it: the list is by the points alone."""

    game: Annotated[str, sk.in_key]
    player: Annotated[str, sk.in_key]
    points: int = 0

    key = sk.Key("GAME#{game}#PLAYER#{player}")
    top = sk.Index(
        "top",
        "GAME#{game}",
        "{points}",
        names=("toppk", "points"),
        projection="KEYS_ONLY",
        shards=sk.Shards(SHARDS, by="player"),
    )


@in_memory
@pytest.mark.usefixtures("brief_polls")
def test_tables_of_an_earlier_version_get_the_list_of_today(store: str) -> None:
    async def play() -> None:
        async with sk.async_connect(store, tables=[FormerScore]) as session:
            await session.create_tables()
            points = {"ada": 30, "bob": 20, "cyd": 30, "dan": -5}
            await session.batch(put=[FormerScore(game="go", player=each, points=points[each]) for each in points])
            service = SocialService(session)
            await service.start()
            top = await service.leaderboards.top("go", 10)
            assert [(each.player, each.points, each.rank) for each in top] == [
                ("ada", 30, 1),
                ("cyd", 30, 1),
                ("bob", 20, 3),
                ("dan", -5, 4),
            ]
            await service.start()

    asyncio.run(play())


class PlainScore(sk.Item, table="hot-scores"):
    game: str
    player: str
    points: int
    key = sk.Key("GAME#{game}", "{player}")


class ShardedScore(sk.Item, table="spread-scores"):
    game: str
    player: str
    points: int
    key = sk.Key("GAME#{game}", "{player}", shards=sk.Shards(SHARDS, by="player"))


# The seed's leaderboard: 10,000 writes to the partition of one game, and to its ten shards.
@pytest.mark.slow
def test_the_meter_shows_what_shards_do_to_the_hottest_partition() -> None:
    with sk.connect("memory:", tables=[PlainScore, ShardedScore]) as db:
        db.create_tables()
        for kind in (PlainScore, ShardedScore):
            db.batch(put=[kind(game="chess", player=f"player-{n}", points=n) for n in range(10_000)])
        plain, *shards = db.meter.hottest(1 + SHARDS)
    assert (plain.table, plain.key, plain.write_units) == ("hot-scores", "GAME#chess", 10_000)
    assert {(each.table, each.key) for each in shards} == {
        ("spread-scores", f"GAME#chess#{shard:02}") for shard in range(SHARDS)
    }
    assert shards[0].write_units < 1.15 * 10_000 / SHARDS


async def rows_of_shards(session: sk.AsyncSession) -> list[int]:
    """How many rows each shard of the index has."""
    answers = [
        await session.client.query(
            TableName="social-scores",
            IndexName="ranked",
            KeyConditionExpression="toppk = :shard",
            ExpressionAttributeValues={":shard": {"S": f"GAME#chess#{shard:02}"}},
            Select="COUNT",
        )
        for shard in range(SHARDS)
    ]
    return [answer["Count"] for answer in answers]
