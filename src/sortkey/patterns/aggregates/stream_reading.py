"""Reads everything that a table's streams have, for a recount: from the horizon to the tip, and later on from there.

The tip of a shard is where it has no more records. Sortkey's stores and DynamoDB Local say so at once. AWS may answer
with nothing although there is more, so a shard is asked several times, a second apart.
"""

from __future__ import annotations

import asyncio
from graphlib import TopologicalSorter
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.capabilities import DYNAMODB_LOCAL, EMBEDDED, SORTKEY
from sortkey.model.calls.steps import Call, Context, Pause, Steps, code_of
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of, run_steps
from sortkey.model.streams.change import Change, ChangeReader
from sortkey.patterns.aggregates.shards import ListedShard, listed_shards
from sortkey.patterns.aggregates.shares import Source

_PARALLEL: Final = 16
_EMPTY_ANSWERS: Final = 5
_PAUSE: Final = 1.0
_TELL_THE_TIP: Final = (EMBEDDED, SORTKEY, DYNAMODB_LOCAL)
_GONE: Final = frozenset({"TrimmedDataAccessException", "ResourceNotFoundException"})


class ShardChanges(NamedTuple):
    shard: str
    changes: list[Change[Any]]


class StreamReading:
    def __init__(self, session: AsyncSession, source: Source) -> None:
        self._session = session
        self._table = source.schema.table
        self._reader = ChangeReader(source.counted)
        self._last: dict[str, str] = {}
        """The sequence number that was read last, of each shard."""
        self._ended: set[str] = set()

    async def read_to_tip(self) -> list[ShardChanges]:
        """The changes since the last call, parents before their children."""
        context = context_of(self._session)
        shards = await run_steps(self._session, listed_shards(context, self._table))
        slots = asyncio.Semaphore(_PARALLEL)

        async def read(shard: ListedShard) -> ShardChanges:
            async with slots:
                # A shard may take long, so each has a deadline for every answer, not one for all of them.
                return ShardChanges(shard.id, await self._changes(context, shard))

        wanted = [shard for shard in in_lineage(shards) if shard.id not in self._ended]
        async with asyncio.TaskGroup() as tasks:
            reading = [tasks.create_task(read(shard)) for shard in wanted]
        return [task.result() for task in reading]

    async def _changes(self, context: Context, shard: ListedShard) -> list[Change[Any]]:
        patience = 1 if context.capabilities in _TELL_THE_TIP else _EMPTY_ANSWERS
        found: list[Change[Any]] = []
        iterator = await run_steps(self._session, self._iterator(context, shard))
        empty = 0
        while iterator is not None and empty < patience:
            answer = await run_steps(self._session, self._next(context, shard, iterator, empty))
            if answer is None:
                break
            found += self._new(shard.id, answer["Records"])
            empty = 0 if answer["Records"] else empty + 1
            iterator = answer.get("NextShardIterator")
            if iterator is None:
                self._ended.add(shard.id)
        return found

    def _new(self, shard: str, records: list[dict[str, Any]]) -> list[Change[Any]]:
        """The changes that were not read before, of the items that are counted."""
        found = []
        for record in records:
            sequence = record["dynamodb"]["SequenceNumber"]
            if int(sequence) > int(self._last.get(shard, "-1")):
                self._last[shard] = sequence
                change = self._reader.own_change(record, shard, low_level=True)
                if change is not None:
                    found.append(change)
        return found

    def _iterator(self, context: Context, shard: ListedShard) -> Steps[str | None]:
        members = {"StreamArn": shard.stream, "ShardId": shard.id, "ShardIteratorType": "TRIM_HORIZON"}
        if shard.id in self._last:
            members |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._last[shard.id]}
        call = Call("GetShardIterator", members, f"shards of {self._table}")
        try:
            iterator: str = (yield from context.with_retries(call))["ShardIterator"]
        except ClientError as error:
            if code_of(error) not in _GONE:
                raise
            return None
        return iterator

    def _next(self, context: Context, shard: ListedShard, iterator: str, empty: int) -> Steps[dict[str, Any] | None]:
        """The next answer; None if the shard is gone meanwhile."""
        if empty:
            yield Pause(_PAUSE)
        try:
            return (
                yield from context.with_retries(
                    Call("GetRecords", {"ShardIterator": iterator}, f"shards of {shard.stream}")
                )
            )
        except ClientError as error:
            if code_of(error) not in _GONE:
                raise
            return None


def in_lineage(shards: list[ListedShard]) -> list[ListedShard]:
    """The shards, parents before their children."""
    known = {shard.id: shard for shard in shards}
    parents = {shard.id: [shard.parent] if shard.parent in known else [] for shard in shards}
    return [known[name] for name in TopologicalSorter(parents).static_order()]
