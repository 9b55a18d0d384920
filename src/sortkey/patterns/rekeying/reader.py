"""`RekeyReader`: which design a program reads and writes now, and shadow reads, which compare both.

The reader remembers the flag for half a second, and asks for it again before it answers. So what it says was true at
most a second before, and every process has switched a second after the flag was.

A shadow read runs in the background when the real read was answered: it asks the other design, and compares. The new
rows follow the old ones, so an answer may differ because a change came in between. It counts as `different` only if
both designs, asked again some times within seconds, differ each time; otherwise it was `late`. A shadow read that fails
is counted, and one too many at a time is left out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from logging import getLogger
from typing import Any, ClassVar, Final, Self, TypeVar, get_args

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.http.metrics import Families, Samples
from sortkey.model.changes.typed_field import F
from sortkey.model.errors import ModelError
from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.rekeying.flag import COPYING, FINISHED, REKEYS, Design, FlagBook, RekeyFlag
from sortkey.patterns.rekeying.handover import WritesUnderWay

R = TypeVar("R")

RENEW: Final = 0.5
"""Seconds after which the flag is asked for again."""
WAITS: Final = 30.0
"""Seconds that a writer waits for the end of a handover."""
LOOK_AGAIN: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each look at an answer that differed."""
AT_ONCE: Final = 4
"""Shadow reads of a process at the same time."""
SAVED: Final = 5.0
"""Seconds between two notes of what shadow reads have found."""
_SHOWN: Final = 400
_READS: Final = "sortkey_rekey_reads_total"
_SHADOWS: Final = "sortkey_rekey_shadow_reads_total"
_OUTCOMES: Final = ("same", "late", "different", "failed", "skipped")
_log: Final = getLogger(__name__)


class HandoverPending(ModelError):
    """Programs wait for the end of a re-keying, which takes too long. Nothing was written."""


class ShadowReads(Item, table=REKEYS):
    """What the shadow reads of all processes have found."""

    rekey: str
    same: int = 0
    late: int = 0
    different: int = 0
    failed: int = 0
    example: str = ""
    """The last answer that differed, or the last error."""
    at: datetime | None = None

    key = Key("SHADOW#{rekey}", "SHADOW")


