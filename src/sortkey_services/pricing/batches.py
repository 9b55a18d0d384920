"""Batches: whether a request of many changes was accepted, decided by one write.

A batch is opened before its first entry is written, and committed after its last. Entries of an open batch count for
nothing. A batch that is open for five minutes is abandoned: its process has died, and anybody may abort it. Committed
and aborted are final, so a process asks once for each batch.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import count
from typing import Final

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.pricing.model import Batch
from sortkey_services.pricing.prices import SECOND, micros_at
from sortkey_services.pricing.timeline import GRACE, NEVER

ABANDONED: Final = 300 * SECOND
REMEMBERED: Final = 100_000
LONGEST_WAIT: Final = 5.0
"""In seconds, between two looks at a batch that is open."""

_logger = logging.getLogger(__name__)


class SeenBatches:
    """The batches that one read has met. One that was open when the read met it first stays uncounted, so that all
    parts of the read agree."""

    def __init__(self, batches: Batches, began: int) -> None:
        self._batches = batches
        self._open: set[str] = set()
        self.began = began

    async def commits(self, batches: Collection[str]) -> dict[str, int]:
        if not batches:
            return {}
        found = await self._batches.commits([batch for batch in batches if batch not in self._open])
        self._open.update(batch for batch in batches if batch not in found)
        return found


class Batches:
    def __init__(
        self,
        session: sk.AsyncSession,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._session = session
        self._clock = clock
        self._sleep = sleep
        self._decided: dict[str, int] = {}

    def begin_read(self) -> SeenBatches:
        return SeenBatches(self, micros_at(self._clock.now()))

    async def open(self, batch: str, changes: int) -> None:
        await self._session.put(Batch(batch=batch, status="OPEN", opened=micros_at(self._clock.now()), changes=changes))

    async def commit(self, batch: str, committed: int, note: sk.services.OperationNote | None = None) -> None:
        """At an instant to come, and returns when it has come. So a read that began at or after the instant finds the
        commit, unless the write takes longer than that. The note is put first, and so is no more than a claim: it holds
        if this commits. Raises Conflict if the batch was aborted meanwhile, or another note is there."""
        if note is not None and not await self._session.put(note, if_absent=True):
            raise sk.services.Conflict("the same operation was done, or is being done, by another attempt", "repeated")
        changes: sk.Changes = {"status": "COMMITTED", "committed": committed}
        try:
            await self._session.update(Batch.key(batch=batch), changes, where={"status": "OPEN"})
        except sk.ConditionFailed:
            raise sk.services.Conflict(
                f"none of the changes was accepted: they took more than {ABANDONED // SECOND} s to write; send fewer",
                "abandoned",
            ) from None
        self._remember(batch, committed)
        await self.wait_until(committed)

    async def wait_until(self, instant: int) -> None:
        # A sleep may end a little early, by another clock.
        while (left := instant - micros_at(self._clock.now())) > 0:
            await self._sleep(left / SECOND)

    async def abort(self, batch: str) -> int:
        """Unless it is decided already. The instant of its commit, or NEVER."""
        try:
            await self._session.update(Batch.key(batch=batch), {"status": "ABORTED"}, where={"status": "OPEN"})
        except sk.ItemMissing:
            return self._remember(batch, NEVER)
        except sk.ConditionFailed as error:
            return self._remember(batch, _commit_of(error.item))
        return self._remember(batch, NEVER)

    async def commits(self, batches: Collection[str]) -> dict[str, int]:
        """Those that are decided."""
        unknown = {batch for batch in batches if batch not in self._decided}
        if unknown:
            for batch, stored in (await self._stored(list(unknown))).items():
                # A batch without a row was never opened, or somebody has deleted its row: it counts for nothing.
                if stored is None or stored.status != "OPEN":
                    self._remember(batch, _commit_of(stored))
        return {batch: self._decided[batch] for batch in batches if batch in self._decided}

    async def decisions(self, batches: Collection[str]) -> dict[str, int]:
        """Of all of them: waits for those that are open, and aborts those that are abandoned. Those that are committed
        were committed so long ago that no read is under way that began before."""
        for attempt in count():
            commits = await self.commits(batches)
            waiting = [batch for batch in batches if batch not in commits]
            if not waiting:
                break
            for batch, stored in (await self._stored(waiting)).items():
                if stored is None or stored.opened + ABANDONED <= micros_at(self._clock.now()):
                    await self.abort(batch)
            if any(batch not in self._decided for batch in waiting):
                await self._sleep(min(LONGEST_WAIT, 0.05 * 2**attempt))
        latest = max((committed for committed in commits.values() if committed != NEVER), default=0)
        left = latest + GRACE - micros_at(self._clock.now())
        if left > 0:
            await self._sleep(min(left / SECOND, LONGEST_WAIT))
        return commits

    async def _stored(self, batches: Sequence[str]) -> dict[str, Batch | None]:
        """Without those whose rows another program has made unreadable: they count for nothing, as open ones."""
        try:
            found = await self._session.get_many([Batch.key(batch=batch) for batch in batches], consistent=True)
            return dict(zip(batches, found, strict=True))
        except sk.DecodeError:
            return {batch: stored for batch in batches for stored in await self._readable(batch)}

    async def _readable(self, batch: str) -> tuple[Batch | None, ...]:
        try:
            return (await self._session.get(Batch.key(batch=batch), consistent=True),)
        except sk.DecodeError as error:
            _logger.warning("a batch of price changes is not counted: %s", error)
            return ()

    def _remember(self, batch: str, committed: int) -> int:
        if len(self._decided) >= REMEMBERED:
            self._decided.pop(next(iter(self._decided)))
        self._decided[batch] = committed
        return committed


def _commit_of(batch: Batch | None) -> int:
    if batch is None or batch.status != "COMMITTED" or batch.committed is None:
        return NEVER
    return batch.committed
