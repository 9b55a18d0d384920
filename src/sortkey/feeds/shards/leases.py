"""Which shards there are, who has which, and how far each is handled.

A shard of a stream may be followed when its parent was followed to its end, or is no longer in the stream; so the
changes of one item come in order across splits. A table whose stream was disabled and enabled again has two streams for
a day: the older one is followed to its end first.

A lease is one item per feed and shard, in the table `sortkey-feeds`. Its owner renews it by incrementing `counter`.
Another follower takes it over when it has seen the counter unchanged for the lease time, by its own monotonic clock: no
two clocks are compared. Every write of an owner is conditional on the owner, so a follower that was frozen finds out at
its next write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.interface import AsyncClient
from sortkey.clock import WaitingClock
from sortkey.model.calls.change import SEQUENCE_DIGITS, padded
from sortkey.model.calls.steps import code_of
from sortkey.model.changes.typed_field import F
from sortkey.model.errors import ConditionFailed
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession

FEEDS: Final = Table("sortkey-feeds")
SHARD_END: Final = "SHARD_END"
NOBODY: Final = ""
_LAST: Final = "9" * SEQUENCE_DIGITS


class ShardKey(NamedTuple):
    stream: str
    """The stream's ARN."""
    shard: str


class StreamShard(NamedTuple):
    key: ShardKey
    parent: str | None
    is_closed: bool


async def list_shards(client: AsyncClient, table: str) -> list[list[StreamShard]]:
    """The shards of each stream of the table, the oldest stream first."""
    labels = {each["StreamArn"]: each["StreamLabel"] for each in await _streams(client, table)}
    return [await _shards(client, arn) for arn in sorted(labels, key=lambda arn: labels[arn])]


def may_start(streams: Sequence[Sequence[StreamShard]], ended: Collection[ShardKey]) -> list[StreamShard]:
    """The shards that can be followed now: without those that have ended."""
    for shards in streams:
        unfinished = [shard for shard in shards if shard.key not in ended]
        if unfinished:
            open_parents = {shard.key.shard for shard in unfinished}
            return [shard for shard in unfinished if shard.parent not in open_parents]
    return []


class FeedStart(Item, table=FEEDS):
    """When a feed was started for the first time."""

    feed: str
    since: datetime | None = None
    """Changes before it are not delivered; None delivers all."""

    key = Key("FEED#{feed}", "START")


class ShardLease(Item, table=FEEDS):
    feed: str
    stream: str
    """The stream's ARN."""
    shard: str
    owner: str = NOBODY
    counter: int = 0
    """Grows with every renewal and checkpoint."""
    checkpoint: str = ""
    """The sequence number of the last change that was handled; empty before the first one, SHARD_END after the last."""
    from_latest: bool = False
    """Whether it starts with changes to come, as long as nobody has begun."""
    begun_from_latest: bool = False
    """Whether somebody has begun so. If there is no checkpoint, what came before the feed's start is still in it."""
    wanted_by: str = NOBODY
    """The follower that asks the owner to hand it over."""

    key = Key("FEED#{feed}", "SHARD#{stream}#{shard}")

    @property
    def has_ended(self) -> bool:
        return self.checkpoint == SHARD_END


class LeaseBook:
    """The leases of a feed, for the follower `me`."""

    def __init__(self, session: AsyncSession, feed: str, me: str, clock: WaitingClock) -> None:
        self.me = me
        self._session = session
        self._feed = feed
        self._clock = clock

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
        leases = [self._new(key, NOBODY) for key in shards]
        for lease in leases:
            lease.from_latest = from_latest
            lease.checkpoint = SHARD_END if ended else ""
        await all_done(self._session.put(lease, if_absent=True) for lease in leases)

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
        return HeldLease(self._session, lease, self._clock)

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

    def __init__(self, session: AsyncSession, lease: ShardLease, clock: WaitingClock) -> None:
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
        self.saved_at = clock.monotonic()
        """When the last write began, by the monotonic clock."""
        self._session = session
        self._clock = clock
        self._saved = lease.checkpoint
        self._writing = asyncio.Lock()
        self.on_saved: Callable[[str, str], None] | None = None
        """Is called with the shard's id and the sequence number up to which it is now known to be handled."""

    @property
    def is_unsaved(self) -> bool:
        return self.handled != self._saved

    async def save(self, **changes: str | bool) -> bool:
        """Renew the lease and save how far the shard was handled. False if another follower has the lease."""
        async with self._writing:
            if self.is_over:
                return False
            began, handled = self._clock.monotonic(), self.handled
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
            if self.on_saved is not None:
                self.on_saved(self.key.shard, handled)
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


async def all_done(works: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Do them at the same time. Raises the first error when all have ended."""
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


async def handled_by(session: AsyncSession, feed: str) -> dict[str, str]:
    """How far a feed has handled each shard: the sequence number of the last change that is known to be handled; the
    greatest possible one for a shard that was handled to its end. Followers save it about once a second."""
    handled: dict[str, str] = {}
    try:
        async for lease in session.iterate(ShardLease.key(feed=feed), consistent=True):
            if lease.has_ended:
                handled[lease.shard] = _LAST
            elif lease.checkpoint:
                handled[lease.shard] = padded(lease.checkpoint)
    except ClientError as error:
        # Nobody has followed a feed in this store yet.
        if code_of(error) != "ResourceNotFoundException":
            raise
    return handled


async def _streams(client: AsyncClient, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start: dict[str, str] = {}
    while True:
        answer = await client.list_streams(TableName=table, **start)
        found += answer["Streams"]
        if "LastEvaluatedStreamArn" not in answer:
            return found
        start = {"ExclusiveStartStreamArn": answer["LastEvaluatedStreamArn"]}


async def _shards(client: AsyncClient, arn: str) -> list[StreamShard]:
    found: list[StreamShard] = []
    start: dict[str, str] = {}
    while True:
        answer = await client.describe_stream(StreamArn=arn, **start)
        description = answer["StreamDescription"]
        found += [_shard(arn, each) for each in description["Shards"]]
        if "LastEvaluatedShardId" not in description:
            return found
        start = {"ExclusiveStartShardId": description["LastEvaluatedShardId"]}


def _shard(arn: str, shape: dict[str, Any]) -> StreamShard:
    is_closed = "EndingSequenceNumber" in shape["SequenceNumberRange"]
    return StreamShard(ShardKey(arn, shape["ShardId"]), shape.get("ParentShardId"), is_closed)
