"""Removes the items of generations that are neither served, nor kept for a rollback, nor loaded.

A pass scans the table once, for all generations that are due. Rows of a generation that nobody knows are removed, too:
a load that was frozen while its generation was removed may have written them, and died. A load notes its generation
before it writes the first row, so a row of a generation without a note is garbage.

Deletes are idempotent, so passes may be cut short, and several processes may remove at once.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from logging import getLogger
from typing import Any, Final, NamedTuple, Self

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.clock import WaitingClock
from sortkey.model.changes.typed_field import F
from sortkey.model.errors import ConditionFailed, ModelError
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item
from sortkey.model.items.key import BoundKey
from sortkey.patterns.generation.pointer import DISCARDED, LOADING, PUBLISHED, Generation, Pointer, PointerBook

_PART: Final = 400
"""Rows that are deleted at once: 16 batches."""
_log: Final = getLogger(__name__)


class Removed(NamedTuple):
    """What a pass of removal did."""

    generations: tuple[str, ...]
    """The ids of those that it removed."""
    rows: int


class Removal:
    """One class's removal in one store."""

    def __init__(
        self,
        book: PointerBook,
        cls: type[Item],
        key: BoundKey[Any],
        field: str,
        grace: timedelta,
        abandoned: timedelta,
        rate: float | None,
    ) -> None:
        self._book = book
        self._class = cls
        self._key = key
        self._field = field
        self._grace = grace
        self._abandoned = abandoned
        self._rate = rate

    async def run(self) -> Removed:
        """One pass; scans only if a generation is due."""
        due = await self._due()
        if not due:
            return Removed((), 0)
        rows = await self._remove_rows({each.id for each in due})
        for each in due:
            await self._forget(each)
        return Removed(tuple(each.id for each in due), rows)

    async def _due(self) -> list[Generation]:
        """The generations to remove now. Marks those that are no longer needed, for this pass or a later one."""
        # In this order: one that is published in between is in the pointer, or is being loaded here.
        known = await self._book.generations()
        pointed = (await self._book.pointer()).ids
        for each in known:
            if each.id in pointed and each.state == DISCARDED:
                # Its load published it just when it was marked.
                await self._book.session.update(each.key, {"state": PUBLISHED, "retired": None})
        marked = [await self._mark(each) for each in known if each.id not in pointed and not self._is_alive(each)]
        now = self._book.now
        over = [each for each in marked if each is not None and each.retired and each.retired + self._grace <= now]
        if not over:
            return []
        # From here on, a load that read the pointer before the mark cannot publish: see pointer.py.
        pointer = await self._book.session.update(Pointer.key(of=self._book.of), [F(Pointer.version).add(1)])
        return [each for each in over if each.id not in pointer.ids]

    def _is_alive(self, generation: Generation) -> bool:
        return generation.state == LOADING and self._book.now - generation.touched < self._abandoned

    async def _mark(self, generation: Generation) -> Generation | None:
        """The generation, as discarded; None if its load has gone on meanwhile."""
        if generation.state == DISCARDED:
            return generation
        seen = {"state": generation.state, "touched": generation.touched}
        try:
            return await self._book.session.update(
                generation.key, {"state": DISCARDED, "retired": self._book.now}, where=seen
            )
        except ConditionFailed:
            return None

    async def _remove_rows(self, due: set[str]) -> int:
        is_garbage = dict.fromkeys((await self._book.pointer()).ids, False) | dict.fromkeys(due, True)
        part: list[AccessPath[Any]] = []
        rows = 0
        async for row in self._book.session.scan_rows(self._class, rate=self._rate):
            fields = self._key.parse(row)
            if fields is None:
                continue
            generation = fields[self._field]
            if generation not in is_garbage:
                is_garbage[generation] = await self._book.generation(generation) is None
            if is_garbage[generation]:
                part.append(self._key(**fields))
            if len(part) == _PART:
                await self._book.session.batch(delete=part)
                rows += len(part)
                part = []
        await self._book.session.batch(delete=part)
        return rows + len(part)

    async def _forget(self, generation: Generation) -> None:
        # A load that has written since it was discarded says so, and is removed again.
        with suppress(ConditionFailed):
            await self._book.session.delete(generation.key, where={"retired": generation.retired})


class Remover:
    """Removes old generations in the background until it is closed. `Generations.remover` makes it."""

    def __init__(self, removal: Removal, of: str, every: float, clock: WaitingClock) -> None:
        self._removal = removal
        self._of = of
        self._every = every
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the running event loop, unless it has begun."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, also in the middle of a pass, and wait until it has stopped. The next pass goes on."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self) -> None:
        while True:
            try:
                removed = await self._removal.run()
                if removed.generations:
                    _log.info("removed %s rows of %s: %s", removed.rows, self._of, ", ".join(removed.generations))
            except (ClientError, BotoCoreError, ModelError) as error:
                _log.warning("old generations of %s are not removed yet: %s", self._of, error)
            await self._clock.sleep(self._every)
