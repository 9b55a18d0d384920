"""Walks over all groups of a re-keying: the backfill before the first switch, and the checks before later steps.

A walk writes every group, by the rule of `group_writer.py`, and marks its note. First it scans the old items, then the
notes that it has not marked: those of groups whose items are all gone. The backfill stores its cursors, so that it goes
on after a kill. What it has read but not written is read again.

A group that a check changes was behind: the feed had not handled it yet, or nobody followed. So the check looks at it
again. If it differs again although its old items are the same, then it does not follow from them alone, or somebody
else writes its new rows; no feed would ever mend that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NamedTuple
from uuid import uuid4

from sortkey.client.stores import EMBEDDED
from sortkey.model.items.item import Item, replace
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.rekeying.flag import COPYING, FOLLOWING, FlagBook, RekeyFlag
from sortkey.patterns.rekeying.group_writer import GroupNote, GroupWriter
from sortkey.patterns.rekeying.plan import Plan

ShowWalk = Callable[[int, int], None]
"""Called with the number of old items that were read, and about how many there are."""

PARALLEL: Final = 16
PARALLEL_EMBEDDED: Final = 64
"""Groups that are written at once; in a store of the process, they share commits."""
PART: Final = 500
"""Groups between two notes of how far the backfill is."""
EXAMPLES: Final = 5
LOOKS: Final = 3
"""At a group that differs, before it counts as different: an input may have changed in between."""


class RekeyCheck(NamedTuple):
    """What a check has found."""

    groups: int
    behind: int
    """Groups whose new rows were not those of the old items, and are now: the feed had not handled them yet."""
    different: int
    """Groups that differ again after they were written."""
    examples: tuple[str, ...]
    """Some of those."""

    def __str__(self) -> str:
        found = f"{self.groups:,} groups compared: {self.behind:,} were behind, {self.different:,} differ"
        return f"{found}, such as {', '.join(self.examples)}" if self.examples else found


class Walker:
    def __init__(self, session: AsyncSession, plan: Plan, writer: GroupWriter) -> None:
        self._session = session
        self._plan = plan
        self._writer = writer
        self._parallel = PARALLEL_EMBEDDED if context_of(session).capabilities is EMBEDDED else PARALLEL

    async def backfill(self, book: FlagBook, rate: float | None, progress: ShowWalk | None) -> RekeyFlag:
        """Writes the groups that the backfill has not written yet, and ends the phase COPYING."""
        flag = await book.required()
        total = await self._estimate()
        walk, done = flag.walk, flag.copied
        for cls in self._plan.read:
            cursor = flag.cursors.get(cls.__name__)
            if cursor == "":
                continue
            scan = self._session.scan(cls, rate=rate, after=cursor, consistent=True)
            part: dict[str, None] = {}
            async for item in scan:
                part[self._plan.group_of(item)] = None
                done += 1
                if len(part) == PART:
                    await self._write(part, walk)
                    part = {}
                    flag = await self._note(book, cls, scan.cursor or "", done)
                    _show(progress, done, total)
            await self._write(part, walk)
            flag = await self._note(book, cls, "", done)
            _show(progress, done, total)
        await self._write_unmarked(walk)
        return await book.change(lambda flag: replace(flag, phase=FOLLOWING) if flag.phase == COPYING else flag)

    async def check(self, rate: float | None, progress: ShowWalk | None) -> RekeyCheck:
        walk, total, done = uuid4().hex, await self._estimate(), 0
        found = _Findings()
        async for groups, done in self._groups(rate):
            await self._check(groups, walk, found)
            _show(progress, done, total)
        async for groups in self._unmarked(walk):
            await self._check(groups, walk, found)
        return RekeyCheck(found.groups, found.behind, len(found.different), tuple(found.different[:EXAMPLES]))

    async def _groups(self, rate: float | None) -> AsyncIterator[tuple[dict[str, None], int]]:
        done = 0
        for cls in self._plan.read:
            part: dict[str, None] = {}
            async for item in self._session.scan(cls, rate=rate, consistent=True):
                part[self._plan.group_of(item)] = None
                done += 1
                if len(part) == PART:
                    yield part, done
                    part = {}
            yield part, done

    async def _unmarked(self, walk: str) -> AsyncIterator[dict[str, None]]:
        part: dict[str, None] = {}
        async for note in self._session.scan(GroupNote, where={"rekey": self._plan.name}, consistent=True):
            if note.walk != walk:
                part[note.group] = None
            if len(part) == PART:
                yield part
                part = {}
        yield part

    async def _write_unmarked(self, walk: str) -> None:
        async for groups in self._unmarked(walk):
            await self._write(groups, walk)

    async def _write(self, groups: dict[str, None], walk: str) -> None:
        async def write(group: str) -> None:
            await self._writer.write(group, walk)

        await each_at_once(write, groups, self._parallel)

    async def _check(self, groups: dict[str, None], walk: str, found: _Findings) -> None:
        async def check(group: str) -> None:
            found.groups += 1
            before = await self._writer.write(group, walk)
            if not before.differed:
                return
            for _ in range(LOOKS):
                again = await self._writer.write(group, walk)
                if not again.differed or again.note.source != before.note.source:
                    found.behind += 1
                    return
            found.different.append(group)

        await each_at_once(check, groups, self._parallel)

    async def _note(self, book: FlagBook, cls: type[Item], cursor: str, done: int) -> RekeyFlag:
        return await book.change(
            lambda flag: replace(flag, cursors={**flag.cursors, cls.__name__: cursor}, copied=done)
        )

    async def _estimate(self) -> int:
        return sum([(await self._session.explain_scan(cls)).rows for cls in self._plan.read])


class _Findings:
    def __init__(self) -> None:
        self.groups = 0
        self.behind = 0
        self.different: list[str] = []


async def each_at_once(do: Callable[[str], Any], groups: dict[str, None], parallel: int) -> None:
    """Calls an async function with each of the groups, some at the same time. Raises its first error."""
    pending = iter(groups)

    async def work() -> None:
        for group in pending:
            await do(group)

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(parallel, len(groups))):
                tasks.create_task(work())
    except BaseExceptionGroup as errors:
        # The others were cancelled because of the first.
        raise errors.exceptions[0] from None


def _show(progress: ShowWalk | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, max(done, total))
