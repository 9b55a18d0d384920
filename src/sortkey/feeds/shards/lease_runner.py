"""Shares shards with other processes by leases, and runs a consumer for each shard that this process has.

Every quarter of the lease time there is a *round*: list the shards and the leases, take what is free, ask for what is
due, renew what is held. A consumer that ends starts a round at once: what follows its shard is not delayed.

Followers do not know of each other but by the leases: an owner lives as long as one of its counters moves. `plan`
decides so that they share the shards evenly. Each follower takes leases without a living owner up to its share, which
is rounded up, so that all are taken. A follower with less than its share asks the owner of the most leases for one of
them. That owner finishes its batch and hands it over, so no change is handled twice.
"""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from sortkey.clock import SystemClock, WaitingClock
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.shards.dead_letter import DeadLetter
from sortkey.feeds.shards.leases import (
    NOBODY,
    HeldLease,
    LeaseBook,
    ShardKey,
    ShardLease,
    StreamShard,
    all_done,
    may_start,
)
from sortkey.feeds.shards.metrics import ShardMetrics
from sortkey.feeds.shards.outages import is_outage
from sortkey.model.calls.steps import Pacing
from sortkey.model.sessions.async_session import AsyncSession

GRACE_SECONDS: Final = 20.0
"""For what is under way to end when the runner stops."""
FORGET_SECONDS: Final = 3600.0
"""A lease is deleted when its shard has not been listed for this long."""
STORE_PACING: Final = Pacing(first_pause=0.1, longest_pause=5.0)
"""Between attempts to read a shard or to write a lease."""

_logger = logging.getLogger(__name__)


class RunnerSettings(NamedTuple):
    lease_seconds: float
    clock: WaitingClock
    dead_letters: Callable[[DeadLetter], Awaitable[None]] | None = None
    """Is called with each dead letter, besides the feed's own."""


class LeasedConsumer(Protocol):
    """Handles one shard."""

    @property
    def lease(self) -> HeldLease: ...

    def stop(self) -> None:
        """What is under way is finished."""

    async def run(self) -> None:
        """Until the shard ends, the lease is lost, or `stop`."""


ConsumerT = TypeVar("ConsumerT", bound=LeasedConsumer)


