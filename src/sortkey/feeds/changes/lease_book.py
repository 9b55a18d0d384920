"""Takes, renews and gives up leases of one feed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime

from sortkey.feeds.changes.lease import NOBODY, SHARD_END, FeedStart, ShardLease
from sortkey.feeds.changes.stream_shards import ShardKey
from sortkey.model.changes.typed_field import F
from sortkey.model.errors import ConditionFailed
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.sessions.async_session import AsyncSession


class LeaseBook:
    """The leases of a feed, for the follower `me`."""

    def __init__(self, session: AsyncSession, feed: str, me: str, now: Callable[[], float]) -> None:
        self.me = me
        self._session = session
        self._feed = feed
        self._now = now

    async def started(self, since: datetime | None) -> tuple[FeedStart, bool]:
        """The feed's start, and whether it is this one."""
        start = FeedStart(feed=self._feed, since=since)
        if await self._session.put(start, if_absent=True):
            return start, True
        return await self._session.get(start.key, consistent=True) or start, False

    async def leases(self) -> dict[ShardKey, ShardLease]:
        path: AccessPath[ShardLease] = ShardLease.key(feed=self._feed)
        return {
            ShardKey(lease.stream, lease.shard): lease async for lease in self._session.iterate(path, consistent=True)
        }

    async def create(self, shards: Iterable[ShardKey], *, from_latest: bool = False, ended: bool = False) -> None:
        """Leases that nobody has."""
        for key in shards:
            lease = self._new(key, NOBODY)
            lease.from_latest = from_latest
            lease.checkpoint = SHARD_END if ended else ""
            await self._session.put(lease, if_absent=True)

    async def take(self, key: ShardKey, known: ShardLease | None) -> HeldLease | None:
        """The lease, or None if another follower was quicker. `known` is the lease as it was seen."""
        if known is None:
            lease = self._new(key, self.me)
            if not await self._session.put(lease, if_absent=True):
                return None
        else:
            try:
                lease = await self._session.update(
                    known.key,
                    [F(ShardLease.counter).add(1), {"owner": self.me, "wanted_by": NOBODY}],
                    where={"owner": known.owner, "counter": known.counter, "checkpoint": known.checkpoint},
                )
            except ConditionFailed:
                return None
        return HeldLease(self._session, lease, self._now)

    async def ask(self, lease: ShardLease) -> None:
        """Ask the owner to hand the lease over. It answers by doing so."""
        try:
            await self._session.update(
                lease.key, {"wanted_by": self.me}, where={"owner": lease.owner, "wanted_by": NOBODY}
            )
        except ConditionFailed:
            pass  # it has another owner, or another asked first: the next round sees it

    async def forget(self, leases: Iterable[ShardLease]) -> None:
        """Delete leases of shards that are no longer in any stream."""
        for lease in leases:
            await self._session.delete(lease.key)

    def _new(self, key: ShardKey, owner: str) -> ShardLease:
        return ShardLease(feed=self._feed, stream=key.stream, shard=key.shard, owner=owner)


class HeldLease:
    """A lease that this follower has, until it is lost or given up."""

    def __init__(self, session: AsyncSession, lease: ShardLease, now: Callable[[], float]) -> None:
        self.key = ShardKey(lease.stream, lease.shard)
        self.start = lease
        """The lease as it was taken."""
        self.handled = lease.checkpoint
        """The sequence number up to which everything was handled; the next write saves it."""
        self.wanted_by = NOBODY
        self.is_lost = False
        """Whether another follower has taken it."""
        self.is_over = False
        """Whether this follower no longer has it: lost, given up, or at the shard's end."""
        self.saved_at = now()
        """When the last write began, by the monotonic clock."""
        self._session = session
        self._now = now
        self._saved = lease.checkpoint
        self._writing = asyncio.Lock()

    @property
    def is_unsaved(self) -> bool:
        return self.handled != self._saved

    async def save(self, **changes: str | bool) -> bool:
        """Renew the lease and save how far the shard was handled. False if another follower has the lease."""
        async with self._writing:
            if self.is_over:
                return False
            began, handled = self._now(), self.handled
            try:
                lease = await self._session.update(
                    self.start.key,
                    [F(ShardLease.counter).add(1), {"checkpoint": handled, **changes}],
                    where={"owner": self.start.owner},
                )
            except ConditionFailed:
                self.is_lost = self.is_over = True
                return False
            self.saved_at, self._saved, self.wanted_by = began, handled, lease.wanted_by
            return True

    async def finish(self) -> None:
        """The shard was handled to its end."""
        self.handled = SHARD_END
        await self.save(owner=NOBODY, wanted_by=NOBODY)
        self.is_over = True

    async def give_up(self) -> None:
        """Let another follower take it at once: the one that has asked for it, if any."""
        await self.save(owner=self.wanted_by, wanted_by=NOBODY)
        self.is_over = True
