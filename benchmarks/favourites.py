"""Favourites on a synced folder: the lag of counts, marks beside plain puts, the aggregator alone, top lists and costs

The lag is from an acknowledged mark until the feed's consumer has counted it, at 1,000 marks a second for a minute, all
in one process. The aggregator alone counts a backlog, in processes of its own. Costs are capacity units that the store
has reported; those of counting are beside ADD in transactions, on the tables of the benchmark `aggregates`. Top lists
of up to 1,000,000 restaurants with one mark each are beside PostgreSQL; `SORTKEY_FAVOURITES_RESTAURANTS=100000` makes
them smaller.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

import uvloop

import sortkey as sk
from benchmarks._favourites_costs import (
    BUSY_BATCH,
    CountInOnePartition,
    CountWithoutIndex,
    cost_of_a_mark,
    units_of_a_count,
    units_of_a_mark,
)
from benchmarks._favourites_follower import counted_per_second
from benchmarks._favourites_top import tied_top_lists
from benchmarks._peers import working_folder
from benchmarks._results import Result
from sortkey_services.favourites.model import Favourite, FavouriteCount
from sortkey_services.favourites.service import FavouritesService, Settings, top_page

RATE: Final = 1000
SECONDS: Final = 60.0
TICK_SECONDS: Final = 0.005
RESTAURANTS: Final = 2000
ROUNDS: Final = 9
CALLS: Final = 200
BACKLOG: Final = 20_000
TOP_RESTAURANTS: Final = 100_000
TOP: Final = 1000
TOP_CALLS: Final = 100
TIED_SIZES: Final = (1000, 30_000, 1_000_000)
MOST_RESTAURANTS: Final = "SORTKEY_FAVOURITES_RESTAURANTS"
_ADD: Final = "ADD in transactions"
_POPULARITY: Final = tuple(accumulate(1 / (rank + 4) for rank in range(RESTAURANTS)))


class Lag(NamedTuple):
    p50: float
    p99: float
    worst: float
    rate: float
    """Marks that were acknowledged, per second."""


def run() -> Iterator[Result]:
    with TemporaryDirectory(dir=working_folder()) as made:
        folder = Path(made)
        lag = uvloop.run(lag_of_counts(folder / "lag", RATE, SECONDS))
        yield Result("marks acknowledged", lag.rate, "/s")
        yield Result("lag of a count, p50", lag.p50, "ms")
        yield Result("lag of a count, p99", lag.p99, "ms")
        yield Result("lag of a count, longest", lag.worst, "ms")
        mark, put = uvloop.run(mark_beside_put(folder / "mark", ROUNDS, CALLS))
        yield Result("mark, beside a plain put", mark, "µs", put)
        favourites = marks(BACKLOG, Random(14))
        for shards, processes in ((1, 1), (4, 1), (4, 2)):
            counted = counted_per_second(folder / f"{shards}-{processes}", shards, processes, favourites)
            yield Result(f"counted alone, shards {shards}, processes {processes}", counted, "/s")
        top = uvloop.run(top_list(TOP_RESTAURANTS, TOP, TOP_CALLS))
    yield Result(f"top {TOP:,} of {TOP_RESTAURANTS:,}, p50", top.p50, "ms")
    yield Result(f"top {TOP:,} of {TOP_RESTAURANTS:,}, p99", top.p99, "ms")
    yield Result(f"top {TOP:,} of {TOP_RESTAURANTS:,}, read units", top.units, "units")
    yield from tied_top_lists(tied_sizes(), TOP_CALLS)
    yield from costs()


def tied_sizes() -> tuple[int, ...]:
    most = int(os.environ.get(MOST_RESTAURANTS, TIED_SIZES[-1]))
    return tuple(dict.fromkeys(min(size, most) for size in TIED_SIZES))


def costs() -> Iterator[Result]:
    yield Result("a count, write units without a top list", units_of_a_count(CountWithoutIndex), "units")
    yield Result("a count, write units with one in one partition", units_of_a_count(CountInOnePartition), "units")
    yield Result("a count, write units with a sharded one", units_of_a_count(FavouriteCount), "units")
    yield Result("a mark alone, write units", units_of_a_mark(), "units")
    for marks_a_day, batch in ((7000, 1), (7_000_000, BUSY_BATCH)):
        cost = cost_of_a_mark(batch)
        yield Result(f"a mark with its counts, batches of {batch}", cost.ours, "units", peers={_ADD: cost.by_add})
        yield Result(f"a mark with its counts, batches of {batch}, read", cost.reads, "read units")
        ours, added = cost.dollars(marks_a_day)
        yield Result(f"{marks_a_day:,} marks a day, a month", ours, "$", peers={_ADD: added})


def marks(count: int, draw: Random) -> list[Favourite]:
    """Of different users; few restaurants have most of them."""
    now = datetime.now(UTC)
    chosen = draw.choices(range(RESTAURANTS), cum_weights=_POPULARITY, k=count)
    return [
        Favourite(user=f"u{number}", restaurant=f"r{restaurant:04}", since=now - timedelta(hours=draw.randrange(72)))
        for number, restaurant in enumerate(chosen)
    ]


async def opened(store: Path | str) -> tuple[sk.AsyncSession, FavouritesService]:
    session = await sk.async_connect(store, tables=[Favourite, FavouriteCount])
    service = FavouritesService(session)
    await service.start()
    return session, service


async def lag_of_counts(folder: Path, rate: int, seconds: float) -> Lag:
    session, service = await opened(folder)
    counts = Settings().counts.aggregator(session)
    acknowledged: dict[str, float] = {}
    counted: dict[str, float] = {}

    async def on_changes(changes: Sequence[sk.Change[Favourite]]) -> None:
        await counts.on_changes(changes)
        now = perf_counter()
        counted.update((change.new.user, now) for change in changes if change.new is not None)

    async def mark(favourite: Favourite) -> None:
        await service.mark(favourite.user, favourite.restaurant)
        acknowledged[favourite.user] = perf_counter()

    async with (
        session,
        sk.feeds.Follower(session, [sk.feeds.ChangeFeed("favourite-counts", Favourite, on_changes)]) as follower,
    ):
        began = perf_counter()
        await at_a_rate(mark, marks(int(rate * seconds), Random(14)), rate)
        took = perf_counter() - began
        await follower.caught_up()
        report = await counts.recount()
        assert report.is_clean, str(report)
    # A change may be counted before its writer has the answer.
    lags = sorted(1000 * max(0.0, counted[user] - at) for user, at in acknowledged.items())
    return Lag(median(lags), lags[int(len(lags) * 0.99)], lags[-1], len(lags) / took)


async def at_a_rate(
    call: Callable[[Favourite], Coroutine[Any, Any, None]], given: Sequence[Favourite], rate: int
) -> None:
    """Calls begin when they are due, whether or not those before have ended."""
    async with asyncio.TaskGroup() as tasks:
        began, done = perf_counter(), 0
        while done < len(given):
            due = min(len(given), int((perf_counter() - began) * rate))
            for favourite in given[done:due]:
                tasks.create_task(call(favourite))
            done = due
            await asyncio.sleep(TICK_SECONDS)


async def mark_beside_put(folder: Path, rounds: int, calls: int) -> tuple[float, float]:
    """Microseconds of a mark, and of a plain put of the same kind of item into the same table; in turns."""
    session, service = await opened(folder)
    given = iter(marks(2 * (rounds + 1) * calls, Random(15)))
    times: tuple[list[float], list[float]] = ([], [])

    async def mark(favourite: Favourite) -> None:
        await service.mark(favourite.user, favourite.restaurant)

    async def put(favourite: Favourite) -> None:
        await session.put(favourite)

    async with session:
        for _ in range(rounds + 1):
            for call, found in zip((mark, put), times, strict=True):
                turn = [next(given) for _ in range(calls)]
                began = perf_counter()
                for favourite in turn:
                    await call(favourite)
                found.append(1e6 * (perf_counter() - began) / calls)
    # The first turn warms up.
    return median(times[0][1:]), median(times[1][1:])


class Top(NamedTuple):
    p50: float
    p99: float
    units: float


async def top_list(restaurants: int, limit: int, calls: int) -> Top:
    session, service = await opened("memory:")
    draw = Random(16)
    async with session:
        counts = [
            FavouriteCount(restaurant=f"r{number:06}", window="ALL_TIME", count=int(draw.paretovariate(0.8)))
            for number in range(restaurants)
        ]
        await session.load(counts)
        before = session.meter.reading("FavouriteCount.top").units
        times = []
        for _ in range(calls):
            began = perf_counter()
            found = await service.top("ALL_TIME", top_page(limit))
            times.append(1000 * (perf_counter() - began))
            assert len(found) == min(limit, restaurants)
        units = (session.meter.reading("FavouriteCount.top").units - before) / calls
    times.sort()
    return Top(median(times), times[int(len(times) * 0.99)], units)
