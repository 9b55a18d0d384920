"""Reads of a sharded path: all shards are asked at once, and their rows are merged in the path's order.

    shard 00   3 ─ 8 ─ 9 ─│            each answer ends at its *frontier*, unless the shard has no more rows
    shard 01   1 ─ 4 ─│
    shard 02   2 ─ 5 ─ 6 ─ 7 ─│        merged: 1 2 3 4, since shard 01 may have a 5: its frontier is the *horizon*

The first requests ask each shard for its share and a little more, so one round is usually enough.

While the number of shards changes, rows move between them. Each round then reads the shards that rows leave before
those that they come to, and the next round starts all shards at the horizon, so no row is missed. A row that moved
meanwhile was read twice; it is returned once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby, repeat
from math import ceil, sqrt
from operator import itemgetter
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.model.calls.item_decoder import Identity, identifier, start_key
from sortkey.model.calls.shard_order import ShardOrder, comparable
from sortkey.model.calls.steps import THROTTLED, Answer, Call, Context, ParallelCalls, Steps, code_of
from sortkey.model.calls.wanted_items import Wanted, decode_wanted
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath, rendered
from sortkey.model.keys.key_attribute import SortCondition

CHUNK: Final = 1000
"""The rows that a read without a limit asks for at a time."""


class _Entry(NamedTuple):
    value: Any
    """Of the sort key."""
    item: Any
    row: Any


_value = itemgetter(0)


class _Frontier(NamedTuple):
    value: Any
    tie: Any


class _Lane:
    """The reading of one shard."""

    __slots__ = ("entries", "frontier", "is_done", "members", "shard", "start")

    def __init__(self, shard: int, members: dict[str, Any], start: Row | None, is_done: bool) -> None:
        self.shard = shard
        self.members = members
        self.start = start
        self.is_done = is_done
        self.entries: list[_Entry] = []
        """Those that are not merged yet."""
        self.frontier: _Frontier | None = None
        """The end of what was read; None before the first answer and when there are no more rows."""


class ShardMerge:
    """The merged reading of a sharded path."""

    def __init__(
        self,
        context: Context,
        path: AccessPath[Any],
        query: Mapping[str, Any],
        wanted: Wanted,
        position: Row | None = None,
    ) -> None:
        """`query` is the path's Query, with everything but the shard; `position` is what it continues after."""
        sharding = path.layout.sharding
        assert sharding is not None
        self._context = context
        self._path = path
        self._query = query
        self._wanted = wanted
        self._sharding = sharding
        self._forward = query.get("ScanIndexForward", True)
        self._order = ShardOrder(path, forward=self._forward, ties_by_hash=context.capabilities.ties_by_hash)
        self._identify = identifier(path.primary)
        self._seen: set[Identity] = set()
        self._lanes = self._started(position)
        self.stopped: Row | None = None
        """The end of what was merged; None if there are no more rows."""
        self._items_read = self._returned = self._ahead = 0
        self.dropped = 0
        """The rows that were read and made no item, because of a filter or of their class."""

    def _started(self, position: Row | None) -> dict[int, _Lane]:
        return {shard: self._lane(shard, position) for shard in self._sharding.numbers}

    def _lane(self, shard: int, position: Row | None) -> _Lane:
        members = shard_members(self._path, self._query, shard)
        if position is None:
            return _Lane(shard, members, None, is_done=False)
        start = self._order.start(shard, position)
        if start is None:
            return _Lane(shard, members, None, is_done=True)
        if start.condition is not None and start.condition is not self._path.condition:
            members = _with_condition(members, start.condition)
        return _Lane(shard, members, start.after, is_done=False)

    def round(self, items: int, budget: int | None = None) -> Steps[list[_Entry]]:
        """The next entries, in order: about so many, or fewer. `budget` is how many rows may be dropped in all."""
        for phase in self._sharding.phases:
            lanes = [self._lanes[shard] for shard in phase]
            yield from self._read([lane for lane in lanes if not lane.is_done and not lane.entries], items, budget)
        merged = self._merged()
        if self._sharding.is_changing:
            merged = list(self._unseen(merged))
            if self.stopped is not None:
                self._lanes = self._started(self.stopped)
        return merged

    def _read(self, lanes: Sequence[_Lane], items: int, budget: int | None) -> Steps[None]:
        if not lanes:
            return
        share = _share(items, self._sharding.fewest)
        limit = self._wanted.limit(share, self._query)
        if budget is not None:
            limit = max(share, min(limit, (budget - self.dropped) // len(lanes)))
        calls = [self._call(lane, limit) for lane in lanes]
        answers = yield from send_all(self._context, calls)
        for lane, answer in zip(lanes, answers, strict=True):
            self._add(lane, answer)

    def _call(self, lane: _Lane, limit: int) -> Call:
        members = {**lane.members, "Limit": limit}
        if self._wanted.only is not None:
            members = self._wanted.only.added_to(members)
        if lane.start is not None:
            members["ExclusiveStartKey"] = lane.start
        binary = self._path.has_binary_keys or "FilterExpression" in members
        return self._context.call_unparsed("Query", members, self._path.name, binary)

    def _add(self, lane: _Lane, answer: Answer) -> None:
        decoded = decode_wanted(self._context.meter, self._path, answer["Items"], self._wanted)
        self.dropped += answer["ScannedCount"] - len(decoded.items)
        self._items_read += len(decoded.items)
        lane.entries += map(_Entry, self._values(decoded.rows), decoded.items, decoded.rows)
        lane.start = answer.get("LastEvaluatedKey")
        lane.is_done = lane.start is None
        lane.frontier = None
        if lane.start is not None:
            lane.frontier = _Frontier(self._order.value(lane.start), self._order.tie(lane.start))

    def returns(self, items: int) -> None:
        """Tells the meter how many of the items that were read are needed."""
        self._returned += items
        ahead, before = self._items_read - self._returned, self._ahead
        self._ahead = ahead
        self._context.meter.read_ahead(self._path.name, ahead - before)

    def _values(self, rows: Sequence[Any]) -> Iterable[Any]:
        """The values of the sort key, by which rows are merged."""
        sort = self._order.sort_attribute
        if sort is None or not rows:
            return repeat(0, len(rows))
        name, tag = sort
        if isinstance(rows[0], dict):
            return [comparable(tag, row[name][tag]) for row in rows]
        contents = map(self._path.schema.reader.contents(name), rows)
        return map(Decimal, contents) if tag == "N" else contents

    def _tie(self, entry: _Entry) -> Any:
        of_structure = self._order.tie_of_structure
        if of_structure is not None and not isinstance(entry.row, dict):
            return of_structure(entry.row)
        return self._order.tie(start_key(self._path, entry.row))

    def _merged(self) -> list[_Entry]:
        """The entries up to the horizon, which is the nearest frontier."""
        behind = [lane for lane in self._lanes.values() if lane.frontier is not None]
        ready: list[_Entry] = []
        if not behind:
            self.stopped = None
            for lane in self._lanes.values():
                ready += lane.entries
                lane.entries = []
        else:
            nearest = (min if self._forward else max)(behind, key=_frontier)
            self.stopped = nearest.start
            horizon = _frontier(nearest)
            for lane in self._lanes.values():
                count = len(lane.entries) if lane is nearest else self._passed(lane, horizon)
                ready += lane.entries[:count]
                lane.entries = lane.entries[count:]
        ready.sort(key=_value, reverse=not self._forward)
        return self._with_sorted_ties(ready) if self._order.has_ties else ready

    def _passed(self, lane: _Lane, horizon: _Frontier) -> int:
        """How many entries of a shard come before the horizon."""
        count = 0
        for entry in lane.entries:
            first, second = entry.value, horizon.value
            if first == second:
                first, second = self._tie(entry), horizon.tie
            if not self._order.is_passed(first, second):
                break
            count += 1
        return count

    def _with_sorted_ties(self, entries: list[_Entry]) -> list[_Entry]:
        """The entries, in order but for equal sort keys, in order."""
        merged: list[_Entry] = []
        for _, equal in groupby(entries, key=_value):
            tied = list(equal)
            if len(tied) > 1:
                # The sort is stable: entries of one shard keep the store's order.
                tied.sort(key=self._tie, reverse=not self._forward)
            merged += tied
        return merged

    def _unseen(self, entries: Sequence[_Entry]) -> Iterator[_Entry]:
        for entry in entries:
            identity = self._identify(start_key(self._path, entry.row))
            if identity not in self._seen:
                self._seen.add(identity)
                yield entry


def _frontier(lane: _Lane) -> _Frontier:
    assert lane.frontier is not None
    return lane.frontier


def _share(items: int, shards: int) -> int:
    """How many of the first items one shard has, with a likelihood of more than 99 %; never more than all of them."""
    mean = items / shards
    return min(items, ceil(mean + 3 * sqrt(mean)) + 1)


def shard_members(path: AccessPath[Any], query: Mapping[str, Any], shard: int) -> dict[str, Any]:
    """The Query of one shard, from that of the path."""
    (here,) = path.equal_in_shard(shard).values()
    return {**query, "ExpressionAttributeValues": {**query["ExpressionAttributeValues"], ":pk": here}}


def shard_queries(path: AccessPath[Any], query: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The Query of each shard, in the order in which they are to be read."""
    sharding = path.layout.sharding
    assert sharding is not None
    return [shard_members(path, query, shard) for phase in sharding.phases for shard in phase]


def _with_condition(members: Mapping[str, Any], condition: SortCondition) -> dict[str, Any]:
    """The Query of a shard with another condition on the sort key."""
    test, limits = rendered(condition)
    values = {
        name: value
        for name, value in members["ExpressionAttributeValues"].items()
        if name not in (":sk", ":low", ":high")
    }
    return {
        **members,
        "KeyConditionExpression": f"#pk = :pk AND {test}",
        "ExpressionAttributeNames": {**members["ExpressionAttributeNames"], "#sk": condition.attribute},
        "ExpressionAttributeValues": {**values, **limits},
    }


def fill(
    context: Context,
    path: AccessPath[Any],
    query: Mapping[str, Any],
    size: int,
    budget: int,
    start: Row | None,
    wanted: Wanted,
) -> Steps[tuple[list[Any], list[Any], Row | None]]:
    """More than `size` items, or fewer if the path or the budget ends; their rows; and where reading stopped. Rows that
    the merge reads in advance do not count against the budget, so that a page without a filter is always full."""
    merge = ShardMerge(context, path, query, wanted, start)
    found: list[_Entry] = []
    while True:
        found += yield from merge.round(size + 1 - len(found), budget)
        if merge.stopped is None or len(found) > size or merge.dropped >= budget:
            merge.returns(min(size, len(found)))
            return [entry.item for entry in found], [entry.row for entry in found], merge.stopped


def merged_items(merge: ShardMerge, most: int | None) -> Steps[list[Any]]:
    """The next items of a reading."""
    return [entry.item for entry in (yield from merge.round(CHUNK if most is None else most))]


def count(context: Context, path: AccessPath[Any], query: Mapping[str, Any], wanted: Wanted) -> Steps[int]:
    """How many items all shards have. One that moves between shards meanwhile is counted once."""
    sharding = path.layout.sharding
    assert sharding is not None
    identify = identifier(path.primary)
    binary = path.has_binary_keys or "FilterExpression" in query
    total = 0
    seen: set[Identity] = set()
    for phase in sharding.phases:
        pending = [shard_members(path, query, shard) for shard in phase]
        while pending:
            calls = [context.call_unparsed("Query", members, path.name, binary) for members in pending]
            answers = yield from send_all(context, calls)
            for answer in answers:
                decoded = decode_wanted(context.meter, path, answer["Items"], wanted)
                total += len(decoded.items)
                if sharding.is_changing:
                    seen.update(identify(start_key(path, row)) for row in decoded.rows)
            pending = [
                {**members, "ExclusiveStartKey": answer["LastEvaluatedKey"]}
                for members, answer in zip(pending, answers, strict=True)
                if "LastEvaluatedKey" in answer
            ]
    return len(seen) if sharding.is_changing else total


def send_all(context: Context, calls: Sequence[Call]) -> Steps[list[Answer]]:
    """The answers to several requests, which are sent at once; those that the store throttles are repeated."""
    answers: dict[int, Answer] = {}
    attempt = 0
    while True:
        pending = [index for index in range(len(calls)) if index not in answers]
        results = yield ParallelCalls(tuple(calls[index] for index in pending))
        for index, result in zip(pending, results, strict=True):
            if not isinstance(result, ClientError):
                answers[index] = result
            elif code_of(result) not in THROTTLED:
                raise result
        if len(answers) == len(calls):
            return [answers[index] for index in range(len(calls))]
        yield context.pacing.pause(attempt)
        attempt += 1
