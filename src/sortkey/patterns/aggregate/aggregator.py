"""`Aggregator`: applies the changes of a feed to an aggregate's items, each change exactly once.

Feeds deliver at least once, in order per shard. What must not happen twice is prevented by the items themselves: each
has a mark for every shard, and a write is conditional on it (`target.py`). It holds that

* a mark is the last step of its shard that is in the item, and all steps before it are in the item, too;
* a batch has all steps between those that were applied before it and its own end.

If the condition fails, a part of the batch is in the item: it was delivered twice, or another owner of the shard, with
other batches, was here. The error has the item; the steps up to its mark are dropped and the rest is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.model.items.codec import Row
from sortkey.model.sessions import steps as requests
from sortkey.model.sessions.async_session import AsyncSession, context_of, run_steps
from sortkey.model.sessions.conditional_writes import row_of_failed_condition
from sortkey.model.sessions.steps import Context
from sortkey.model.streams.change import Change
from sortkey.patterns.aggregate.fold import Step, after_mark, fold
from sortkey.patterns.aggregate.marks import mark_attribute
from sortkey.patterns.aggregate.shares import Group, Source
from sortkey.patterns.aggregate.target import Target

PARALLEL: Final = 32
"""Writes that are under way at the same time."""

_NO_SHARD: Final = (
    "an aggregate needs the shard of each change, and these have none. Lambda gives it to functions with a tumbling "
    "window alone: set TumblingWindowInSeconds of the event source mapping; with sk.read_record, give shard="
)


class Aggregator:
    """An aggregate in one store; `on_changes` is for a change feed. `Aggregate.aggregator` makes it."""

    def __init__(self, source: Source, target: Target, session: AsyncSession, parallel: int) -> None:
        if parallel < 1:
            raise ValueError(f"parallel is the number of writes at the same time, at least 1, not {parallel}")
        self._source = source
        self._target = target
        self._session = session
        self._parallel = parallel

    async def on_changes(self, changes: Sequence[Change[Any]]) -> None:
        """Apply a batch of changes, in the order of their shard; those that are applied already are left out. Errors of
        the store are raised: the batch may then be partly applied, and is to be delivered again."""
        for shard, batch in groupby(changes, attrgetter("shard")):
            if not shard:
                raise ValueError(_NO_SHARD)
            await self._apply(shard, list(batch))

    async def _apply(self, shard: str, changes: Sequence[Change[Any]]) -> None:
        steps = fold(self._source, changes, context_of(self._session).moment)
        mark = mark_attribute(self._target.prefix, shard)
        pending = iter(steps.items())
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(self._parallel, len(steps))):
                    tasks.create_task(self._write_each(mark, pending))
        except BaseExceptionGroup as errors:
            # The other tasks were cancelled because of the first.
            raise errors.exceptions[0] from None

    async def _write_each(self, mark: str, pending: Iterator[tuple[Group, list[Step]]]) -> None:
        context = context_of(self._session)
        for group, steps in pending:
            await run_steps(self._session, _write(context, self._target, group, mark, steps))


def _write(context: Context, target: Target, group: Group, mark: str, steps: list[Step]) -> requests.Steps[None]:
    """Applies the steps of one group that its item does not have yet."""
    while steps:
        request = target.update(group, mark, steps, context.moment)
        try:
            yield from context.send("UpdateItem", request, f"aggregate {target.schema.name}")
        except ClientError as error:
            row = row_of_failed_condition(error)
        else:
            return
        if row is None:
            row = yield from _read(context, target, request["Key"])
        steps = after_mark(steps, _mark(row, mark))


def _read(context: Context, target: Target, key: Row) -> requests.Steps[Row]:
    """The item's row, for a store whose error does not have it."""
    members = {"TableName": target.schema.table, "Key": key, "ConsistentRead": True}
    answer = yield from context.send("GetItem", members, f"aggregate {target.schema.name}")
    row: Row = answer.get("Item", {})
    return row


def _mark(row: Row, attribute: str) -> str | None:
    value = row.get(attribute)
    return None if value is None else value["S"]
