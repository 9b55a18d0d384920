"""The changes that Kinesis streaming destinations have not got yet, in the form in which AWS sends them.

What is delivered is removed from the store afterwards. So a crash in between delivers it again, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson

from sortkey.engine.rows.catalog_entries import DestinationEntry, StreamEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams.stream_reader import Shard
from sortkey.engine.streams.stream_writer import BINARY, HEADER
from sortkey.engine.tables.core import Core
from sortkey.limits import MIB

MILLISECOND: Final = "MILLISECOND"
MOST_RECORDS: Final = 500
MOST_BYTES: Final = 4 * MIB
"""Of one page, but for its last record."""


class Destination(NamedTuple):
    table: str
    entry: DestinationEntry
    stream: StreamEntry

    @property
    def name(self) -> str:
        """The name of the Kinesis stream."""
        return self.entry.arn.rpartition("/")[2]

    @property
    def region(self) -> str:
        return self.entry.arn.split(":")[3]


class KinesisRecord(NamedTuple):
    key: bytes
    """Under which the store has it."""
    item: bytes
    """The key of the item, whose changes must stay in order."""
    data: bytes


def destinations(core: Core) -> list[Destination]:
    """All that are enabled."""
    with core.read() as snapshot:
        tables = core.catalog.tables(snapshot)
    return [
        Destination(table.name, entry, entry.stream)
        for table in tables.values()
        for entry in table.entry.destinations
        if entry.stream is not None
    ]


def pending(core: Core, destination: Destination) -> list[KinesisRecord]:
    """The oldest changes that are not delivered."""
    found: list[KinesisRecord] = []
    size = 0
    (entry,) = destination.stream.shards
    with core.read() as snapshot:
        shard = Shard(snapshot, destination.stream, entry, core.clock.now())
        for sequence, value in shard.records_from(0):
            found.append(_record(core, destination, shard.key(sequence), value))
            size += len(value)
            if len(found) == MOST_RECORDS or size >= MOST_BYTES:
                break
    return found


def _record(core: Core, destination: Destination, key: bytes, value: bytes) -> KinesisRecord:
    content = orjson.loads(value[HEADER.size :])
    change: dict[str, Any] = content["dynamodb"]
    millisecond: int = HEADER.unpack_from(value)[0] & ~BINARY
    precision = destination.entry.precision
    identity = content.get("userIdentity")
    images = {name: change[name] for name in ("NewImage", "OldImage") if name in change}
    shown: dict[str, Any] = {
        "awsRegion": core.settings.region,
        "eventID": content["eventID"],
        "eventName": content["eventName"],
        "userIdentity": None if identity is None else _identity(identity),
        "recordFormat": "application/json",
        "tableName": destination.table,
        "dynamodb": {
            "ApproximateCreationDateTime": millisecond if precision == MILLISECOND else millisecond * 1000,
            "Keys": change["Keys"],
            **images,
            "SizeBytes": change["SizeBytes"],
            "ApproximateCreationDateTimePrecision": precision,
        },
        "eventSource": "aws:dynamodb",
    }
    return KinesisRecord(key, orjson.dumps(change["Keys"]), orjson.dumps(shown))


def _identity(identity: dict[str, str]) -> dict[str, str]:
    """In Kinesis records, as in events of Lambda, its members begin with small letters."""
    return {"type": identity["Type"], "principalId": identity["PrincipalId"]}


def remove(core: Core, delivered: Iterable[KinesisRecord]) -> None:
    """Forget what was delivered."""

    def work(batch: WriteBatch) -> None:
        for record in delivered:
            batch.delete(record.key)

    core.store.write(work)
