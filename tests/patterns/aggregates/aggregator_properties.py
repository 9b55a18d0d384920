"""Whatever is delivered twice, frozen, cut short or cut differently: every count equals the truth.

The oracle is the list of favourites that the changes end with. An owner of a shard takes batches from where the owner
before it ended, as a feed's checkpoints make it: a batch counts as done only if it was applied wholly. Owners die in
the middle of a batch, or freeze there and go on much later, when others have done the same work in other batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from datetime import timedelta
from decimal import Decimal
from itertools import count, cycle
from typing import Any, Literal, NamedTuple

from hypothesis import strategies as st

import sortkey as sk
from tests.patterns.aggregates.favourites import (
    COUNTED,
    KEPT,
    KEPT_LISTED,
    KEPT_RANGED,
    LISTED,
    RANGED,
    SHARD,
    START,
    Favourite,
    ListedCount,
    SpendingRange,
    counted,
    history,
    truth,
)
from tests.stores import given_on_stores

OTHER_SHARD = "shardId-00000001787578200000-00000002"
_example = count()


class Delivery(NamedTuple):
    back: int
    """How far before the end of the work that is done the batch starts."""
    length: int
    writes: int
    """How many writes are sent before the owner dies or freezes."""
    outcome: Literal["done", "dies", "freezes"]


class Freezer:
    """Stops an owner before one of its writes."""

    def __init__(self, writes: int) -> None:
        self.writes = writes
        self.reached = asyncio.Event()
        self.thawed = asyncio.Event()

    async def pass_through(self) -> None:
        if self.writes == 0 and not self.thawed.is_set():
            self.reached.set()
            await self.thawed.wait()
        self.writes -= 1


_freezer: ContextVar[Freezer | None] = ContextVar("freezer", default=None)


class FreezingClient:
    """A client whose writes may have to wait."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def write_together(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        return await asyncio.gather(*(self._call(*request) for request in requests), return_exceptions=True)

    async def _call(self, operation: str, members: dict[str, Any]) -> Any:
        freezer = _freezer.get()
        if operation == "UpdateItem" and freezer is not None:
            await freezer.pass_through()
        return await self._client._call(operation, members)


class Owners:
    """The owners of one shard, one after the other, and those that are frozen."""

    def __init__(
        self, db: sk.AsyncSession, aggregate: sk.patterns.Aggregate, changes: list[sk.Change[Favourite]]
    ) -> None:
        # Two processes take turns; what an aggregator remembers is from its own batches.
        self.aggregators = cycle([aggregate.aggregator(db, parallel=3), aggregate.aggregator(db, parallel=3)])
        self.changes = changes
        self.done = 0
        self.frozen: list[tuple[Freezer, asyncio.Task[None]]] = []

    async def deliver(self, delivery: Delivery) -> None:
        start = max(0, self.done - delivery.back)
        batch = self.changes[start : start + delivery.length]
        freezer = Freezer(delivery.writes)
        if delivery.outcome == "done":
            freezer.thawed.set()
        task = asyncio.get_running_loop().create_task(self._apply(batch, freezer))
        reached = asyncio.get_running_loop().create_task(freezer.reached.wait())
        await asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)
        reached.cancel()
        if task.done():
            task.result()
            self.done = max(self.done, start + len(batch))
        elif delivery.outcome == "dies":
            task.cancel()
            await asyncio.wait({task})
        else:
            self.frozen.append((freezer, task))

    async def _apply(self, batch: list[sk.Change[Favourite]], freezer: Freezer) -> None:
        _freezer.set(freezer)
        await next(self.aggregators).on_changes(batch)

    async def thaw(self) -> None:
        for freezer, task in self.frozen:
            freezer.thawed.set()
            await task
        self.frozen.clear()

    async def finish(self) -> None:
        await self.deliver(Delivery(3, len(self.changes), 0, "done"))
        await self.thaw()


deliveries = st.builds(
    Delivery, st.integers(0, 6), st.integers(1, 8), st.integers(0, 6), st.sampled_from(["done", "dies", "freezes"])
)


def favourites(name: str) -> st.SearchStrategy[Favourite]:
    return st.builds(
        Favourite,
        user=st.just("ada"),
        restaurant=st.sampled_from([f"{name}-nopi", f"{name}-honey"]),
        since=st.sampled_from([START, START + timedelta(hours=1), START + timedelta(days=40)]),
        spent=st.decimals(Decimal("-1e9"), Decimal("1e9"), places=6),
    )


def states(name: str) -> st.SearchStrategy[list[tuple[int, Favourite | None]]]:
    return st.lists(st.tuples(st.integers(0, 3), st.none() | favourites(name)), max_size=24)


plans = st.lists(st.tuples(st.integers(0, 1), st.none() | deliveries), max_size=16)


