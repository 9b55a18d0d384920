"""Delivers batches of one shard to `on_changes`, until each change is handled or given up.

A batch that raised `attempts` times is divided in halves, each tried once, and so on, until the single change that
raises is found. That one is tried `attempts` times more; then it goes to the dead letters, and the feed continues.
Errors of the store and the network do not count: the batch is tried until they pass.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from sortkey.clock import WaitingClock
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.shard_reader import Record
from sortkey.feeds.shards.dead_letter import DeadLetter, dead_letter
from sortkey.feeds.shards.metrics import ChangeFeedMetrics
from sortkey.feeds.shards.passing_errors import is_passing
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


class Delivery:
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
        self._feed = feed
        self._shard = shard
        self._session = session
        self._metrics = metrics
        self._stopping = stopping
        self._clock = clock
        self._sinks = sinks
        self._pacing = pacing

    async def deliver(self, entries: Sequence[RecordEntry]) -> bool:
        """True when all are handled or given up; False if it was stopped before."""
        readable = [entry for entry in entries if entry.change is not None]
        if readable and not await self._handle(readable, self._feed.attempts):
            return False
        for entry in entries:
            if entry.change is None and not await self._give_up(entry, entry.reason):
                return False
        return True

    async def _handle(self, entries: Sequence[RecordEntry], attempts: int | None) -> bool:
        tries = failures = 0
        while True:
            error = await self._try(entries)
            if error is None:
                return True
            if not is_passing(error):
                failures += 1
                if attempts is not None and failures >= attempts:
                    break
            pause = self._pacing.pause(tries).seconds
            tries += 1
            _logger.warning(
                "%s: attempt %d at %d changes of %s raised; retry in %.1f s",
                self._feed.name,
                tries,
                len(entries),
                self._shard,
                pause,
                exc_info=error,
            )
            if await self._clock.wait(self._stopping, pause):
                return False
        if len(entries) == 1:
            return await self._give_up(entries[0], f"{type(error).__name__}: {error}")
        half = len(entries) // 2
        for part in (entries[:half], entries[half:]):
            if not await self._handle(part, self._feed.attempts if len(part) == 1 else 1):
                return False
        return True

    async def _try(self, entries: Sequence[RecordEntry]) -> Exception | None:
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

    async def _give_up(self, entry: RecordEntry, reason: str) -> bool:
        content = entry.record.get("dynamodb", {})
        sequence = padded(str(content.get("SequenceNumber", "")))
        letter = dead_letter(self._feed.name, self._shard, sequence, entry.record, reason, self._clock.now())
        tries = 0
        while True:
            try:
                await self._session.put(letter)
                for sink in self._sinks:
                    await sink(letter)
            except Exception:
                # A change that is neither handled nor among the dead letters would be lost.
                pause = self._pacing.pause(tries).seconds
                tries += 1
                _logger.warning(
                    "%s: cannot write a dead letter; retry in %.1f s", self._feed.name, pause, exc_info=True
                )
                if await self._clock.wait(self._stopping, pause):
                    return False
            else:
                self._metrics.dead += 1
                _logger.error("%s: gave up the change %s of %s: %s", self._feed.name, sequence, self._shard, reason)
                return True
