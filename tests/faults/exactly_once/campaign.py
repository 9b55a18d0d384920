"""Favourites are marked and unmarked while the followers that count them meet faults; the counts must be right.

Followers are killed and replaced, frozen for longer than a lease and thawed; checkpoints are lost, so that changes are
delivered again, to a new owner beside the old one; shards split. In the end every count in every window is compared
with a count of the table.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import sortkey as sk
from sortkey.cli.main import main
from sortkey.engine.streams.stream_writer import reshard
from sortkey_services.favourites.model import FAVOURITES, Favourite, FavouriteCount
from tests.faults.exactly_once.clients import Clients
from tests.faults.exactly_once.followers import Followers
from tests.faults.exactly_once.leases import Leases
from tests.faults.exactly_once.service import DEFINITION, AddedCount, ComparedFavourites, groups
from tests.oracle.local import DynamoDBLocal
from tests.wire.serving import ServerProcess

CATCH_UP_SECONDS: Final = 900.0


class Plan(NamedTuple):
    seed: int
    operations: int
    """Marks and unmarks."""
    kills: int
    freezes: int
    redeliveries: int
    splits: int
    """Each doubles the number of shards. DynamoDB Local's cannot be split."""
    lease_seconds: float
    followers: int = 3
    clients: int = 16


class Store(NamedTuple):
    url: str
    folder: Path | None
    """Its data, where the shards can be split and examined."""


class Errors(NamedTuple):
    counts: int
    """All that were compared."""
    wrong: int
    off: int
    """The sum of all differences."""
    total: int
    """The sum of all right counts."""


NOTHING_COMPARED: Final = Errors(0, 0, 0, 0)


@dataclass
class Result:
    marks: int = 0
    unmarks: int = 0
    kills: int = 0
    freezes: int = 0
    redeliveries: int = 0
    splits: int = 0
    takeovers: list[float] = field(default_factory=list)
    ours: Errors = NOTHING_COMPARED
    by_add: Errors = NOTHING_COMPARED
    recount_is_clean: bool = False
    """Whether `sortkey recount` finds no difference."""
    check_is_clean: bool | None = None
    """Whether `sortkey check` finds no problem; None where there is no data folder."""


@contextmanager
def opened_store(kind: str, folder: Path) -> Iterator[Store]:
    """Of the kind `disk`, `endpoint` or `local`. Raises tests.maven.Unavailable."""
    if kind == "disk":
        yield Store(str(folder / "data"), folder / "data")
    elif kind == "endpoint":
        server = ServerProcess("--data", folder / "data")
        try:
            yield Store(server.url, folder / "data")
        finally:
            server.kill()
    else:
        local = DynamoDBLocal(folder / "log")
        try:
            yield Store(local.url, None)
        finally:
            local.close()


def run(plan: Plan, store: Store, show: Callable[[str], None] = lambda _: None) -> Result:
    """`show` is called with each fault."""
    result = asyncio.run(Campaign(plan, store, show).run())
    result.recount_is_clean = main(["recount", "favourites", "--store", store.url]) == 0
    if store.folder is not None:
        result.check_is_clean = main(["check", str(store.folder)]) == 0
    return result


class Campaign:
    def __init__(self, plan: Plan, store: Store, show: Callable[[str], None]) -> None:
        self._plan = plan
        self._store = store
        self._show = show
        self._draw = Random(f"faults {plan.seed}")
        self._result = Result()

    async def run(self) -> Result:
        async with sk.async_connect(self._store.url, tables=DEFINITION.tables({})) as session:
            service = ComparedFavourites(session)
            await service.start()
            # Followers create the tables of the leases.
            async with sk.feeds.Follower(session, []):
                pass
            leases = Leases(session, [feed.name for feed in service.feeds])
            followers = Followers(self._store.url, self._plan.lease_seconds, leases, self._draw)
            watching = asyncio.create_task(leases.watch())
            try:
                for _ in range(self._plan.followers):
                    await followers.start()
                await self._work_under_faults(session, followers, leases)
                await followers.settled()
                await self._catch_up(session, service)
                # The thawed ones, too, end before the counts are compared.
                await asyncio.to_thread(followers.stop)
            finally:
                watching.cancel()
                followers.kill()
            return await self._finished(session, followers, leases)

    async def _work_under_faults(self, session: sk.AsyncSession, followers: Followers, leases: Leases) -> None:
        plan = self._plan
        faults: list[Callable[[], Awaitable[None]]] = [
            *[followers.kill_one] * plan.kills,
            *[followers.freeze_one] * plan.freezes,
            *[lambda: self._deliver_again(leases)] * plan.redeliveries,
            *[lambda: self._split(session)] * plan.splits,
        ]
        self._draw.shuffle(faults)
        at = sorted(self._draw.sample(range(plan.operations // 20, plan.operations), len(faults)))
        clients = Clients(session, plan.seed, plan.operations, at)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(clients.run(plan.clients))
            for number, fault in enumerate(faults):
                await clients.reached(number)
                await fault()
                await clients.passed()
                self._show(f"{number + 1} of {len(faults)} faults, {at[number]:,} of {plan.operations:,} operations")
        self._result.marks, self._result.unmarks = clients.marks, clients.unmarks

    async def _deliver_again(self, leases: Leases) -> None:
        for feed in leases.feeds:
            await leases.lower_checkpoint(feed, self._draw)
        self._result.redeliveries += 1

    async def _split(self, session: sk.AsyncSession) -> None:
        table = (await session.client.describe_table(TableName=FAVOURITES.name))["Table"]
        stream = (await session.client.describe_stream(StreamArn=table["LatestStreamArn"]))["StreamDescription"]
        count = sum("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in stream["Shards"])
        await asyncio.to_thread(self._reshard, session.client.database, 2 * count)
        self._result.splits += 1

    def _reshard(self, database: Any, count: int) -> None:
        if database is not None:
            reshard(database, FAVOURITES.name, count)
            return
        assert self._store.folder is not None, "the shards of this store cannot be split"
        with sk.client(self._store.folder) as client:
            assert client.database is not None
            reshard(client.database, FAVOURITES.name, count)

    async def _catch_up(self, session: sk.AsyncSession, service: ComparedFavourites) -> None:
        async with (
            asyncio.timeout(CATCH_UP_SECONDS),
            sk.feeds.Follower(session, service.feeds, lease_seconds=self._plan.lease_seconds) as follower,
        ):
            await follower.caught_up()

    async def _finished(self, session: sk.AsyncSession, followers: Followers, leases: Leases) -> Result:
        result = self._result
        result.kills, result.freezes, result.takeovers = followers.kills, followers.freezes, leases.takeovers
        right: Counter[tuple[str, str]] = Counter()
        async for favourite in session.scan(Favourite, consistent=True):
            right.update(groups(favourite))
        ours = {
            (each.restaurant, each.window): each.count async for each in session.scan(FavouriteCount, consistent=True)
        }
        added = {(each.restaurant, each.window): each.count async for each in session.scan(AddedCount, consistent=True)}
        result.ours, result.by_add = errors_of(ours, right), errors_of(added, right)
        return result


def errors_of(found: dict[tuple[str, str], int], right: Counter[tuple[str, str]]) -> Errors:
    compared = {*found, *right}
    differences = [abs(found.get(group, 0) - right[group]) for group in compared]
    return Errors(len(compared), sum(each > 0 for each in differences), sum(differences), right.total())
