"""Delivers entries in their order, until each is handled or given up, and tells an outage from a poisoned entry.

A batch is tried whole. What is done when it raises depends on the error (`outages.py`):

* An outage: it is tried again, with growing pauses, for as long as the outage lasts.
* Poison: it is divided in halves, and so on, until the entry that raises is found. That one is given up.
* Any other error: it is tried `attempts` times, then divided. The single entry that raises is tried `attempts` times,
  too, and is then a *suspect*. The next entry decides about it:

  - If the next entry is handled, the suspect has failed alone, and is given up.
  - If the next entry becomes a suspect, too, and so on, until there are `in_a_row` of them, it is an outage. All are
    tried again, from the first on, with growing pauses.
  - If there is no next entry, the suspect is given up, unless `in_a_row` entries would have failed by then with nothing
    handled in between; then it is an outage, too.

So an entry is given up only after `attempts` tries of its own. No entry is handled before an earlier one, unless that
one is given up: who counts by positions relies on it. And an outage that ends leaves no poisoned entry in the way,
because each round of tries goes on to the next entries.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from sortkey.clock import WaitingClock
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.shards.outages import FailureRule, Verdict, is_outage
from sortkey.model.calls.steps import Pacing

EntryT = TypeVar("EntryT")

_logger = logging.getLogger(__name__)


@dataclass
class _Part(Generic[EntryT]):
    """Entries that are tried together."""

    entries: Sequence[EntryT]
    limit: int
    """How often they may raise before they are divided, or suspected."""
    failures: int = 0


class _Suspect(NamedTuple, Generic[EntryT]):
    entry: EntryT
    error: Exception


class OrderedDelivery(ABC, Generic[EntryT]):
    def __init__(
        self,
        rule: FailureRule,
        most: int,
        blockage: Blockage,
        stopping: asyncio.Event,
        clock: WaitingClock,
        pacing: Pacing,
    ) -> None:
        """`most` entries are tried together. `stopping` ends pauses."""
        self._rule = rule
        self._most = most
        self._blockage = blockage
        self._stopping = stopping
        self._clock = clock
        self._pacing = pacing
        self._given_up = 0
        """Entries that were suspected and given up since the last one that was handled."""
        self._parts: deque[_Part[EntryT]] = deque()
        self._suspects: list[_Suspect[EntryT]] = []

    @abstractmethod
    async def attempt(self, entries: Sequence[EntryT]) -> Exception | None:
        """Try to handle the entries; what was raised."""

    @abstractmethod
    async def give_up(self, entry: EntryT, error: Exception) -> bool:
        """Put an entry among the dead letters. False if it was stopped before."""

    @abstractmethod
    async def more(self) -> Sequence[EntryT]:
        """Those that come next, a few; none if there are none yet."""

    @abstractmethod
    def describe(self, entries: Sequence[EntryT]) -> str:
        """For the log."""

    async def handle(self, entries: Sequence[EntryT]) -> bool:
        """True when all are handled or given up; False if it was stopped before."""
        self._parts, self._suspects = deque([self._whole(entries)]), []
        try:
            while self._parts or self._suspects:
                if not (await self._turn() if self._parts else await self._look_further()):
                    return False
            self._blockage.over()
        finally:
            self._blockage.forget()
        return True

    async def _turn(self) -> bool:
        """Try the first part. False if it was stopped."""
        part = self._parts[0]
        if self._suspects and len(part.entries) > 1:
            self._divide(1)
            part = self._parts[0]
        error = await self.attempt(part.entries)
        if error is None:
            return await self._succeeded()
        verdict = self._rule.verdict(error)
        attempts = self._rule.attempts
        if verdict is Verdict.OUTAGE or (verdict is Verdict.UNKNOWN and attempts is None):
            return await self._hold(error, trace=verdict is not Verdict.OUTAGE)
        part.failures += 1
        if verdict is Verdict.UNKNOWN and part.failures < part.limit:
            return await self._pause_before_retry(part, error)
        if len(part.entries) > 1:
            self._divide(len(part.entries) // 2)
            return True
        self._parts.popleft()
        if verdict is Verdict.POISON:
            return await self.give_up(part.entries[0], error)
        self._suspects.append(_Suspect(part.entries[0], error))
        if len(self._suspects) >= self._rule.in_a_row:
            return await self._hold(error, trace=True)
        return True

    async def _succeeded(self) -> bool:
        self._parts.popleft()
        if not await self._give_suspects_up():
            return False
        self._given_up = 0
        if self._blockage.lasts:
            self._blockage.over()
            rest = [entry for part in self._parts for entry in part.entries]
            self._parts = deque(self._whole(rest[at : at + self._most]) for at in range(0, len(rest), self._most))
        return True

    async def _look_further(self) -> bool:
        """What comes after the suspects decides about them."""
        try:
            following = await self.more()
        except Exception as error:
            if not is_outage(error):
                raise
            return await self._hold(error, trace=False)
        if following:
            self._parts.append(self._whole(following))
            return True
        if self._given_up + len(self._suspects) >= self._rule.in_a_row:
            return await self._hold(self._suspects[-1].error, trace=True)
        number = len(self._suspects)
        if not await self._give_suspects_up():
            return False
        self._given_up += number
        return True

    async def _give_suspects_up(self) -> bool:
        for entry, error in self._suspects:
            if not await self.give_up(entry, error):
                return False
        self._suspects = []
        return True

    async def _hold(self, error: Exception, *, trace: bool) -> bool:
        """Wait, and begin with the first entry again. False if it was stopped."""
        for suspect in reversed(self._suspects):
            # It has had its attempts: one more, in each round.
            self._parts.appendleft(_Part([suspect.entry], limit=1))
        self._suspects = []
        pause = self._pacing.pause(self._blockage.tries).seconds
        self._blockage.lasts_by(error, trace=trace)
        return not await self._clock.wait(self._stopping, pause)

    async def _pause_before_retry(self, part: _Part[EntryT], error: Exception) -> bool:
        pause = self._pacing.pause(part.failures - 1).seconds
        _logger.warning(
            "%s raised, attempt %d; retry in %.1f s",
            self.describe(part.entries),
            part.failures,
            pause,
            exc_info=error,
        )
        return not await self._clock.wait(self._stopping, pause)

    def _divide(self, at: int) -> None:
        entries = self._parts.popleft().entries
        for part in (entries[at:], entries[:at]):
            self._parts.appendleft(_Part(part, self._attempts if len(part) == 1 else 1))

    def _whole(self, entries: Sequence[EntryT]) -> _Part[EntryT]:
        return _Part(entries, self._attempts)

    @property
    def _attempts(self) -> int:
        return self._rule.attempts or 1
