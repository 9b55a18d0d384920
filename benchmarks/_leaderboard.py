"""A leaderboard of many players: loaded at once, then asked and added to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

import sortkey as sk
from sortkey.patterns.aggregates.windows import ranges_of
from sortkey_services.social.leaderboards import Leaderboards, new_event
from sortkey_services.social.model import (
    BOARD,
    LEADERBOARD_TABLES,
    SCORES_OF_EVENTS,
    SHARDS,
    TOTALS_OF_SCORES,
    GameTotal,
    Score,
    ScoreEvent,
    ScoreRange,
)

GAME: Final = "benchmark"
TOP: Final = 100
CHECKED: Final = 3
_BATCH: Final = 5000
_MEAN_POINTS: Final = 50_000


class Cost(NamedTuple):
    """Of one call: milliseconds, and capacity units that the store has reported."""

    p50: float
    p99: float
    processor: float
    """The median of processor time, which is steadier where others use the machine."""
    units: float


class Followed(NamedTuple):
    lag: float
    """Milliseconds from an acknowledged score until ranks have it, the median."""
    units: float
    """Write units of a score with everything that follows from it."""


class Measured(NamedTuple):
    top: Cost
    rank: Cost
    walk: Cost
    """A rank by counting everybody above."""
    score: Cost
    """Until it is acknowledged."""
    followed: Followed


class Count(NamedTuple):
    rows: int
    units: float


def points_of(players: int) -> list[int]:
    """Many players have few points, and few have many."""
    draw = Random(15)
    return [int(draw.expovariate(1 / _MEAN_POINTS)) for _ in range(players)]


def player(number: int) -> str:
    return f"p{number:07}"


async def load(session: sk.AsyncSession, points: list[int]) -> None:
    """Scores, and the counts that the feeds would make of them."""
    counts = Counter(each for own in points for each in ranges_of(own))
    await put_all(session, (Score(game=GAME, player=player(number), points=own) for number, own in enumerate(points)))
    await put_all(
        session,
        (ScoreRange(game=GAME, block=each.block, slot=each.slot, players=number) for each, number in counts.items()),
    )
    await session.put(GameTotal(game=GAME, players=len(points), points=sum(points)))


async def put_all(session: sk.AsyncSession, items: Iterator[sk.Item]) -> None:
    while batch := list(islice(items, _BATCH)):
        await session.batch(put=batch)


async def measured(folder: Path, players: int, calls: int, walks: int) -> Measured:
    points = points_of(players)
    draw = Random(16)
    async with sk.async_connect(folder, tables=LEADERBOARD_TABLES, timeout=None) as session:
        await session.create_tables()
        await load(session, points)
        await check(session, points)
        leaderboards = Leaderboards(session)

        async def top() -> None:
            await leaderboards.top(GAME, TOP)

        async def rank() -> None:
            await leaderboards.standing(GAME, player(draw.randrange(players)))

        async def walk() -> float:
            return (await count_above(session, draw.choice(points))).units

        async def score() -> None:
            await leaderboards.add([random_event(draw, players)])

        return Measured(
            top=await cost(session, top, calls),
            rank=await cost(session, rank, calls),
            walk=await cost(session, walk, walks),
            score=await cost(session, score, calls),
            followed=await followed(session, leaderboards, players, calls),
        )


async def check(session: sk.AsyncSession, points: list[int]) -> None:
    """The ranks and the top list are right, and so is the count of everybody above."""
    best = await BOARD.top(session, TOP, game=GAME)
    assert [each.item.points for each in best] == sorted(points, reverse=True)[:TOP]
    for own in Random(18).choices(points, k=CHECKED):
        above = sum(each > own for each in points)
        assert await BOARD.rank_at(session, own, game=GAME) == sk.patterns.Rank(1 + above, True)
        assert (await count_above(session, own)).rows == above


def random_event(draw: Random, players: int) -> ScoreEvent:
    return new_event(GAME, player(draw.randrange(players)), draw.randrange(1, 20), None)


async def count_above(session: sk.AsyncSession, points: int) -> Count:
    """How many players have more points, by the quickest count that DynamoDB has: a Query of each shard that returns
    the number of its rows alone."""
    path = Score.top(game=GAME).after(points)
    found = await asyncio.gather(*(_count_in_shard(session, path, shard) for shard in range(SHARDS)))
    return Count(sum(each.rows for each in found), sum(each.units for each in found))


async def _count_in_shard(session: sk.AsyncSession, path: sk.AccessPath[Score], shard: int) -> Count:
    members = path.request() | {"Select": "COUNT", "ReturnConsumedCapacity": "TOTAL"}
    (partition,) = path.equal_in_shard(shard).values()
    members["ExpressionAttributeValues"] |= {":pk": partition}
    rows, units = 0, 0.0
    while True:
        answer = await session.client.query(**members)
        rows += answer["Count"]
        units += answer["ConsumedCapacity"]["CapacityUnits"]
        if "LastEvaluatedKey" not in answer:
            return Count(rows, units)
        members["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


async def cost(session: sk.AsyncSession, call: Callable[[], Awaitable[float | None]], calls: int) -> Cost:
    """A call returns the units that the session does not meter. The first one warms up."""
    await call()
    before, units = _units_metered(session), 0.0
    times: list[float] = []
    worked: list[float] = []
    for _ in range(calls):
        began, working = perf_counter(), process_time()
        units += await call() or 0.0
        worked.append(1000 * (process_time() - working))
        times.append(1000 * (perf_counter() - began))
    times.sort()
    used = (_units_metered(session) - before + units) / calls
    return Cost(median(times), times[int(len(times) * 0.99)], median(worked), used)


def _units_metered(session: sk.AsyncSession) -> float:
    return sum(reading.units for reading in session.meter.readings())


async def followed(session: sk.AsyncSession, leaderboards: Leaderboards, players: int, calls: int) -> Followed:
    """One score after the other, each counted before the next."""
    ranges = BOARD.aggregate.aggregator(session)
    done = asyncio.Event()

    async def on_scores(changes: Any) -> None:
        await ranges.on_changes(changes)
        done.set()

    # What was loaded is counted already.
    feeds: list[sk.feeds.ChangeFeed[Any]] = [
        sk.feeds.ChangeFeed("events", ScoreEvent, SCORES_OF_EVENTS.aggregator(session).on_changes, start="now"),
        sk.feeds.ChangeFeed("ranges", Score, on_scores, start="now"),
        sk.feeds.ChangeFeed("totals", Score, TOTALS_OF_SCORES.aggregator(session).on_changes, start="now"),
    ]
    draw, times = Random(17), []
    async with sk.feeds.Follower(session, feeds) as follower:
        await follower.caught_up()
        before = _units_written(session)
        for _ in range(calls):
            done.clear()
            await leaderboards.add([random_event(draw, players)])
            began = perf_counter()
            await done.wait()
            times.append(1000 * (perf_counter() - began))
        await follower.caught_up()
        return Followed(median(times), (_units_written(session) - before) / calls)


def _units_written(session: sk.AsyncSession) -> float:
    """Units of scores and of what follows from them, without those of the feeds' leases."""
    return sum(reading.units for reading in session.meter.readings() if reading.path in _WRITES)


_WRITES: Final = ("put ScoreEvent", "aggregate Score", "aggregate ScoreRange", "aggregate GameTotal")
