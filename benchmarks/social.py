"""Social on a synced folder: a leaderboard of 10,000 and of 1,000,000 players, and a user with 1,000,000 followers

Top 100, the rank of a random player, a score; p50, p99, processor time and the capacity units that the store has
reported. A rank is also made by counting everybody above, by a Query of each shard. The growth is from few players to
many.
The user with many followers is beside one with ten.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import uvloop

from benchmarks._followers import followers
from benchmarks._leaderboard import TOP, Cost, Measured, measured
from benchmarks._peers import working_folder
from benchmarks._results import Result

FEW: Final = 10_000
MANY: Final = 1_000_000
CALLS: Final = 1000
WALKS: Final = 10
_COUNTED: Final = "count of all above"


def run() -> Iterator[Result]:
    yield from leaderboards(FEW, MANY, CALLS, WALKS)
    with TemporaryDirectory(dir=working_folder()) as folder:
        yield from followers(Path(folder))


def leaderboards(few: int, many: int, calls: int, walks: int) -> Iterator[Result]:
    found: list[Measured] = []
    for players in (few, many):
        with TemporaryDirectory(dir=working_folder()) as folder:
            found.append(uvloop.run(measured(Path(folder), players, calls, walks)))
        yield from _of_board(players, found[-1])
    small, large = found
    for name, before, after in (
        (f"top {TOP}", small.top, large.top),
        ("rank", small.rank, large.rank),
        ("score", small.score, large.score),
    ):
        grown = f"from {few:,} to {many:,} players"
        yield Result(f"{name}, growth of p50 {grown}", after.p50 / before.p50, "×")
        yield Result(f"{name}, growth of processor time {grown}", after.processor / before.processor, "×")


def _of_board(players: int, found: Measured) -> Iterator[Result]:
    yield from _of_call(f"top {TOP} of {players:,}", found.top)
    yield from _of_call(f"rank among {players:,}", found.rank, found.walk)
    yield from _of_call(f"score among {players:,}", found.score)
    yield Result(f"score among {players:,}, until ranks have it, p50", found.followed.lag, "ms")
    yield Result(f"score among {players:,}, with what follows", found.followed.units, "units")


def _of_call(name: str, found: Cost, walked: Cost | None = None) -> Iterator[Result]:
    for label, value, unit, other in (
        ("p50", found.p50, "ms", walked and walked.p50),
        ("p99", found.p99, "ms", walked and walked.p99),
        ("processor time", found.processor, "ms", walked and walked.processor),
        ("units", found.units, "units", walked and walked.units),
    ):
        yield Result(f"{name}, {label}", value, unit, peers={} if other is None else {_COUNTED: other})