class LeaseRunner(ABC, Generic[ConsumerT]):
    def __init__(
        self, session: AsyncSession, name: str, leases: str, me: str, settings: RunnerSettings, metrics: ShardMetrics
    ) -> None:
        """`leases` is the name under which the leases are kept."""
        self.name = name
        self.book = LeaseBook(session, leases, me, settings.clock)
        self.consumers: dict[ShardKey, ConsumerT] = {}
        self.changed = asyncio.Event()
        """Set when a consumer starts or ends, or has something to tell to `caught_up`."""
        self._session = session
        self._settings = settings
        self._metrics = metrics
        self._clock = settings.clock
        self._blockage = Blockage(f"{leases}: finding shards and leases", metrics.blockages, settings.clock)
        self._sightings = Sightings(settings.lease_seconds)
        self._unlisted: dict[ShardKey, float] = {}
        """Since when the shards of these leases are not listed."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._round_now = asyncio.Event()
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @abstractmethod
    async def list_shards(self) -> list[list[StreamShard]]:
        """The shards, by stream; those of an earlier one are handled to their end first."""

    @abstractmethod
    async def start(self) -> None:
        """Begin with a round. Raises what prevents it."""

    @abstractmethod
    async def _consumer(self, lease: HeldLease) -> ConsumerT:
        """What handles the shard of a lease that was taken."""

    async def run(self) -> None:
        """Until `stop`. Raises what a consumer raised that is not an error of the store."""
        while not self._stopping.is_set():
            try:
                await self._next_round(self.round_seconds)
                self._blockage.over()
            except Exception as error:
                if not is_outage(error):
                    raise
                pause = STORE_PACING.pause(self._blockage.tries).seconds
                self._blockage.lasts_by(error)
                await self._clock.wait(self._stopping, pause)
                self._round_now.set()

    def stop(self) -> None:
        self._stopping.set()
        self._round_now.set()
        for consumer in self.consumers.values():
            consumer.stop()

    async def finish(self) -> None:
        """After `stop`: what is under way is finished, saved, and the leases given up."""
        self.stop()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE_SECONDS)
            for task in late:
                _logger.warning("%s: cancelled a batch that did not end within %g s", self.name, GRACE_SECONDS)
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._failed.done():
            self._failed.exception()  # `run` has raised it, or it was cancelled before it could

    async def watch(self, seconds: float) -> None:
        """Wait until `changed`, or for so long: what other processes do can only be looked at again and again. By the
        system's clock, so that a test whose clock stands still can wait until the rest is done."""
        await SystemClock().wait(self.changed, seconds)

    @property
    def round_seconds(self) -> float:
        return self._settings.lease_seconds / 4

    async def _next_round(self, seconds: float) -> None:
        await self._clock.wait(self._round_now, seconds)
        self._round_now.clear()
        if self._failed.done():
            await self._failed
        if not self._stopping.is_set():
            await self._renew()
            await self._round()

    async def _renew(self) -> None:
        """Renew what was not saved lately, and stop the consumers whose leases others want."""
        due = self._clock.monotonic() - self._settings.lease_seconds / 5
        held = [consumer for consumer in self.consumers.values() if consumer.lease.saved_at <= due]
        await asyncio.gather(*(consumer.lease.save() for consumer in held))
        for consumer in list(self.consumers.values()):
            if consumer.lease.wanted_by != NOBODY or consumer.lease.is_over:
                consumer.stop()

    async def _round(self) -> None:
        streams = await self.list_shards()
        leases = await self.book.leases()
        expired = self._sightings.expired(leases, self._clock.monotonic()) - self.consumers.keys()
        ended = {key for key, lease in leases.items() if lease.has_ended}
        startable = [shard.key for shard in may_start(streams, ended)]
        # Followers that start together should not all try the same shards.
        random.shuffle(startable)
        decided = plan(self.book.me, startable, leases, expired)
        # A consumer whose lease was lost may still be finishing its batch.
        await all_done(self._take(key, leases.get(key)) for key in decided.take if key not in self.consumers)
        if decided.ask is not None:
            await self.book.ask(leases[decided.ask])
        # A lease handed over has this follower as its owner already.
        for key in startable:
            lease = leases.get(key)
            if lease is not None and lease.owner == self.book.me and key not in self.consumers:
                await self._take(key, lease)
        await self._forget({shard.key for stream in streams for shard in stream}, leases)

    async def _take(self, key: ShardKey, known: ShardLease | None) -> None:
        lease = await self.book.take(key, known)
        if lease is None:
            return
        if known is not None and known.owner not in (NOBODY, self.book.me):
            self._metrics.takeovers += 1
            _logger.warning("%s: took %s over from %s", self.name, key.shard, known.owner)
        consumer = self.consumers[lease.key] = await self._consumer(lease)
        task = asyncio.create_task(self._consume(consumer), name=f"{self.name} {lease.key.shard}")
        self._tasks.add(task)
        task.add_done_callback(self._on_end)
        self.changed.set()

    async def _consume(self, consumer: ConsumerT) -> None:
        try:
            await consumer.run()
        finally:
            await self._leave(consumer)
            self._metrics.lost += consumer.lease.is_lost
            self.changed.set()
            self._round_now.set()

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)
            self._round_now.set()

    async def _leave(self, consumer: ConsumerT) -> None:
        try:
            await consumer.lease.give_up()
        except Exception as error:
            if not is_outage(error):
                raise
            _logger.warning("%s: a lease stays until it expires: %s", self.name, error)
        finally:
            del self.consumers[consumer.lease.key]

    async def _forget(self, listed: set[ShardKey], leases: dict[ShardKey, ShardLease]) -> None:
        """Delete leases of shards that are gone."""
        now = self._clock.monotonic()
        self._unlisted = {key: self._unlisted.get(key, now) for key in leases if key not in listed}
        gone = [key for key, since in self._unlisted.items() if now - since >= FORGET_SECONDS]
        await self.book.forget(leases[key] for key in gone)


class _Sight(NamedTuple):
    owner: str
    counter: int
    at: float


@dataclass
class Sightings:
    """When this follower first saw each lease as it is."""

    seconds: float
    """The lease time."""
    _seen: dict[ShardKey, _Sight] = field(default_factory=dict)

    def expired(self, leases: Mapping[ShardKey, ShardLease], now: float) -> set[ShardKey]:
        """The leases without a living owner. `now` is monotonic."""
        before, self._seen = self._seen, {}
        for key, lease in leases.items():
            sight = before.get(key)
            if sight is None or (sight.owner, sight.counter) != (lease.owner, lease.counter):
                sight = _Sight(lease.owner, lease.counter, now)
            self._seen[key] = sight
        return {key for key, sight in self._seen.items() if sight.owner == NOBODY or now - sight.at >= self.seconds}


class LeasePlan(NamedTuple):
    take: list[ShardKey]
    ask: ShardKey | None
    """The lease to ask its owner for."""


def plan(
    me: str, shards: Sequence[ShardKey], leases: Mapping[ShardKey, ShardLease], expired: set[ShardKey]
) -> LeasePlan:
    """`shards` are those that may be followed, in the order in which to take them."""
    owned = {key: leases[key] for key in shards if key in leases and key not in expired}
    held = Counter(lease.owner for lease in owned.values())
    mine = held.pop(me, 0)
    followers = len(held) + 1
    free = [key for key in shards if key not in owned]
    take = free[: max(0, -(-len(shards) // followers) - mine)]
    if free or not held:
        return LeasePlan(take, None)
    if any(lease.wanted_by == me for lease in owned.values() if lease.owner != me):
        return LeasePlan(take, None)  # one at a time
    richest, most = max(held.items(), key=lambda each: (each[1], each[0]))
    asked = (key for key, lease in owned.items() if lease.owner == richest and lease.wanted_by == NOBODY)
    return LeasePlan(take, next(asked, None) if most > mine + 1 else None)
