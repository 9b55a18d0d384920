"""Watches the leases of the followers: who has which shard, how far it is, and how long a takeover takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from time import monotonic
from typing import Final

import sortkey as sk
from sortkey.feeds.shards.leases import NOBODY, ShardLease

LOOK_SECONDS: Final = 0.05
SECONDS: Final = 120.0
"""For something that has to happen; it takes much less."""


class Leases:
    def __init__(self, session: sk.AsyncSession, feeds: list[str]) -> None:
        self.takeovers: list[float] = []
        """From a kill or freeze until others had all shards of that follower, in seconds."""
        self.open: dict[tuple[str, str], ShardLease] = {}
        """By feed and shard."""
        self._session = session
        self.feeds = feeds
        self._checkpoints: dict[tuple[str, str], list[str]] = {}
        self._stopped: dict[int, float] = {}
        self._looked = asyncio.Condition()

    async def watch(self) -> None:
        """Until it is cancelled. The followers are other processes, which tell nothing."""
        while True:
            await self._look()
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        found = [
            lease
            for feed in self.feeds
            async for lease in self._session.iterate(ShardLease.key(feed=feed), consistent=True)
        ]
        self.open = {(each.feed, each.shard): each for each in found if not each.has_ended}
        for key, lease in self.open.items():
            seen = self._checkpoints.setdefault(key, [""])
            if lease.checkpoint not in seen:
                seen.append(lease.checkpoint)
        for pid in [pid for pid in self._stopped if not self.held_by(pid)]:
            self.takeovers.append(monotonic() - self._stopped.pop(pid))
        async with self._looked:
            self._looked.notify_all()

    def held_by(self, pid: int) -> int:
        return sum(f"-{pid}-" in lease.owner for lease in self.open.values())

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS), self._looked:
            await self._looked.wait_for(condition)

    def stopped(self, pid: int) -> None:
        """A follower was killed or frozen."""
        if self.held_by(pid):
            self._stopped[pid] = monotonic()

    def thawed(self, pid: int) -> None:
        """If nobody has taken over until now, it goes on."""
        self._stopped.pop(pid, None)

    async def lower_checkpoint(self, feed: str, draw: Random) -> None:
        """A checkpoint is lost: the shard is taken anew from an earlier one, while its owner is still at work."""
        while True:
            await self.until(lambda: any(self._can_be_lowered(key) for key in self.open if key[0] == feed))
            key = draw.choice([key for key in self.open if key[0] == feed and self._can_be_lowered(key)])
            lease = self.open[key]
            seen = self._checkpoints[key]
            earlier = draw.choice(seen[: seen.index(lease.checkpoint)][-10:])
            try:
                await self._session.update(
                    lease.key,
                    {"owner": NOBODY, "checkpoint": earlier, "wanted_by": NOBODY},
                    where={"owner": lease.owner},
                )
            except sk.ConditionFailed:
                continue
            return

    def _can_be_lowered(self, key: tuple[str, str]) -> bool:
        lease = self.open[key]
        return lease.owner != NOBODY and self._checkpoints[key].index(lease.checkpoint) > 0
