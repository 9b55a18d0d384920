"""`PutMany`: puts many items, each under a condition of its own, as `db.put_many` does.

Items are encoded a few at a time, so that the event loop, or another thread, has its turn in between. Groups of them go
to the store: in the process in one commit each, elsewhere as parallel requests. Those that the store throttles are sent
again. What a group has not written, because a condition was not met, is put again one by one, as `db.put` does it,
whose result counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, Generic, NamedTuple, TypeVar

from botocore.exceptions import ClientError

from sortkey.client.interface import AnyClient, InProcessPuts
from sortkey.client.stores import IN_FLIGHT
from sortkey.limits import BATCH_WRITE_REQUESTS, KIB, MIB
from sortkey.model.calls.arguments import require_item, require_several
from sortkey.model.calls.conditional_writes import carry_out
from sortkey.model.calls.item_decoder import identifier
from sortkey.model.calls.steps import THROTTLED, Answer, Call, Commit, Context, ParallelCalls, Steps, code_of
from sortkey.model.calls.writes import Put, Write, batch_write_calls, unprocessed
from sortkey.model.changes.write_conditions import WHERE, PutCondition, PutOptions, SameVersion
from sortkey.model.costs.meter import units_of
from sortkey.model.errors import ConditionFailed
from sortkey.model.fields.codec import Row
from sortkey.model.items.item import Item
from sortkey.model.items.schema import Schema
from sortkey.model.maintenance.long_work import LongWork

ItemT = TypeVar("ItemT", bound=Item)
Condition = dict[str, Any]
"""ConditionExpression, its placeholders, and what to return."""

SLICE: Final = 16
"""How many items are encoded at a time: about a millisecond's work, if they are small."""
SLICE_BYTES: Final = 16 * KIB
COMMIT_ROWS: Final = 256
"""The rows of a commit: the writes of others wait for it."""
COMMIT_BYTES: Final = MIB
ROUND_ROWS: Final = IN_FLIGHT * BATCH_WRITE_REQUESTS
ROUND_REQUESTS: Final = 8 * IN_FLIGHT
"""The rows of a group for a store elsewhere, and those with a condition, which are a request each."""
_UNMET: Final = "ConditionalCheckFailedException"
_INVALID: Final = "ValidationException"


class PutMany(LongWork[list[ItemT]], Generic[ItemT]):
    def __init__(self, context: Context, client: AnyClient[Any], items: Iterable[ItemT], options: PutOptions) -> None:
        require_several(items, "items")
        self._context = context
        self._options = options
        self._items: Iterator[ItemT] = iter(items)
        puts = client.in_process_puts
        self._group: _Group = _Requests(context) if puts is None else _OneCommit(context, puts)
        self._same_for_all: dict[Schema[Any], PutCondition] = {}
        self._of_versions: dict[tuple[Schema[Any], int], PutCondition] = {}
        self._conditions: dict[tuple[Schema[Any], Hashable], Condition] = {}
        self._writes: list[tuple[Put, ItemT]] = []
        self._left: list[ItemT] = []

    @property
    def result(self) -> list[ItemT]:
        """The items that were not put."""
        return self._left

    def pause(self) -> float:
        return 0.0

    def part(self) -> Steps[bool]:
        more = self._group.has_more or self._take_slice()
        if self._writes and (not more or self._group.is_full):
            yield from self._write()
        return more or self._group.has_more

    def _take_slice(self) -> bool:
        """Encode the next few items; returns whether there may be more."""
        now = self._context.moment
        most = self._group.bytes + SLICE_BYTES
        for _ in range(SLICE):
            item = next(self._items, None)
            if item is None:
                return False
            require_item(item)
            schema = self._context.schema(type(item))
            write = Put(schema, item, self._options, self._known(schema, item))
            write.stamp(now)
            self._group.add(write, self._condition(write))
            self._writes.append((write, item))
            if self._group.is_full or self._group.bytes > most:
                break
        return True

    def _known(self, schema: Schema[Any], item: ItemT) -> PutCondition | None:
        """The condition of an earlier item that this one has, too."""
        field = self._options.if_version
        if field is None:
            return self._same_for_all.get(schema)
        version = getattr(item, field, None)
        return self._of_versions.get((schema, version)) if type(version) is int else None

    def _condition(self, write: Put) -> Condition | None:
        """The members of the PutItem that make its condition. Those of equal conditions are one object, so that a
        condition is made once for many items."""
        condition = write.condition
        if condition is None:
            return None
        shared = condition.shared
        if shared is None:
            return _condition_of(write)
        if shared == WHERE:
            self._same_for_all[write.schema] = condition
        elif isinstance(condition, SameVersion):
            self._of_versions[write.schema, condition.version] = condition
        known = self._conditions.get((write.schema, shared))
        if known is None:
            known = self._conditions[write.schema, shared] = _condition_of(write)
        return known

    def _write(self) -> Steps[None]:
        unwritten = yield from self._group.write()
        if self._group.has_more:
            return
        writes, self._writes = self._writes, []
        for index, (write, item) in enumerate(writes):
            if index in unwritten:
                try:
                    yield from carry_out(self._context, write)
                except ConditionFailed:
                    self._left.append(item)
                    continue
            write.written()


