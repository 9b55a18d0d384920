"""Ranks and top lists, as the counts have them once the feed has caught up."""

from __future__ import annotations

import asyncio
from enum import IntEnum
from typing import Any

import pytest

import sortkey as sk
from tests.patterns.rankings.scoreboard import BOARD, LISTED, BoardRange, BoardScore, count, scores, true_rank

pytestmark = pytest.mark.every_store

POINTS = {"ada": 70, "bob": 70, "cyd": 12, "dan": -3, "eve": 5000, "fay": 0, "gus": 71, "hal": -40_000}


def test_ranks_follow_the_points_and_ties_share_them(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await db.batch(put=[*scores("chess", POINTS), *scores("go", {"ada": 1, "zoe": 10**9})])
        await count(db)
        for score in scores("chess", POINTS):
            expected = sk.patterns.Rank(true_rank(POINTS.values(), score.points or 0), True)
            assert await BOARD.rank(db, score) == await LISTED.rank(db, score) == expected
        top = await BOARD.top(db, 4, game="chess")
        assert [each.rank for each in top] == [1, 2, 3, 3]
        assert [each.item.player for each in top] == ["eve", "gus", "ada", "bob"]

        await db.update(BoardScore.key(game="chess", player="ada"), [sk.F(BoardScore.points).add(-100)])
        await db.delete(BoardScore.key(game="chess", player="eve"))
        await count(db)
        changed = {**POINTS, "ada": -30}
        del changed["eve"]
        for score in scores("chess", changed):
            assert await BOARD.rank(db, score) == sk.patterns.Rank(true_rank(changed.values(), score.points or 0), True)

    runner.run(play())


def test_a_list_that_ends_among_equal_numbers_has_the_least_keys(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await db.batch(put=scores("chess", {"zoe": 11, **{f"p{number:02}": 10 for number in range(12)}, "abe": 9}))
        for limit in (2, 4, 13):
            top = await BOARD.top(db, limit, game="chess")
            assert [(each.item.player, each.rank) for each in top] == [
                ("zoe", 1),
                *((f"p{number:02}", 2) for number in range(limit - 1)),
            ]

    runner.run(play())


# A tie of a million must not be read for a list of ten.
def test_a_huge_tie_is_listed_in_the_order_of_the_index(
    db: sk.AsyncSession, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sortkey.patterns.rankings.TIED", 5)

    async def play() -> None:
        await db.batch(put=scores("chess", {"zoe": 11, **{f"p{number:02}": 10 for number in range(12)}}))
        top = await BOARD.top(db, 4, game="chess")
        assert [(each.item.points, each.rank) for each in top] == [(11, 1), (10, 2), (10, 2), (10, 2)]
        tied = [each.item.player for each in top[1:]]
        assert tied == sorted(set(tied))

    runner.run(play())


# It read all of them, up to 1,000, and beyond that showed any.
def test_an_index_in_the_order_of_the_list_shows_any_tie_by_what_follows_and_reads_no_more(
    db: sk.AsyncSession, runner: asyncio.Runner
) -> None:
    async def read(game: str, tied: int) -> tuple[list[tuple[str, int]], int, float]:
        await db.batch(put=scores(game, {"zoe": 11, **{f"p{number:03}": 10 for number in range(tied)}, "abe": 9}))
        before = db.meter.reading(BoardScore.listed)
        top = await LISTED.top(db, 4, game=game)
        after = db.meter.reading(BoardScore.listed)
        shown = [(each.item.player, each.rank) for each in top]
        return shown, after.rows_read - before.rows_read, after.units - before.units

    async def play() -> None:
        few, many = await read("few", 40), await read("many", 400)
        assert few == many
        assert many[0] == [("zoe", 1), ("p000", 2), ("p001", 2), ("p002", 2)]
        assert many[1] <= 4 * 5

    runner.run(play())


# An index row needs a number: an item without one is neither listed nor counted.
def test_an_item_without_a_number_has_no_rank(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        absent = BoardScore(game="chess", player="ada", points=None)
        await db.batch(put=[absent, *scores("chess", {"bob": 1})])
        await count(db)
        assert await BOARD.rank_at(db, 0, game="chess") == sk.patterns.Rank(2, True)
        for board in (BOARD, LISTED):
            assert [each.item.player for each in await board.top(db, 10, game="chess")] == ["bob"]
        with pytest.raises(ValueError, match="no rank, because its points is None"):
            await BOARD.rank(db, absent)

    runner.run(play())


@pytest.fixture
def memory(runner: asyncio.Runner) -> Any:
    async def opened() -> sk.AsyncSession:
        session = await sk.async_connect("memory:", tables=[BoardScore, BoardRange])
        await session.create_tables()
        return session

    session = runner.run(opened())
    yield session
    runner.run(session.close())


# Numbers of nine digits share ranges of some thousands; the rows of a player's own range are read.
def test_large_numbers_are_exact_where_their_range_is_read(memory: sk.AsyncSession, runner: asyncio.Runner) -> None:
    points = {f"p{number}": 999_999_000 + number * 7 for number in range(300)}

    async def play() -> None:
        await memory.batch(put=scores("pinball", points))
        await count(memory)
        for player in ("p0", "p120", "p299"):
            own = points[player]
            expected = sk.patterns.Rank(true_rank(points.values(), own), own != points["p0"])
            found = await BOARD.rank_at(memory, own, game="pinball")
            assert await LISTED.rank_at(memory, own, game="pinball") == found
            assert found.exact == expected.exact
            # 299 are above p0, of which 250 may be read.
            assert found == expected or 251 < found.rank <= 300

    runner.run(play())


# DynamoDB stores 38 digits, and zeros after them: the neighbours of such a number cannot be asked for.
def test_numbers_of_more_than_38_digits_are_ranked(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    ahead = 10**40 + 1000
    points = {
        "ada": 10**40,
        "bob": ahead,
        "cyd": 10**37,
        "dan": 1,
        "eve": -(10**40),
        "fay": 99 * 10**124,
        "gus": -ahead,
    }

    async def play() -> None:
        await db.batch(put=scores("chess", points))
        await count(db)
        for score in scores("chess", points):
            assert await BOARD.rank(db, score) == sk.patterns.Rank(true_rank(points.values(), score.points or 0), True)
        with pytest.raises(ValueError, match="is too large"):
            await BOARD.rank_at(db, 10**126, game="chess")

    runner.run(play())


@pytest.mark.slow
def test_a_rank_costs_the_same_for_few_and_for_many(memory: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def cost(game: str, players: int) -> tuple[int, float]:
        await memory.batch(put=scores(game, {f"p{number}": number * 3 for number in range(players)}))
        await count(memory)
        before = memory.meter.reading(BoardRange.key)
        assert await BOARD.rank_at(memory, 30, game=game) == sk.patterns.Rank(players - 10, True)
        after = memory.meter.reading(BoardRange.key)
        return after.calls - before.calls, after.units - before.units

    async def play() -> None:
        few, many = await cost("few", 20), await cost("many", 500)
        assert few[0] == many[0] == 5
        assert many[1] <= 2 * few[1]
        # Its range has one number, so no row of the scores is read.
        assert memory.meter.reading(BoardScore.top).calls == 0

    runner.run(play())


def test_the_counts_can_be_repaired(memory: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await memory.batch(put=scores("chess", POINTS))
        await count(memory)
        aggregator = BOARD.aggregate.aggregator(memory)
        assert (await aggregator.recount()).is_clean
        own = next(iter([each async for each in memory.scan(BoardRange)]))
        await memory.update(BoardRange.key.of(own), [sk.F(BoardRange.players).add(5)])
        assert (await aggregator.recount(repair=True)).repaired == 1
        assert await BOARD.rank_at(memory, 70, game="chess") == sk.patterns.Rank(3, True)

    runner.run(play())


class Level(IntEnum):
    LOW = 1


class Textual(sk.Item, table=sk.Table("textual-scores", stream="NEW_AND_OLD_IMAGES")):
    game: str
    player: str
    points: int
    level: Level = Level.LOW
    key = sk.Key("{game}", "{player}")
    top = sk.Index("top", "{game}", "{points}#{player}")
    best = sk.Index("best", "{game}", "{points}")
    after_a_word = sk.Index("word", "{game}", "POINTS#{points:desc}#{player}")
    by_level = sk.Index("level", "{game}", "{level:desc}#{player}")


class InOnePartition(sk.Item, table="ranges-in-one-partition"):
    game: str
    block: str
    slot: int
    players: int = 0
    key = sk.Key("{game}", "{block}#{slot:02}")


class OneDigit(sk.Item, table="ranges-of-one-digit"):
    game: str
    block: str
    slot: int
    players: int = 0
    key = sk.Key("{game}#{block}", "S#{slot:01}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"index": Textual.top},
            r"Textual\.top ranks items by its sort key, which must begin with an int, the greatest",
        ),
        ({"index": Textual.after_a_word}, r"Textual\.after_a_word ranks items by its sort key, which must begin"),
        ({"index": Textual.by_level}, r"Textual\.by_level ranks items by its sort key, which must begin"),
        ({"index": Textual}, "takes an index, such as Score.top"),
        ({"into": InOnePartition}, r'one partition for each block .* sk\.Key\("{game}#{block}", "{slot:02}"\)'),
        (
            {"into": OneDigit},
            r"sort key of OneDigit, 'S#{slot:01}', must sort the slots from 0 to 31, .* \"{slot:02}\"",
        ),
        ({"into": 5}, "expected a class with a table, not 5"),
        ({"count": "playrs"}, "BoardRange has no field 'playrs'; did you mean 'players'"),
        ({"read": -1}, "read= is a number of rows"),
    ],
)
def test_mistakes_are_rejected(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"index": Textual.best, "into": BoardRange, "count": "players", **arguments}
    with pytest.raises(sk.DeclarationError, match=message):
        sk.patterns.ranking(given.pop("index"), **given)


def test_what_is_no_number_or_item_is_named(memory: sk.AsyncSession, runner: asyncio.Runner) -> None:
    for number in (1.5, True, "1"):
        with pytest.raises(TypeError, match=f"ranks items by points, an int, not {number!r}"):
            runner.run(BOARD.rank_at(memory, number, game="chess"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ranks items of BoardScore, not None"):
        runner.run(BOARD.rank(memory, None))  # type: ignore[arg-type]


def test_a_list_of_nothing_is_rejected(memory: sk.AsyncSession, runner: asyncio.Runner) -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        runner.run(BOARD.top(memory, 0, game="chess"))
