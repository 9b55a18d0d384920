"""Delivers batches of one shard to `on_changes`, until each change is handled or given up: see `OrderedDelivery`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from sortkey.clock import WaitingClock
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.shard_reader import Record
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.shards.dead_letter import DeadLetter, dead_letter
from sortkey.feeds.shards.metrics import ChangeFeedMetrics
from sortkey.feeds.shards.ordered_delivery import OrderedDelivery
from sortkey.feeds.shards.outages import describe
from sortkey.model.calls.change import Change, padded
from sortkey.model.calls.steps import Pacing
from sortkey.model.errors import DecodeError
from sortkey.model.sessions.async_session import AsyncSession

PACING: Final = Pacing(first_pause=0.1, longest_pause=30.0)
"""Between attempts at a batch."""

_logger = logging.getLogger(__name__)


class RecordEntry(NamedTuple):
    """A record, and its change, or the reason why it cannot be read."""

    record: Record
    change: Change[Any] | None
    reason: str = ""


def entry_of(feed: ChangeFeed[Any], record: Record, shard: str, *, low_level: bool) -> RecordEntry | None:
    """None for a record of another class. `low_level` tells that it is one of GetRecords."""
    try:
        change = feed.reader.own_change(record, shard, low_level=low_level)
    except DecodeError as error:
        return RecordEntry(record, None, f"DecodeError: {error}")
    return None if change is None else RecordEntry(record, change)


More = Callable[[], Awaitable[Sequence[RecordEntry]]]


async def nothing_more() -> Sequence[RecordEntry]:
    return ()


class Delivery(OrderedDelivery[RecordEntry]):
    def __init__(
        self,
        feed: ChangeFeed[Any],
        shard: str,
        session: AsyncSession,
        metrics: ChangeFeedMetrics,
        stopping: asyncio.Event,
        clock: WaitingClock,
        sinks: Sequence[Callable[[DeadLetter], Awaitable[None]]] = (),
        pacing: Pacing = PACING,
    ) -> None:
        """Each of `sinks` is called with the dead letters, which are in the table already."""
        blockage = Blockage(f"{feed.name}: {shard}", metrics.blockages, clock)
        super().__init__(feed.rule, feed.max_batch, blockage, stopping, clock, pacing)
        self._feed = feed
        self._shard = shard
        self._session = session
        self._metrics = metrics
        self._sinks = sinks
        self._more: More = nothing_more

    async def deliver(self, entries: Sequence[RecordEntry], more: More = nothing_more) -> bool:
        """True when all are handled or given up; False if it was stopped before. `more` reads those that come next, and
        puts them into `entries`, too."""
        self._more = more
        readable = _readable(entries)
        if readable and not await self.handle(readable):
            return False
        for entry in entries:
            if entry.change is None and not await self._bury(entry, entry.reason):
                return False
        return True

    async def attempt(self, entries: Sequence[RecordEntry]) -> Exception | None:
        began = self._clock.monotonic()
        try:
            await self._feed.on_changes([entry.change for entry in entries if entry.change is not None])
        except Exception as error:  # noqa: BLE001 - the program's own code may raise anything
            self._metrics.retries += 1
            return error
        self._metrics.batch_seconds.count(self._clock.monotonic() - began)
        self._metrics.batches += 1
        self._metrics.handled += len(entries)
        return None

    async def give_up(self, entry: RecordEntry, error: Exception) -> bool:
        return await self._bury(entry, f"{type(error).__name__}: {error}")

    async def more(self) -> Sequence[RecordEntry]:
        return _readable(await self._more())

    def describe(self, entries: Sequence[RecordEntry]) -> str:
        return f"{self._feed.name}: {len(entries)} changes of {self._shard}"

    async def _bury(self, entry: RecordEntry, reason: str) -> bool:
        content = entry.record.get("dynamodb", {})
        sequence = padded(str(content.get("SequenceNumber", "")))
        letter = dead_letter(self._feed.name, self._shard, sequence, entry.record, reason, self._clock.now())
        tries = 0
        while True:
            try:
                await self._session.put(letter)
                for sink in self._sinks:
                    await sink(letter)
            except Exception as error:  # noqa: BLE001 - a sink is the program's own code
                # A change that is neither handled nor among the dead letters would be lost.
                pause = self._pacing.pause(tries).seconds
                tries += 1
                _logger.warning(
                    "%s: cannot write a dead letter; retry in %.1f s: %s", self._feed.name, pause, describe(error)
                )
                if await self._clock.wait(self._stopping, pause):
                    return False
            else:
                self._metrics.dead += 1
                _logger.error("%s: gave up the change %s of %s: %s", self._feed.name, sequence, self._shard, reason)
                return True


def _readable(entries: Sequence[RecordEntry]) -> list[RecordEntry]:
    return [entry for entry in entries if entry.change is not None]
