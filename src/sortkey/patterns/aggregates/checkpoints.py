"""Checkpoints: what an aggregate's item has already counted, and for how long it has to know.

An item has one checkpoint for each shard that has changed it: an attribute with the sequence number of the last change
applied. Checkpoints are part of every write and stay for a day, so both halves are kept short:

    shardId-00000001414576573621-f55eea83          m:1495b558cb5-f55eea83
    0000000000000000000000000000000000001000       C3e8

A checkpoint is in hexadecimal digits, after a character for their number, so that checkpoints compare as the numbers
do.

It protects from a change that is delivered again. Streams keep records for a day, and list a shard as long as it has
records; after that, its checkpoint only makes the item larger. But a shard that is missing from a list may also be
newer than the list. So a checkpoint is dead if its shard was missing from the list when the checkpoint was seen, and
from the next two. They are an hour apart. In each round, the first write of an item returns the item, which costs
nothing, and its dead checkpoints are removed by the item's next write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from sortkey.model.calls.steps import Call, Context, Pacing, Steps
from sortkey.model.fields.codec import Row
from sortkey.patterns.aggregates.values import Group

_SHARD: Final = re.compile(r"shardId-(\d{20})-([0-9a-f]{8})")
_BEFORE_A: Final = ord("A") - 1

ROUND: Final = 3600.0
"""The seconds between two lists of the shards."""
_ROUNDS_MISSING: Final = 2
_REMEMBERED: Final = 100_000
"""Items with dead checkpoints, which wait for their next write."""


def checkpoint_attribute(prefix: str, shard: str) -> str:
    """The attribute with the checkpoint of a shard."""
    return f"{prefix}:{short_shard(shard)}"


def short_shard(shard: str) -> str:
    """The id of a shard, in fewer bytes; ids of another form than DynamoDB's stay as they are."""
    found = _SHARD.fullmatch(shard)
    return shard if found is None else f"{int(found[1]):x}-{found[2]}"


def checkpoint_of(sequence: str) -> str:
    """The checkpoint of a sequence number: of two checkpoints, the greater text is that of the later change."""
    digits = f"{int(sequence):x}"
    return chr(_BEFORE_A + len(digits)) + digits


def checkpoints_in(prefix: str, row: Row) -> Iterator[tuple[str, str]]:
    """The checkpoints of a row, by their attributes."""
    beginning = f"{prefix}:"
    for name, value in row.items():
        if name.startswith(beginning) and "S" in value:
            yield name, value["S"]


class CheckpointPruner:
    def __init__(self, prefix: str, pacing: Pacing) -> None:
        self._prefix = prefix
        self._pacing = pacing
        self._next_list = pacing.monotonic()
        self._round = 0
        self._listed: frozenset[str] = frozenset()
        self._missing: dict[str, int] = {}
        """The checkpoints whose shard is not listed, and the round in which that was seen first."""
        self._dead: set[str] = set()
        self._examined: set[Group] = set()
        self._removable: dict[Group, tuple[str, ...]] = {}

    @property
    def is_due(self) -> bool:
        """Whether the shards are to be listed again."""
        return self._pacing.monotonic() >= self._next_list

    def postpone(self) -> None:
        """Lets the present round last."""
        self._next_list = self._pacing.monotonic() + ROUND

    def begin_round(self, shards: Iterable[str]) -> None:
        """Begins a round with the shards that are listed now."""
        self.postpone()
        self._round += 1
        self._listed = frozenset(checkpoint_attribute(self._prefix, shard) for shard in shards)
        self._missing = {
            checkpoint: first for checkpoint, first in self._missing.items() if checkpoint not in self._listed
        }
        self._dead.update(
            checkpoint for checkpoint, first in self._missing.items() if self._round - first >= _ROUNDS_MISSING
        )
        self._examined.clear()
        if len(self._removable) > _REMEMBERED:
            self._removable.clear()

    def wants(self, group: Group) -> bool:
        """Whether the item of this group should be looked at in this round."""
        return self._round > 0 and group not in self._examined

    def examine(self, group: Group, row: Row) -> None:
        """Looks at the checkpoints of an item."""
        self._examined.add(group)
        checkpoints = [checkpoint for checkpoint, _ in checkpoints_in(self._prefix, row)]
        for checkpoint in checkpoints:
            if checkpoint not in self._listed:
                self._missing.setdefault(checkpoint, self._round)
        dead = tuple(checkpoint for checkpoint in checkpoints if checkpoint in self._dead)
        if dead:
            self._removable[group] = dead

    def removable(self, group: Group) -> tuple[str, ...]:
        """The dead checkpoints of an item."""
        return self._removable.get(group, ())

    def removed(self, group: Group) -> None:
        """The item's dead checkpoints are gone."""
        self._removable.pop(group, None)


class ListedShard(NamedTuple):
    stream: str
    """The ARN of its stream; a table has several if its stream was disabled and enabled again."""
    id: str
    parent: str | None


def listed_shards(context: Context, table: str) -> Steps[list[ListedShard]]:
    """All shards of all streams of a table, parents before their children."""
    shards = []
    for stream in (yield from _streams(context, table)):
        start: dict[str, Any] = {}
        while True:
            call = Call("DescribeStream", {"StreamArn": stream, **start}, f"shards of {table}")
            described = (yield from context.with_retries(call))["StreamDescription"]
            shards += [ListedShard(stream, each["ShardId"], each.get("ParentShardId")) for each in described["Shards"]]
            if "LastEvaluatedShardId" not in described:
                break
            start = {"ExclusiveStartShardId": described["LastEvaluatedShardId"]}
    return shards


def _streams(context: Context, table: str) -> Steps[list[str]]:
    streams = []
    start: dict[str, Any] = {}
    while True:
        call = Call("ListStreams", {"TableName": table, **start}, f"shards of {table}")
        answer = yield from context.with_retries(call)
        streams += [each["StreamArn"] for each in answer["Streams"]]
        if "LastEvaluatedStreamArn" not in answer:
            return streams
        start = {"ExclusiveStartStreamArn": answer["LastEvaluatedStreamArn"]}