async def play(
    db: sk.AsyncSession, aggregate: sk.patterns.Aggregate, data: st.DataObject, name: str, *, expiry: bool = False
) -> list[Favourite]:
    """Applies changes in all these ways; returns the favourites that there are at the end, and with `expiry` those
    that have expired."""
    lives = [data.draw(states(name)), data.draw(states(name))]
    expired = data.draw(st.frozensets(st.integers(1, 24))) if expiry else frozenset()
    plan = data.draw(plans)
    session: Any = db
    if not isinstance(session.client, FreezingClient):
        session.client = session._runner.client = FreezingClient(session.client)
    shards = zip(lives, (SHARD, OTHER_SHARD), strict=True)
    histories = [history(life, shard, expired) for life, shard in shards]
    owners = [Owners(db, aggregate, changes) for changes in histories]
    for shard, delivery in plan:
        # None: those that are frozen go on.
        await (owners[shard].thaw() if delivery is None else owners[shard].deliver(delivery))
    for each in owners:
        await each.finish()
    final = [state for life in lives for state in dict(life).values() if state is not None]
    gone = [change.old for changes in histories for change in changes if change.expired and change.old is not None]
    return final + gone


@given_on_stores(data=st.data())
def test_counts_equal_the_truth(db: sk.AsyncSession, runner: asyncio.Runner, data: st.DataObject) -> None:
    async def run() -> None:
        name = f"r{next(_example)}"
        final = await play(db, COUNTED, data, name)
        expected = {group: found for group, found in truth(final).items() if any(found)}
        assert await counted(db, [f"{name}-nopi", f"{name}-honey"]) == expected

    runner.run(run())


# The windows by hand: weeks by `isocalendar`, the others by rounding the time of day down.
def kept_truth(favourites: list[Favourite]) -> dict[tuple[str, str], tuple[int, Decimal]]:
    found: dict[tuple[str, str], tuple[int, Decimal]] = {}
    for each in favourites:
        day, minutes = f"{each.since:%Y-%m-%d}", each.since.hour * 60 + each.since.minute
        quarter, six_hours = minutes - minutes % 15, each.since.hour - each.since.hour % 6
        for window in (
            "ALL_TIME",
            f"{each.since:%G-W%V}",
            f"{each.since:%Y-%m-%dT%H:%M}",
            f"{day}T{quarter // 60:02}:{quarter % 60:02}/PT15M",
            f"{day}T{six_hours:02}:00/PT6H",
        ):
            count, spent = found.get((each.restaurant, window), (0, Decimal(0)))
            found[each.restaurant, window] = count + 1, spent + each.spent
    return found


@given_on_stores(data=st.data())
def test_what_has_expired_stays_counted(db: sk.AsyncSession, runner: asyncio.Runner, data: st.DataObject) -> None:
    async def run() -> None:
        name = f"r{next(_example)}"
        ever = await play(db, KEPT, data, name, expiry=True)
        assert await counted(db, [f"{name}-nopi", f"{name}-honey"]) == {
            group: found for group, found in kept_truth(ever).items() if any(found)
        }

    runner.run(run())


# Two shards add to one restaurant, each by two processes, and each remembers what it wrote last.
@given_on_stores(data=st.data(), expiry=st.booleans())
def test_places_in_lists_are_those_of_the_counts(
    db: sk.AsyncSession, runner: asyncio.Runner, data: st.DataObject, expiry: bool
) -> None:
    async def run() -> None:
        name = f"r{next(_example)}"
        final = await play(db, KEPT_LISTED if expiry else LISTED, data, name, expiry=expiry)
        for restaurant in (f"{name}-nopi", f"{name}-honey"):
            spent = [each.spent for each in final if each.restaurant == restaurant]
            found = await db.get(ListedCount.key(restaurant=restaurant), consistent=True)
            assert (found.count, found.spent) == (len(spent), sum(spent)) if found else not spent
            if found is not None:
                for place in (ListedCount.top(count=len(spent)), ListedCount.by_spent(spent=found.spent)):
                    assert restaurant in [each.restaurant async for each in db.iterate(place)]
        assert (await db.audit(ListedCount)).is_clean

    runner.run(run())


# An extreme that is not exact is a bound.
@given_on_stores(data=st.data(), expiry=st.booleans())
def test_extremes_are_true_or_known_not_to_be(
    db: sk.AsyncSession, runner: asyncio.Runner, data: st.DataObject, expiry: bool
) -> None:
    async def run() -> None:
        name = f"r{next(_example)}"
        final = await play(db, KEPT_RANGED if expiry else RANGED, data, name, expiry=expiry)
        for restaurant in (f"{name}-nopi", f"{name}-honey"):
            found = await db.get(SpendingRange.key(restaurant=restaurant), consistent=True)
            found = found or SpendingRange(restaurant=restaurant)
            spent = [each.spent for each in final if each.restaurant == restaurant]
            assert found.count == len(spent)
            if found.is_largest:
                assert found.largest == max(spent, default=None)
            else:
                assert found.largest is not None
                assert found.largest >= max(spent)
            if found.smallest_exact:
                assert found.smallest == min(spent, default=None)
            else:
                assert found.smallest is not None
                assert found.smallest <= min(spent)

    runner.run(run())
