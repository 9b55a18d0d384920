"""Checks a table's streams: every record is in the right shard, within its range, and has the right content."""

from __future__ import annotations

from typing import Any, Final

import orjson

from sortkey.engine.check.findings import Findings
from sortkey.engine.rows import records, spaces
from sortkey.engine.streams.shards import slice_holds
from sortkey.engine.streams.stream_reader import TRIM_MARK
from sortkey.engine.streams.stream_writer import BINARY, HEADER, RECORD_KEY
from sortkey.engine.tables.catalog_entries import ShardEntry, StreamEntry
from sortkey.engine.tables.table import Table
from sortkey.errors import DynamoDBError
from sortkey.storage import Transaction, after_prefix, ascending, payload_of
from sortkey.values.attribute import normalise_item

_IMAGES: Final = {
    "KEYS_ONLY": (False, False),
    "NEW_IMAGE": (True, False),
    "OLD_IMAGE": (False, True),
    "NEW_AND_OLD_IMAGES": (True, True),
}
"""By view type: whether records have the new image, and whether they have the old one."""


def check_streams(snapshot: Transaction, table: Table, findings: Findings) -> None:
    last = int.from_bytes(records.read(snapshot, spaces.LAST_SEQUENCE) or b"", "big")
    for stream in table.entry.streams:
        _StreamCheck(table, stream, last, findings).check(snapshot)


class _StreamCheck:
    def __init__(self, table: Table, stream: StreamEntry, last_sequence: int, findings: Findings) -> None:
        self._table = table
        self._stream = stream
        self._shards = {shard.number: shard for shard in stream.shards}
        self._marks: dict[int, int] = {}
        self._last_sequence = last_sequence
        self._findings = findings

    def check(self, snapshot: Transaction) -> None:
        space = spaces.space_bytes(self._stream.space)
        for key, sealed in ascending(snapshot, space, after_prefix(space)):
            value = payload_of(sealed)
            number, sequence = RECORD_KEY.unpack_from(key, spaces.SPACE_BYTES)
            shard = self._shards.get(number)
            if shard is None:
                self._problem(sequence, f"is in shard {number}, which does not exist")
            elif sequence == TRIM_MARK:
                self._marks[number] = int.from_bytes(value, "big")
            else:
                self._check_position(shard, sequence)
                self._check_record(shard, sequence, value)

    def _problem(self, sequence: int, what: str) -> None:
        self._findings.problem(f"stream {self._table.name}/{self._stream.label}: record {sequence} {what}")

    def _check_position(self, shard: ShardEntry, sequence: int) -> None:
        last = self._last_sequence if shard.last_sequence is None else shard.last_sequence
        if not shard.first_sequence <= sequence <= last:
            self._problem(sequence, f"is outside its shard's range, {shard.first_sequence} to {last}")
        if sequence <= self._marks.get(shard.number, TRIM_MARK):
            self._problem(sequence, "exists, but its shard was trimmed past it")

    def _check_record(self, shard: ShardEntry, sequence: int, value: bytes) -> None:
        try:
            content = orjson.loads(value[HEADER.size :])
            change = content["dynamodb"]
            row_key = self._table.row_prefix(change["Keys"])
            binary = _any_binary(change)
        except (orjson.JSONDecodeError, DynamoDBError, AttributeError, KeyError, TypeError) as error:
            self._problem(sequence, f"is not a change of this table ({type(error).__name__}: {error})")
            return
        if change.get("SequenceNumber") != f"{sequence:021}":
            self._problem(sequence, f"has the sequence number {change.get('SequenceNumber')}")
        if not slice_holds(shard, row_key):
            self._problem(sequence, "belongs to an item outside its shard's slice")
        if bool(HEADER.unpack_from(value)[0] & BINARY) != binary:
            self._problem(sequence, "has a wrong binary mark")
        if _images(change) != _expected_images(self._stream.view_type, content.get("eventName")):
            self._problem(sequence, f"does not have the images of {self._stream.view_type}")


def _images(change: dict[str, Any]) -> tuple[bool, bool]:
    return "NewImage" in change, "OldImage" in change


def _expected_images(view_type: str, event: object) -> tuple[bool, bool]:
    new, old = _IMAGES[view_type]
    return new and event != "REMOVE", old and event != "INSERT"


def _any_binary(change: dict[str, Any]) -> bool:
    images = (change["Keys"], change.get("NewImage", {}), change.get("OldImage", {}))
    return any(normalise_item(image).binary for image in images)
