"""A user with a million followers beside one with ten: a page, the counts, a follow and its end.

Both are in one store, and take turns call by call, so that a noisy moment affects both. The rows are loaded in batches,
as the service would have written them; the counts are those that its feeds would have made.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final, NamedTuple

import uvloop

import sortkey as sk
from benchmarks._results import Result
from sortkey.services.pages import PageArguments
from sortkey_services.social.model import COUNTS, SOCIAL, Follow, FollowCounts
from sortkey_services.social.service import SocialService

MANY: Final = 1_000_000
FEW: Final = 10
CALLS: Final = 500
WARM_UP: Final = 20
BATCH: Final = 5_000
PAGE: Final = PageArguments(first=10, after=None, last=None, before=None)
"""Of as many followers as the user with the fewest has, so that both pages have the same size."""
SINCE: Final = datetime(2026, 8, 24, tzinfo=UTC)
FAN: Final = "fan"
"""Follows nobody at first."""

Call = Callable[[str], Coroutine[Any, Any, object]]
"""With the user who is followed."""


class Times(NamedTuple):
    """In milliseconds."""

    p50: float
    p99: float


def followers(folder: Path, many: int = MANY, few: int = FEW, calls: int = CALLS) -> Iterator[Result]:
    """The times for the user with many, beside those for the one with few."""
    for name, times in uvloop.run(measured(folder, {"many": many, "few": few}, calls)).items():
        for share, of_many, of_few in zip(Times._fields, times["many"], times["few"], strict=True):
            yield Result(f"{name}, {many:,} followers, {share}", of_many, "ms", peers={f"{few} followers": of_few})


async def measured(store: Path | str, sizes: Mapping[str, int], calls: int) -> dict[str, dict[str, Times]]:
    """The times of each operation, for each user of this number of followers."""
    async with sk.async_connect(store, tables=[SOCIAL, COUNTS]) as session:
        service = SocialService(session)
        await service.start()
        await load(session, service, sizes)
        operations: dict[str, Call] = {
            "page of followers": lambda user: service.follows.followers(user, PAGE),
            "counts": service.users.get,
            "follow": lambda user: service.follows.follow(FAN, user),
            "unfollow": lambda user: service.follows.unfollow(FAN, user),
        }
        return await in_turns(operations, list(sizes), calls)


async def load(session: sk.AsyncSession, service: SocialService, sizes: Mapping[str, int]) -> None:
    for user in (FAN, *sizes):
        await service.users.put(user, user.title(), "London")
    for user, size in sizes.items():
        for start in range(0, size, BATCH):
            numbers = range(start, min(start + BATCH, size))
            await session.batch(put=[Follow(user=f"u{number:07}", followed=user, since=SINCE) for number in numbers])
        await session.put(FollowCounts(user=user, followers=size))


async def in_turns(operations: Mapping[str, Call], users: list[str], calls: int) -> dict[str, dict[str, Times]]:
    taken: dict[str, dict[str, list[float]]] = {name: {user: [] for user in users} for name in operations}
    for turn in range(WARM_UP + calls):
        for user in users if turn % 2 else reversed(users):
            for name, call in operations.items():
                began = perf_counter()
                await call(user)
                taken[name][user].append(1000 * (perf_counter() - began))
    return {name: {user: _times(found[WARM_UP:]) for user, found in each.items()} for name, each in taken.items()}


def _times(found: list[float]) -> Times:
    return Times(median(found), sorted(found)[int(len(found) * 0.99)])
