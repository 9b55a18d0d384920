"""Top lists in which every restaurant has one mark, the worst case of ties, of the service and of PostgreSQL.

Both are asked in this process: the service reads its store here, PostgreSQL is another process, one round trip away. It
has the index that the list needs, and pages by what the last row was.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

import psycopg
import uvloop

import sortkey as sk
from benchmarks._peers import working_folder
from benchmarks._prices_postgres import running
from benchmarks._results import Result
from sortkey_services.favourites.model import Favourite, FavouriteCount
from sortkey_services.favourites.service import FavouritesService, top_page

WINDOW: Final = "ALL_TIME"
PAGE: Final = 10
DEEP: Final = 10
"""How many pages of 1,000 are before the page in the middle."""
_PEER: Final = "PostgreSQL"

SCHEMA: Final = """
CREATE TABLE favourite_counts (
    restaurant TEXT COLLATE "C",
    time_window TEXT,
    count BIGINT NOT NULL,
    PRIMARY KEY (restaurant, time_window)
);
CREATE INDEX top ON favourite_counts (time_window, (-count), restaurant) WHERE count > 0;
"""
FIRST: Final = """
SELECT restaurant, count FROM favourite_counts WHERE time_window = %s AND count > 0
ORDER BY -count, restaurant LIMIT %s"""
NEXT: Final = """
SELECT restaurant, count FROM favourite_counts WHERE time_window = %s AND count > 0 AND (-count, restaurant) > (%s, %s)
ORDER BY -count, restaurant LIMIT %s"""


class Timed(NamedTuple):
    p50: float
    """Milliseconds."""
    units: float
    rows: float
    """Read, per page."""


class Tied(NamedTuple):
    """Pages of ten: the first, and one after ten thousand restaurants, if there are so many."""

    first: Timed
    deep: Timed | None


def restaurant(number: int) -> str:
    return f"r{number:07}"


class PostgresCounts:
    """One connection. Statements are prepared when they are used often, as psycopg does."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def load(self, restaurants: int) -> None:
        self._connection.execute("TRUNCATE favourite_counts")
        columns = "COPY favourite_counts (restaurant, time_window, count) FROM STDIN"
        with self._connection.transaction(), self._connection.cursor().copy(columns) as copy:
            for number in range(restaurants):
                copy.write_row((restaurant(number), WINDOW, 1))
        self._connection.execute("VACUUM ANALYZE favourite_counts")

    def top(self, limit: int, after: tuple[str, int] | None = None) -> list[Any]:
        if after is None:
            return self._connection.execute(FIRST, (WINDOW, limit)).fetchall()
        name, count = after
        return self._connection.execute(NEXT, (WINDOW, -count, name, limit)).fetchall()


def tied_top_lists(sizes: tuple[int, ...], calls: int) -> Iterator[Result]:
    """The pages of lists of these sizes, beside PostgreSQL's."""
    with running() as (url, _), TemporaryDirectory(dir=working_folder()) as made:
        peer = PostgresCounts(url)
        try:
            for size in sizes:
                ours = uvloop.run(tied(Path(made) / f"{size}", size, calls))
                peer.load(size)
                theirs = tied_in_postgres(peer, size, calls)
                name = f"top {PAGE} of {size:,} with one mark each"
                yield Result(f"{name}, p50", ours.first.p50, "ms", peers={_PEER: theirs[0]})
                yield Result(f"{name}, read units", ours.first.units, "units")
                yield Result(f"{name}, rows read", ours.first.rows, "rows")
                if ours.deep is not None:
                    after = f"the {PAGE} after {DEEP * 1000:,} of {size:,}"
                    yield Result(f"{after}, p50", ours.deep.p50, "ms", peers={_PEER: theirs[1]})
                    yield Result(f"{after}, read units", ours.deep.units, "units")
        finally:
            peer.close()


async def tied(store: Path | str, restaurants: int, calls: int) -> Tied:
    """The service's pages of a list in which every restaurant has one mark."""
    session = await sk.async_connect(store, tables=[Favourite, FavouriteCount])
    async with session:
        service = FavouritesService(session)
        await service.start()
        await session.load(
            FavouriteCount(restaurant=restaurant(number), window=WINDOW, count=1) for number in range(restaurants)
        )

        async def page(limit: int, after: str | None, first: int) -> str | None:
            found = await service.top(WINDOW, top_page(limit, after))
            shown = [each.restaurant for each in found]
            assert shown == [restaurant(number) for number in range(first, first + limit)]
            return found.end_cursor

        first = await _timed(session, lambda: page(PAGE, None, 0), calls)
        if restaurants <= DEEP * 1000:
            return Tied(first, None)
        cursor = None
        for number in range(DEEP):
            cursor = await page(1000, cursor, 1000 * number)
        return Tied(first, await _timed(session, lambda: page(PAGE, cursor, 1000 * DEEP), calls))


async def _timed(session: sk.AsyncSession, call: Callable[[], Awaitable[Any]], calls: int) -> Timed:
    """The first call warms up."""
    await call()
    before, times = session.meter.reading(FavouriteCount.top), []
    for _ in range(calls):
        began = perf_counter()
        await call()
        times.append(1000 * (perf_counter() - began))
    after = session.meter.reading(FavouriteCount.top)
    return Timed(median(times), (after.units - before.units) / calls, (after.rows_read - before.rows_read) / calls)


def tied_in_postgres(peer: PostgresCounts, restaurants: int, calls: int) -> tuple[float, float]:
    """The milliseconds of the first page, and of the one in the middle, 0 if there is none."""
    places: list[tuple[str, int] | None] = [None]
    if restaurants > DEEP * 1000:
        places.append((restaurant(DEEP * 1000 - 1), 1))
    found = []
    for number, place in enumerate(places):
        times = []
        for _ in range(calls + 1):
            began = perf_counter()
            rows = peer.top(PAGE, place)
            times.append(1000 * (perf_counter() - began))
            assert rows[0][0] == restaurant(1000 * DEEP * number), rows[0]
        found.append(median(times[1:]))
    return found[0], found[1] if len(found) > 1 else 0.0