def _condition_of(write: Put) -> Condition:
    members = write.prepare(None).members
    return {name: value for name, value in members.items() if name not in ("TableName", "Item")}


class _Group(ABC):
    """Puts that are sent together."""

    @property
    def bytes(self) -> int:
        """The size of their rows, where it is known."""
        return 0

    @abstractmethod
    def add(self, write: Put, condition: Condition | None) -> None: ...

    @property
    @abstractmethod
    def is_full(self) -> bool: ...

    @property
    def has_more(self) -> bool:
        """Whether the store has taken some, and `write` is to be called again for the others."""
        return False

    @abstractmethod
    def write(self) -> Steps[frozenset[int]]:
        """Send them; returns which ones, by their place in the group, the store has not written."""


class _OneCommit(_Group):
    def __init__(self, context: Context, puts: Callable[[], InProcessPuts]) -> None:
        self._context = context
        self._new_puts = puts
        self._puts = puts()
        self._names: dict[str, None] = {}

    def add(self, write: Put, condition: Condition | None) -> None:
        self._puts.add(write.schema.table, write.row, condition, size=write.size)
        self._names[write.schema.name] = None

    @property
    def bytes(self) -> int:
        return self._puts.bytes

    @property
    def is_full(self) -> bool:
        return len(self._puts) >= COMMIT_ROWS or self._puts.bytes >= COMMIT_BYTES

    def write(self) -> Steps[frozenset[int]]:
        began = self._context.pacing.monotonic()
        pending, names = self._puts.submit(), ", ".join(self._names)
        self._puts, self._names = self._new_puts(), {}
        answer: Answer = yield Commit(pending, pending.answer)
        units, seconds = units_of(answer.get("ConsumedCapacity")), self._context.pacing.monotonic() - began
        self._context.meter.add(f"put_many {names}", 0, 0, units, seconds, written=True)
        return frozenset(answer["Unwritten"])


class _Sending(NamedTuple):
    call: Call
    places: dict[Hashable, int]
    """Those of its puts in the group: by table and key in a batch."""


class _Requests(_Group):
    """Puts with a condition are a PutItem each, all others go in batches."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._puts: list[tuple[Put, Condition | None]] = []
        self._conditions = 0
        self._left: list[_Sending] = []
        self._unwritten: set[int] = set()

    def add(self, write: Put, condition: Condition | None) -> None:
        self._puts.append((write, condition))
        self._conditions += condition is not None

    @property
    def is_full(self) -> bool:
        return len(self._puts) >= ROUND_ROWS or self._conditions >= ROUND_REQUESTS or self.has_more

    @property
    def has_more(self) -> bool:
        return bool(self._left)

    def write(self) -> Steps[frozenset[int]]:
        self._left = self._left or self._calls()
        attempt = 0
        while True:
            results: list[Answer | ClientError] = yield ParallelCalls(tuple(each.call for each in self._left))
            before = sum(len(each.places) for each in self._left)
            self._left = [
                each for sent, result in zip(self._left, results, strict=True) for each in self._again(sent, result)
            ]
            if not self._left:
                self._puts, self._conditions = [], 0
                unwritten, self._unwritten = frozenset(self._unwritten), set()
                return unwritten
            yield self._context.pacing.pause(attempt)
            if sum(len(each.places) for each in self._left) < before:
                return frozenset()
            attempt += 1

    def _calls(self) -> list[_Sending]:
        made: list[_Sending] = []
        batched: dict[Hashable, tuple[Write, int]] = {}
        for place, (put, condition) in enumerate(self._puts):
            table = put.schema.table
            if condition is None:
                # A batch may not have a key twice; the last one remains, as if they had been put in turn.
                batched[_key(put.schema, put.row)] = (table, {"PutRequest": {"Item": put.row}}), place
            else:
                members = {"TableName": table, "Item": put.row, **condition}
                made.append(_Sending(self._context.call("PutItem", members, put.metered), {None: place}))
        names = ", ".join(dict.fromkeys(put.schema.name for put, condition in self._puts if condition is None))
        calls = batch_write_calls(self._context, [write for write, _ in batched.values()], f"put_many {names}")
        places = iter(batched.items())
        for call in calls:
            size = sum(map(len, call.members["RequestItems"].values()))
            made.append(_Sending(call, {key: place for key, (_, place) in islice(places, size)}))
        return made

    def _again(self, sent: _Sending, result: Answer | ClientError) -> list[_Sending]:
        """What is to be sent again, because the store throttled it."""
        is_batch = sent.call.operation == "BatchWriteItem"
        if isinstance(result, ClientError):
            code = code_of(result)
            if code in THROTTLED:
                return [sent]
            if code == _UNMET or (is_batch and code == _INVALID):
                # Put one by one, which says what became of each.
                self._unwritten.update(sent.places.values())
                return []
            raise result
        left = unprocessed(sent.call, result) if is_batch else []
        schemas = {put.schema.table: put.schema for put, _ in self._puts}
        keys = [_key(schemas[table], write["PutRequest"]["Item"]) for table, write in left]
        calls = batch_write_calls(self._context, left, sent.call.path)
        return [_Sending(call, {key: sent.places[key] for key in keys}) for call in calls]


def _key(schema: Schema[Any], row: Row) -> Hashable:
    return schema.table, identifier(schema.primary)(row)
