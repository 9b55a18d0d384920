"""The live tail of a table's stream: each change with the old and the new side, typed.

One reader a table, for all pages that look at it; it starts with the first one and ends with the last. It begins with
what is written from then on. What is more than a page can show is counted, not sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from sortkey.limits import KIB
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.data.rows import RowMaker
from sortkey.server.console.data.tables import TableBook
from sortkey.server.console.routes import Item, Key, Message, instant
from sortkey.server.console.store import StoreError, StoreRequests
from sortkey.values.size import item_size

PAUSE_SECONDS: Final = 0.5
EVENTS: Final = 100
"""Of one message."""
IMAGE_BYTES: Final = 64 * KIB
"""Of both sides of a change; larger ones are left out."""
NEW_SHARDS_SECONDS: Final = 5.0
RECORDS: Final = 1000
_EXPIRED: Final = "dynamodb.amazonaws.com"

_logger = logging.getLogger(__name__)


class ChangeShown(Message):
    id: str
    shard: str
    sequence: str
    at: str
    event: str
    expired: bool
    key: Key
    old: Item | None
    new: Item | None
    changed: list[str]
    class_: str | None = msgspec.field(name="class")
    old_fields: dict[str, str] | None
    new_fields: dict[str, str] | None
    bytes: int
    too_large: bool


class Changes(Message):
    table: str
    events: list[ChangeShown]
    skipped: int


def nothing_yet(table: str) -> Changes:
    return Changes(table, [], 0)


class NoStream(Exception):
    """The table has none; the message says so."""


class StreamTail:
    """The changes of one table from now on."""

    def __init__(self, store: StoreRequests, declared: Declared, tables: TableBook, table: str) -> None:
        self._store = store
        self._declared = declared
        self._tables = tables
        self._table = table
        self._iterators: dict[tuple[str, str], str | None] = {}
        """The place in each shard; None at its end."""

    async def messages(self) -> AsyncIterator[Changes]:
        """Until it is cancelled. The first has no change: what is written after it is not missed.

        Raises NoStream and StoreError.
        """
        await self._find_shards("LATEST")
        yield nothing_yet(self._table)
        looked = 0.0
        while True:
            records = [record for key in self._iterators for record in await self._records(key)]
            if records:
                yield await self._message(records)
            await asyncio.sleep(PAUSE_SECONDS)
            looked += PAUSE_SECONDS
            if looked >= NEW_SHARDS_SECONDS:
                looked = 0.0
                await self._find_shards("TRIM_HORIZON")

    async def _find_shards(self, start: str) -> None:
        streams = (await self._store.call(None, "ListStreams", {"TableName": self._table}))["Streams"]
        if not streams:
            raise NoStream(f"The table {self._table} has no stream.")
        arn = max(streams, key=lambda each: each["StreamLabel"])["StreamArn"]
        members: dict[str, Any] = {"StreamArn": arn}
        while True:
            found = (await self._store.call(None, "DescribeStream", members))["StreamDescription"]
            for shard in found["Shards"]:
                key = (arn, shard["ShardId"])
                # A shard that has ended before this began has nothing new.
                is_open = "EndingSequenceNumber" not in shard["SequenceNumberRange"]
                if key not in self._iterators:
                    self._iterators[key] = await self._iterator(key, start) if is_open or start != "LATEST" else None
            if "LastEvaluatedShardId" not in found:
                return
            members = {"StreamArn": arn, "ExclusiveStartShardId": found["LastEvaluatedShardId"]}

    async def _iterator(self, key: tuple[str, str], start: str) -> str:
        members = {"StreamArn": key[0], "ShardId": key[1], "ShardIteratorType": start}
        iterator: str = (await self._store.call(None, "GetShardIterator", members))["ShardIterator"]
        return iterator

    async def _records(self, key: tuple[str, str]) -> list[tuple[str, dict[str, Any]]]:
        iterator = self._iterators[key]
        if iterator is None:
            return []
        try:
            answer = await self._store.call(None, "GetRecords", {"ShardIterator": iterator, "Limit": RECORDS})
        except StoreError as error:
            if error.code not in ("ExpiredIteratorException", "TrimmedDataAccessException"):
                raise
            self._iterators[key] = await self._iterator(key, "LATEST")
            return []
        self._iterators[key] = answer.get("NextShardIterator")
        return [(key[1], record) for record in answer["Records"]]

    async def _message(self, records: list[tuple[str, dict[str, Any]]]) -> Changes:
        description = await self._tables.describe(self._table)
        maker = RowMaker(description.key_names, self._declared.tables.get(self._table), False)
        # The newest: an older one is on its way out of the page.
        shown = records[-EVENTS:]
        events = [change_shown(shard, record, maker) for shard, record in shown]
        return Changes(self._table, events, len(records) - len(shown))


def change_shown(shard: str, record: Mapping[str, Any], maker: RowMaker) -> ChangeShown:
    change = record["dynamodb"]
    old, new = change.get("OldImage"), change.get("NewImage")
    size = sum(item_size(each) for each in (old, new) if each is not None)
    too_large = size > IMAGE_BYTES
    changed = [
        name for name in dict.fromkeys((*(old or {}), *(new or {}))) if (old or {}).get(name) != (new or {}).get(name)
    ]
    if too_large:
        old = new = None
    old_class, old_fields, _ = (None, None, None) if old is None else maker.typed(old)
    new_class, new_fields, _ = (None, None, None) if new is None else maker.typed(new)
    return ChangeShown(
        record["eventID"],
        shard,
        change["SequenceNumber"],
        instant(change["ApproximateCreationDateTime"]),
        record["eventName"],
        (record.get("userIdentity") or {}).get("principalId") == _EXPIRED,
        change["Keys"],
        old,
        new,
        changed,
        new_class or old_class,
        old_fields,
        new_fields,
        size,
        too_large,
    )
