"""A recount: everything counted anew from the table of truth, compared with the aggregate while changes go on.

Both tables are scanned, one after the other, and then the stream is read from its horizon to its tip. The truth is that
of the tip: an item that has changed since the scan began is as its last change left it, all others as they were
scanned. An item of the aggregate is behind the tip by the steps after its checkpoints. So what it should show is the
truth less those steps, however far behind the feed is, as long as the stream still has what the feed has not applied.
Items that have expired and stay counted (`keep_expired`) are in no table: the aggregate's item has their sum.

The tip of a shard is where it has no more records. Sortkey's stores and DynamoDB Local say so at once. AWS may answer
with nothing although there is more, so a shard is asked several times, a second apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from graphlib import TopologicalSorter
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.stores import DYNAMODB_LOCAL, EMBEDDED, EMBEDDED_REGIONS, SORTKEY, SORTKEY_REGIONS
from sortkey.model.calls.change import Change, ChangeReader
from sortkey.model.calls.steps import Call, Context, Pause, Steps, code_of
from sortkey.model.fields.attribute_values import comparable
from sortkey.model.fields.codec import Row
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of, run_steps
from sortkey.patterns.aggregates.checkpoints import (
    ListedShard,
    checkpoint_attribute,
    checkpoint_of,
    checkpoints_in,
    listed_shards,
)
from sortkey.patterns.aggregates.shares import CountedSource, Shares, after_checkpoint, fold
from sortkey.patterns.aggregates.target import Target
from sortkey.patterns.aggregates.values import Group, Share, Step, StoredExtreme, sum_exactly

ShowRows = Callable[[int], None]

_PARALLEL: Final = 16
_EMPTY_ANSWERS: Final = 5
_PAUSE: Final = 1.0
_TELL_THE_TIP: Final = (EMBEDDED, EMBEDDED_REGIONS, SORTKEY, SORTKEY_REGIONS, DYNAMODB_LOCAL)
_GONE: Final = frozenset({"TrimmedDataAccessException", "ResourceNotFoundException"})
_SLACK: Final = timedelta(minutes=15)
"""By how much the clocks of the store and of the program may differ."""
_PROGRESS: Final = 500


class Recount(NamedTuple):
    """Everything that a comparison needs."""

    truth: Truth
    reading: StreamReading
    rows: dict[Group, Row]
    """The items of the aggregate."""


async def count_anew(
    session: AsyncSession, source: CountedSource, target: Target, handled: Mapping[str, str], progress: ShowRows | None
) -> Recount:
    """Reads both tables and the stream."""
    truth = Truth(source, target, context_of(session).moment, handled)
    done = 0
    async for item in session.scan(source.counted, consistent=True):
        truth.add_item(item)
        done = _shown(done + 1, progress)
    rows: dict[Group, Row] = {}
    async for row in session.scan_rows(target.schema.owner, consistent=True):
        group = group_of(source, target, row, truth.now)
        if group is not None:
            target.require_known(row)
            rows[group] = row
        done = _shown(done + 1, progress)
    reading = StreamReading(session, source)
    truth.add_changes(await reading.read_to_tip())
    if progress is not None:
        progress(done)
    return Recount(truth, reading, rows)


class Expected(NamedTuple):
    """What an item of the aggregate should show, at its checkpoints."""

    sums: dict[str, Any]
    bounds: dict[str, StoredExtreme] | None
    """None if the item is behind the tip, where extremes cannot be computed."""


class Truth:
    """The counted items and the steps that the stream still has."""

    def __init__(self, source: CountedSource, target: Target, now: datetime, handled: Mapping[str, str]) -> None:
        self._source = source
        self._target = target
        self.now = now
        self._handled = {
            checkpoint_attribute(target.prefix, shard): checkpoint_of(last) for shard, last in handled.items()
        }
        self._shares: dict[bytes, tuple[Share, tuple[Group, ...]]] = {}
        """What each item has, and the groups that it belongs to, by a hash of its key: there may be millions."""
        self._known: dict[Any, Any] = {}
        """Groups and shares, each once."""
        self._steps: dict[Group, dict[str, list[Step]]] = {}
        self._totals: dict[Group, list[Share]] | None = None

    def add_item(self, item: Any) -> None:
        """An item as it was scanned."""
        self._place(self._source.schema.key_of(item), self._source.shares(item, self.now))

    def add_changes(self, read: Iterable[ShardChanges]) -> None:
        """Changes of the stream, each shard after its parent."""
        self._totals = None
        for shard, changes in read:
            checkpoint = checkpoint_attribute(self._target.prefix, shard)
            for group, steps in fold(self._source, changes, self.now).items():
                self._steps.setdefault(group, {}).setdefault(checkpoint, []).extend(steps)
            for change in changes:
                # Older ones were there when the item was scanned.
                if change.at >= self.now - _SLACK:
                    new = {} if change.new is None else self._source.shares(change.new, self.now)
                    self._place(change.key, new)

    def _place(self, key: Row, shares: Shares) -> None:
        text = repr([(name, comparable(value)) for name, value in sorted(key.items())])
        place = blake2b(text.encode(), digest_size=16).digest()
        if not shares:
            self._shares.pop(place, None)
            return
        once = self._known.setdefault
        # An item has one share in all its groups.
        share = next(iter(shares.values()))
        self._shares[place] = once(share, share), tuple([once(group, group) for group in shares])

    @property
    def items(self) -> int:
        return len(self._shares)

    @property
    def groups(self) -> Iterator[Group]:
        """The groups that have items."""
        return iter(self._by_group)

    @property
    def _by_group(self) -> dict[Group, list[Share]]:
        if self._totals is None:
            self._totals = {}
            for share, groups in self._shares.values():
                for group in groups:
                    self._totals.setdefault(group, []).append(share)
        return self._totals

    def expected(self, group: Group, row: Row) -> Expected:
        """What the item of a group should show, if this is its row; {} if it has none."""
        pending = self._pending(group, dict(checkpoints_in(self._target.prefix, row)))
        shares = self._by_group.get(group, [])
        sums = {}
        for name, zero in self._target.zeros.items():
            position = self._target.positions[name]
            ahead = [-step.added[position] for step in pending if step.added is not None]
            ahead += [step.removed[position] for step in pending if step.removed is not None]
            expired = self._target.expired_sum_in(row, name)
            sums[name] = sum_exactly(zero, [*(share[position] for share in shares), *ahead, expired])
        if pending:
            return Expected(sums, None)
        positions = self._target.positions
        return Expected(
            sums,
            {
                name: extreme.of_all(
                    [*(share[positions[name]] for share in shares), self._target.expired_extreme_in(row, name)]
                )
                for name, extreme in self._target.extremes.items()
            },
        )

    def _pending(self, group: Group, checkpoints: Mapping[str, str]) -> list[Step]:
        """The steps that the item does not have yet."""
        pending = []
        for attribute, steps in self._steps.get(group, {}).items():
            known = [
                checkpoint
                for checkpoint in (checkpoints.get(attribute), self._handled.get(attribute))
                if checkpoint is not None
            ]
            pending += after_checkpoint(steps, max(known, default=None))
        return pending

    def checkpoints_of(self, group: Group) -> set[str]:
        """The checkpoints of the shards that have steps of the group."""
        return {*self._steps.get(group, {})}


def group_of(source: CountedSource, target: Target, row: Row, now: datetime) -> Group | None:
    """The group of a row; None if it is of another class, or of a window that is no longer kept."""
    fields = target.schema.primary.parse(row) if target.schema.recognises(row) else None
    if fields is None:
        return None
    group = tuple(fields[name] for name in target.group)
    return group if source.keeps(group, now) else None


class ShardChanges(NamedTuple):
    shard: str
    changes: list[Change[Any]]


class StreamReading:
    def __init__(self, session: AsyncSession, source: CountedSource) -> None:
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


def _shown(done: int, progress: ShowRows | None) -> int:
    if progress is not None and done % _PROGRESS == 0:
        progress(done)
    return done
