"""The followers of a campaign: processes of `sortkey follow`, which are killed, replaced, frozen and thawed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from tests.faults.exactly_once.leases import Leases
from tests.feeds.changes.follow_process import FollowProcess

FROZEN_LEASES: Final = 2.5
"""How long a follower is frozen, in lease times."""
LATEST_FAULT_SECONDS: Final = 0.3
"""A fault must be able to hit every moment between two checkpoints."""


class Followers:
    def __init__(self, store: str, lease_seconds: float, leases: Leases, draw: Random) -> None:
        self.kills = 0
        self.freezes = 0
        self._lease_seconds = lease_seconds
        self._leases = leases
        self._draw = draw
        self._start: Callable[[], FollowProcess] = lambda: FollowProcess(
            "tests.faults.exactly_once.service", "favourites", store, "--lease", str(lease_seconds)
        )
        self._running: list[FollowProcess] = []
        self._frozen: list[FollowProcess] = []
        self._under_way: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._running.append(await asyncio.to_thread(self._start))

    async def kill_one(self) -> None:
        """Kill one that has leases; another is started in its place, while the fault counts as over."""
        victim = await self._chosen()
        self._running.remove(victim)
        self._leases.stopped(victim.process.pid)
        victim.kill()
        self.kills += 1
        self._under_way.append(asyncio.create_task(self.start()))

    async def freeze_one(self) -> None:
        """Freeze one that has leases; it is thawed when others have had the time to take over."""
        victim = await self._chosen()
        self._running.remove(victim)
        self._frozen.append(victim)
        self._leases.stopped(victim.process.pid)
        victim.freeze()
        self.freezes += 1
        self._under_way.append(asyncio.create_task(self._thaw(victim)))

    async def settled(self) -> None:
        """Wait until all that were frozen are thawed, and all that were killed are replaced."""
        await asyncio.gather(*self._under_way)

    def stop(self) -> None:
        """Ask all to end, and wait."""
        while self._running:
            self._running.pop().stop()

    def kill(self) -> None:
        """What a failed campaign leaves behind."""
        for each in (*self._running, *self._frozen):
            each.kill()

    async def _thaw(self, frozen: FollowProcess) -> None:
        await asyncio.sleep(FROZEN_LEASES * self._lease_seconds)
        self._leases.thawed(frozen.process.pid)
        frozen.thaw()
        self._frozen.remove(frozen)
        self._running.append(frozen)

    async def _chosen(self) -> FollowProcess:
        held = self._leases.held_by
        await self._leases.until(lambda: any(held(each.process.pid) for each in self._running))
        await asyncio.sleep(self._draw.random() * LATEST_FAULT_SECONDS)
        # All may have lost theirs meanwhile.
        return self._draw.choice([each for each in self._running if held(each.process.pid)] or self._running)
