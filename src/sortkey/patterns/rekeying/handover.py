"""The handover at the end of a re-keying: nobody may still write an old row when the flag says that the new ones count.

A process that writes has an item, which it puts before its first write, and again every two seconds. When it has seen
the flag of the handover, and no write of it is under way, it says so there, and begins none until the flag has changed.
The end of the re-keying waits until all have said so. A process whose item does not change for some seconds is dead, or
frozen; what it writes when it is thawed is found when the old rows are removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from logging import getLogger
from typing import Final
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.model.errors import ModelError
from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.rekeying.flag import FINISHED, HANDOVER, REKEYS, RekeyFlag

BEAT: Final = 2.0
"""Seconds between two puts of a process's item."""
LOOK: Final = 0.25
"""Seconds between two looks of a process at the flag, and of the end of a re-keying at the items."""
DEAD: Final = 15.0
"""Seconds after which a process whose item has not changed counts as dead."""
_log: Final = getLogger(__name__)

AskFlag = Callable[[], Awaitable[RekeyFlag | None]]


class WritingProcess(Item, table=REKEYS):
    rekey: str
    process: str
    beats: int = 0
    waits_for: int = 0
    """The version of the flag of a handover whose end it waits for."""

    key = Key("PROCESSES#{rekey}", "{process}")


class WritesUnderWay:
    """The writes of old rows in this process, and its item."""

    def __init__(self, session: AsyncSession, rekey: str, ask: AskFlag) -> None:
        """`ask` reads the flag, after which no write begins that the flag forbids."""
        self.number = 0
        self._session = session
        self._ask = ask
        self._now = context_of(session).pacing.monotonic
        self._item = WritingProcess(rekey=rekey, process=uuid4().hex)
        self._put_at = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def is_known(self) -> bool:
        """Whether the end of the re-keying waits for this process."""
        return self._task is not None and not self._task.done()

    async def begin(self) -> None:
        """Put the item, and keep it up to date until the re-keying ends, or `close`."""
        await self._put(0)
        if not self.is_known:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            # What stays counts as the item of a dead process.
            with suppress(ClientError, BotoCoreError, ModelError):
                await self._delete()

    async def _run(self) -> None:
        while True:
            try:
                flag = await self._ask()
                if flag is not None and flag.phase == FINISHED:
                    await self._delete()
                    return
                is_waiting = flag is not None and flag.phase == HANDOVER and not self.number
                waits_for = flag.version if flag is not None and is_waiting else 0
                if waits_for != self._item.waits_for or self._now() - self._put_at >= BEAT:
                    await self._put(waits_for)
            except (ClientError, BotoCoreError, ModelError) as error:
                _log.warning("re-keying %s: the store does not answer: %s", self._item.rekey, error)
            await asyncio.sleep(LOOK)

    async def _put(self, waits_for: int) -> None:
        self._put_at = self._now()
        self._item.beats += 1
        self._item.waits_for = waits_for
        await self._session.put(self._item)

    async def _delete(self) -> None:
        await self._session.delete(WritingProcess.key(rekey=self._item.rekey, process=self._item.process))


async def everybody_waits(session: AsyncSession, flag: RekeyFlag) -> None:
    """Wait until no process writes an old row any more."""
    now = context_of(session).pacing.monotonic
    changed: dict[str, tuple[int, float]] = {}
    while True:
        path = WritingProcess.key(rekey=flag.rekey)
        processes = [each async for each in session.iterate(path, consistent=True)]
        pending = [each for each in processes if each.waits_for != flag.version]
        for each in pending:
            beats, since = changed.get(each.process, (0, 0.0))
            if beats != each.beats:
                changed[each.process] = each.beats, now()
            elif now() - since >= DEAD:
                _log.warning("re-keying %s: a process that wrote the old design is dead or frozen", flag.rekey)
                await session.delete(WritingProcess.key(rekey=flag.rekey, process=each.process))
        if not pending:
            return
        await asyncio.sleep(LOOK)