class RekeyReader:
    """What a process asks which design to use. `Rekey.reader` makes it; a process needs one."""

    families: ClassVar[Families] = {
        _READS: ("counter", "Reads by the design that answered."),
        _SHADOWS: (
            "counter",
            "Reads that were compared with the other design, by outcome: same, late (the same a moment later), "
            "different, failed, or skipped since too many were under way.",
        ),
    }
    """What the samples are, by their names."""

    def __init__(self, session: AsyncSession, rekey: str, shadow: float) -> None:
        self._session = session
        self._book = FlagBook(session, rekey)
        self._rekey = rekey
        self._shadow = shadow
        context = context_of(session)
        self._now = context.pacing.monotonic
        self._chance = context.pacing.chance
        self._flag: RekeyFlag | None = None
        self._asked: float | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._writes = WritesUnderWay(session, rekey, self._known)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsaved: Counter[str] = Counter()
        self._example = ""
        self._saved = self._now()
        self.reads: Counter[Design] = Counter()
        """Reads by design, since the start of the process."""
        self.shadows: Counter[str] = Counter()
        """Shadow reads by what they have found: `same`, `late`, `different`, `failed`, or `skipped`."""

    async def design(self) -> Design:
        """Which design is read now."""
        flag = await self._known()
        return "old" if flag is None else flag.reads

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Design]:
        """Which design to write in this block, which is one write, or a few that belong together. During the handover
        it waits, for some seconds; raises HandoverPending if that takes too long.

            async with reader.writing() as design:
                await (write_old(db, user) if design == "old" else write_new(db, user))
        """
        began = self._now()
        while True:
            flag = await self._known()
            if (flag is None or flag.writes == "old") and not self._writes.is_known:
                # Also before the start. The handover may have begun before the process was known.
                await self._writes.begin()
                flag = await self._renewed()
            design = "old" if flag is None else flag.writes
            if design is not None:
                break
            if self._now() - began > WAITS:
                raise HandoverPending(
                    f"programs wait for the end of re-keying {self._rekey}, whose command was stopped; finish it "
                    f"again, or go back"
                )
            await asyncio.sleep(RENEW / 4)
        # Nothing is awaited since the flag was known, so the process does not say that it waits.
        self._writes.number += design == "old"
        try:
            yield design
        finally:
            self._writes.number -= design == "old"

    async def read(self, old: Callable[[], Awaitable[R]], new: Callable[[], Awaitable[R]]) -> R:
        """The answer of the design that is read now; sometimes the other one is asked, too, in the background. Answers
        are compared by `==`."""
        flag = await self._known()
        design: Design = "old" if flag is None else flag.reads
        self.reads[design] += 1
        answer = await (old if design == "old" else new)()
        is_filled = flag is not None and flag.phase not in (COPYING, FINISHED)
        if is_filled and self._shadow and self._chance() < self._shadow:
            self._begin_shadow(answer, old, new, design)
        return answer

    def samples(self) -> Samples:
        """For `GET /metrics` of a service, together with `families`."""
        label = f'rekey="{self._rekey}"'
        return {
            **{f'{_READS}{{{label},design="{each}"}}': self.reads[each] for each in get_args(Design)},
            **{f'{_SHADOWS}{{{label},outcome="{each}"}}': self.shadows[each] for each in _OUTCOMES},
        }

    async def close(self) -> None:
        """Stop what runs in the background, and wait until it has stopped."""
        await self._writes.close()
        tasks = {*self._tasks, *(() if self._renewal is None else (self._renewal,))}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._unsaved:
            await self._save()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _known(self) -> RekeyFlag | None:
        if self._asked is None or self._now() - self._asked >= RENEW:
            # One read renews for all that are under way.
            if self._renewal is None or self._renewal.done():
                self._renewal = asyncio.create_task(self._renew())
            await asyncio.shield(self._renewal)
        return self._flag

    async def _renewed(self) -> RekeyFlag | None:
        """As it is now."""
        if self._renewal is not None:
            # It may have been sent before, and is not to be kept after a newer one.
            await asyncio.wait({self._renewal})
        self._asked = None
        return await self._known()

    async def _renew(self) -> None:
        asked = self._now()
        self._flag = await self._book.flag()
        self._asked = asked

    def _begin_shadow(
        self, answer: Any, old: Callable[[], Awaitable[Any]], new: Callable[[], Awaitable[Any]], design: Design
    ) -> None:
        if len(self._tasks) >= AT_ONCE:
            self.shadows["skipped"] += 1
            return
        task = asyncio.create_task(self._compare(answer, old, new, design))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _compare(
        self, answer: Any, old: Callable[[], Awaitable[Any]], new: Callable[[], Awaitable[Any]], design: Design
    ) -> None:
        try:
            found = await self._compared(answer, old, new, design)
        except Exception as error:  # noqa: BLE001  the program's own lookup may raise anything, and nobody awaits this
            found, self._example = "failed", f"{type(error).__name__}: {error}"[:_SHOWN]
            _log.warning("a shadow read of re-keying %s failed: %s", self._rekey, self._example)
        self.shadows[found] += 1
        self._unsaved[found] += 1
        if self._now() - self._saved >= SAVED:
            # The counts are kept, for the next time.
            with suppress(ClientError, BotoCoreError, ModelError):
                await self._save()

    async def _compared(
        self, answer: Any, old: Callable[[], Awaitable[Any]], new: Callable[[], Awaitable[Any]], design: Design
    ) -> str:
        if answer == await (new if design == "old" else old)():
            return "same"
        differing = ""
        for pause in LOOK_AGAIN:
            await asyncio.sleep(pause)
            of_old, of_new = await old(), await new()
            if of_old == of_new:
                return "late"
            differing = f"old: {of_old!r}; new: {of_new!r}"[:_SHOWN]
        self._example = differing
        _log.warning("the designs of re-keying %s differ: %s", self._rekey, self._example)
        return "different"

    async def _save(self) -> None:
        counts, self._unsaved = self._unsaved, Counter()
        self._saved = self._now()
        try:
            changes = [
                F(ShadowReads.same).add(counts["same"]),
                F(ShadowReads.late).add(counts["late"]),
                F(ShadowReads.different).add(counts["different"]),
                F(ShadowReads.failed).add(counts["failed"]),
                F(ShadowReads.at).set(self._book.now),
            ]
            if self._example:
                changes.append(F(ShadowReads.example).set(self._example))
            await self._session.upsert(ShadowReads.key(rekey=self._rekey), changes)
        except BaseException:
            self._unsaved += counts
            raise
