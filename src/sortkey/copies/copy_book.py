"""How far a copy is, kept in the store that it is made in: the table `sortkey-copies`.

So what is noted is never ahead of the rows that it is about, and whoever runs the command next, on whatever machine,
continues. What is noted may be behind: rows and changes are then written again, to the same effect.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
import orjson

from sortkey.client.boto3_shapes import parse_items, to_dynamodb_json
from sortkey.client.interface import Client
from sortkey.copies.table_shape import description_of, wait_until_ready

R = TypeVar("R", bound=msgspec.Struct)

COPIES: Final = "sortkey-copies"

SCANNING: Final = "SCANNING"
FOLLOWING: Final = "FOLLOWING"
MOVED: Final = "MOVED"

_HEAD: Final = "copy"
_SEGMENT: Final = "segment#"
_SHARD: Final = "shard#"


class TableRecord(msgspec.Struct, omit_defaults=True):
    """The copy of a table."""

    source: str
    """Which table it is a copy of."""
    selection: str
    began: float
    """By the clock of the machine that ran the command. Changes since then are applied."""
    segments: int
    status: str = SCANNING
    stream: str | None = None
    """The ARN of the stream that is followed; None if changes are not."""
    stream_is_ours: bool = False
    """Whether the source had no stream, so that it is disabled at the end."""
    is_made: bool = False
    """Whether the table has its TTL, tags and recovery."""
    is_done: bool = False


class SegmentRecord(msgspec.Struct, omit_defaults=True):
    rows: int = 0
    position: str | None = None
    """Where the scan goes on, as JSON; None at its start."""
    is_done: bool = False

    @property
    def start(self) -> dict[str, Any]:
        """As members of a Scan."""
        if self.position is None:
            return {}
        return {"ExclusiveStartKey": parse_items(self.position.encode(), binary=True)}

    def moved_to(self, rows: int, last: dict[str, Any] | None) -> SegmentRecord:
        position = None if last is None else orjson.dumps(to_dynamodb_json(last)).decode()
        return SegmentRecord(self.rows + rows, position, last is None)


class ShardRecord(msgspec.Struct, omit_defaults=True):
    position: str | None = None
    """The sequence number up to which changes are applied; None before the first one."""
    has_ended: bool = False


class CopyBook:
    def __init__(self, client: Client) -> None:
        self._client = client

    def open(self) -> None:
        """Make the table if it is missing."""
        if description_of(self._client, COPIES) is None:
            names = {"table": "HASH", "part": "RANGE"}
            self._client.create_table(
                TableName=COPIES,
                KeySchema=[{"AttributeName": name, "KeyType": half} for name, half in names.items()],
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
                BillingMode="PAY_PER_REQUEST",
            )
        wait_until_ready(self._client, COPIES)

    def forget(self, table: str) -> None:
        """Nothing is left to continue."""
        start: dict[str, Any] = {}
        while True:
            answer = self._client.query(
                TableName=COPIES,
                KeyConditionExpression="#t = :t",
                ProjectionExpression="#t, #p",
                ExpressionAttributeNames={"#t": "table", "#p": "part"},
                ExpressionAttributeValues={":t": {"S": table}},
                **start,
            )
            for key in answer["Items"]:
                self._client.delete_item(TableName=COPIES, Key=key)
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def table(self, table: str) -> TableRecord | None:
        if description_of(self._client, COPIES) is None:
            return None
        answer = self._client.get_item(TableName=COPIES, Key=_key(table, _HEAD), ConsistentRead=True)
        return msgspec.json.decode(answer["Item"]["state"]["S"], type=TableRecord) if "Item" in answer else None

    def save_table(self, table: str, record: TableRecord) -> None:
        self._put(table, _HEAD, record)

    def segments(self, table: str, count: int) -> list[SegmentRecord]:
        found = self._parts(table, _SEGMENT, SegmentRecord)
        return [found.get(f"{number:04}", SegmentRecord()) for number in range(count)]

    def save_segment(self, table: str, number: int, record: SegmentRecord) -> None:
        self._put(table, f"{_SEGMENT}{number:04}", record)

    def shards(self, table: str) -> dict[str, ShardRecord]:
        return self._parts(table, _SHARD, ShardRecord)

    def save_shard(self, table: str, shard: str, record: ShardRecord) -> None:
        self._put(table, f"{_SHARD}{shard}", record)

    def _put(self, table: str, part: str, record: msgspec.Struct) -> None:
        state = msgspec.json.encode(record).decode()
        self._client.put_item(TableName=COPIES, Item={**_key(table, part), "state": {"S": state}})

    def _parts(self, table: str, prefix: str, of: type[R]) -> dict[str, R]:
        found = {}
        start: dict[str, Any] = {}
        while True:
            answer = self._client.query(
                TableName=COPIES,
                KeyConditionExpression="#t = :t AND begins_with(#p, :p)",
                ExpressionAttributeNames={"#t": "table", "#p": "part"},
                ExpressionAttributeValues={":t": {"S": table}, ":p": {"S": prefix}},
                ConsistentRead=True,
                **start,
            )
            for item in answer["Items"]:
                found[item["part"]["S"].removeprefix(prefix)] = msgspec.json.decode(item["state"]["S"], type=of)
            if "LastEvaluatedKey" not in answer:
                return found
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def _key(table: str, part: str) -> dict[str, Any]:
    return {"table": {"S": table}, "part": {"S": part}}
