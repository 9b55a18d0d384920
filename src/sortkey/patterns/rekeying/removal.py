"""Removes the old rows at the end of a re-keying.

A group's old items are removed if they are those that its new rows were derived from, each on the condition that it is
unchanged. Others were written after the handover, by a program that does not ask the re-keying which design to write.
They are in no new row, so they are kept, and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.model.errors import ConditionFailed, ItemMissing
from sortkey.model.items.item import Item, schema_of
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.rekeying.group_writer import GroupNote, GroupWriter, digest_of
from sortkey.patterns.rekeying.plan import Plan, key_of
from sortkey.patterns.rekeying.walk import EXAMPLES, PARALLEL, PART, each_at_once

ShowRows = Callable[[int], None]
_MOST_CONDITIONS: Final = 100
"""Fields that a condition compares."""


class RekeyRemoval(NamedTuple):
    """What the end of a re-keying has removed, or would remove."""

    rows: int
    """Old rows."""
    kept: int
    """Groups whose old items were changed after the handover."""
    examples: tuple[str, ...]
    """Some of those."""

    def __str__(self) -> str:
        found = f"{self.rows:,} old rows"
        if not self.kept:
            return found
        return f"{found}; {self.kept:,} groups were written after the handover and stay: {', '.join(self.examples)}"


class OldRows:
    def __init__(self, session: AsyncSession, plan: Plan, writer: GroupWriter, retired: Sequence[type[Item]]) -> None:
        """`retired` are further classes of the old design, which the new rows are not derived from."""
        self._session = session
        self._plan = plan
        self._writer = writer
        self._retired = retired

    async def count(self) -> RekeyRemoval:
        rows = 0
        for cls in (*self._plan.sources, *self._retired):
            async for _ in self._session.scan(cls, consistent=True):
                rows += 1
        return RekeyRemoval(rows, 0, ())

    async def remove(self, progress: ShowRows | None) -> RekeyRemoval:
        removed, kept = 0, list[str]()

        async def remove(group: str) -> None:
            nonlocal removed
            rows = await self._remove_group(group)
            if rows is None:
                kept.append(group)
            else:
                removed += rows

        groups: dict[str, None] = {}
        for cls in self._plan.sources:
            async for item in self._session.scan(cls, consistent=True):
                groups[self._plan.group_of(item)] = None
                if len(groups) == PART:
                    await each_at_once(remove, groups, PARALLEL)
                    groups = {}
                    if progress is not None:
                        progress(removed)
        await each_at_once(remove, groups, PARALLEL)
        for cls in self._retired:
            if not kept:
                removed += (await self._session.delete_all(cls, scan=True)).items
        if not kept:
            await self._session.delete_all(GroupNote, where={"rekey": self._plan.name}, scan=True)
        return RekeyRemoval(removed, len(kept), tuple(kept[:EXAMPLES]))

    async def _remove_group(self, group: str) -> int | None:
        """The number of rows; None if they were written after the handover."""
        note, items = await self._writer.note(group), await self._writer.old_items(group)
        old = [item for item in items if isinstance(item, self._plan.sources)]
        if not old:
            return 0
        # One that the derived rows know may be gone since: by the table's TTL.
        if not {digest_of(item) for item in old} <= {*note.source}:
            return None
        for item in old:
            if not await self._delete_unchanged(item):
                return None
        return len(old)

    async def _delete_unchanged(self, item: Item) -> bool:
        schema = schema_of(type(item))
        # What is empty cannot be compared; a program that writes an item hardly changes such a field alone.
        fields = {
            name: value
            for name, value in msgspec.structs.asdict(item).items()
            if name not in schema.primary.fields and value not in (None, set(), frozenset())
        }
        seen: dict[str, Any] = dict(islice(fields.items(), _MOST_CONDITIONS))
        try:
            await self._session.delete(key_of(type(item)).of(item), where=seen or None)
        except ItemMissing:
            return True
        except ConditionFailed:
            return False
        return True
