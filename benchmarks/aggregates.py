"""Aggregates in memory: what a change costs, and by how much counts are wrong when changes are delivered twice

Marks and unmarks of restaurants are counted in four windows, by an aggregate and by ADD in transactions. With faults,
one batch of twenty is delivered again, and one write of a thousand is carried out while its answer is lost, so that its
batch is delivered again. A count is wrong if it is not that of the favourites that are left. Time is processor time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from random import Random
from time import process_time
from typing import Any, Final, NamedTuple, Protocol

from botocore.exceptions import ClientError

import sortkey as sk
from benchmarks._add_in_transactions import AddInTransactions
from benchmarks._favourites import (
    COUNTED,
    COUNTS,
    FAVOURITES,
    LISTS,
    Favourite,
    LostAnswers,
    deliveries,
    history,
    right_counts,
    stored_counts,
)
from benchmarks._other_ways import InOneTransaction, OneByOne, count_by_scan, count_in_requests
from benchmarks._results import Result

CHANGES: Final = 20_000
BATCH: Final = 1000
"""A change feed's largest, by default."""
SMALL_BATCH: Final = 100
"""Lambda's, by default; in the runs with faults."""
SEED: Final = 14
TWICE: Final = 0.05
LOST: Final = 0.001
_ADD: Final = "ADD in transactions"


class Counting(Protocol):
    async def on_changes(self, changes: Sequence[sk.Change[Favourite]]) -> None: ...


class Measured(NamedTuple):
    records_per_second: float
    requests: int
    units: float
    read_units: float
    wrong: float
    """The share of the counts that are wrong, in percent."""
    off: float
    """The sum of all errors, in percent of the sum of all counts."""


def run() -> Iterator[Result]:
    ours, theirs = (measure(counting, 0, 0, BATCH) for counting in (COUNTED.aggregator, AddInTransactions))
    yield Result("changes counted", ours.records_per_second, "/s", peers={_ADD: theirs.records_per_second})
    yield Result("write units per change", ours.units / CHANGES, "units", peers={_ADD: theirs.units / CHANGES})
    yield Result(
        "requests per 1,000 changes", 1000 * ours.requests / CHANGES, "", peers={_ADD: 1000 * theirs.requests / CHANGES}
    )
    ours, theirs = (measure(counting, TWICE, LOST, SMALL_BATCH) for counting in (COUNTED.aggregator, AddInTransactions))
    yield Result("counts that are wrong after faults", ours.wrong, "%", peers={_ADD: theirs.wrong})
    yield Result("sum of errors after faults", ours.off, "%", peers={_ADD: theirs.off})
    yield from other_ways()


def other_ways() -> Iterator[Result]:
    """What the request that marks a favourite could do itself, and a job once a day."""
    for name, way in {"one by one": OneByOne, "in a transaction": InOneTransaction}.items():
        counted = count_in_requests(way, LOST, CHANGES)
        yield Result(f"in the request, {name}: write units per change", counted.units, "units")
        yield Result(f"in the request, {name}: counts that are wrong after faults", counted.wrong, "%")
    scanned = count_by_scan(CHANGES)
    yield Result("by a scan: read units per million favourites", 1e6 * scanned.read_units, "units")
    yield Result("by a scan: counts that are wrong before the next", scanned.wrong, "%")


def measure(
    counting: Callable[[sk.AsyncSession], Counting], twice: float, lost: float, batch: int, changes: int = CHANGES
) -> Measured:
    """Counts in a new store; `counting` makes a consumer from a session."""
    return asyncio.run(_measured(counting, twice, lost, batch, changes))


async def _measured(
    counting: Callable[[sk.AsyncSession], Counting], twice: float, lost: float, batch: int, count: int
) -> Measured:
    made, left = history(count, Random(SEED))
    async with sk.async_connect("memory:", tables=[FAVOURITES, COUNTS, LISTS]) as db:
        await db.create_tables()
        session: Any = db
        client = session.client = LostAnswers(session.client, Random(SEED), lost)
        consumer: Counting = counting(db)
        started = process_time()
        for delivered in deliveries(made, batch, Random(SEED), twice):
            await _deliver(consumer, delivered)
        seconds = process_time() - started
        found = await stored_counts(db)
    expected = right_counts(left)
    groups = {*found, *expected}
    errors = [abs(found.get(group, 0) - expected[group]) for group in groups]
    wrong = sum(error > 0 for error in errors)
    return Measured(
        count / seconds,
        client.requests,
        client.units,
        client.read_units,
        100 * wrong / len(groups),
        100 * sum(errors) / expected.total(),
    )


async def _deliver(consumer: Counting, batch: Sequence[sk.Change[Favourite]]) -> None:
    """Delivers a batch until it is taken, as a feed does."""
    while True:
        try:
            return await consumer.on_changes(batch)
        except ClientError as error:
            if error.response["Error"]["Code"] != "InternalServerError":
                raise
