"""Streams: ListStreams, DescribeStream, GetShardIterator, GetRecords."""

from __future__ import annotations

from typing import Any, Final

from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.tables import DescribeStream, GetRecords, GetShardIterator, ListStreams, ShardFilter
from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import ShardEntry
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.streams import stream_reader
from sortkey.engine.streams.stream_reader import TRIM_HORIZON, ShardIterator
from sortkey.engine.streams.stream_writer import BINARY, HEADER
from sortkey.engine.tables.core import Answer, Core
from sortkey.engine.tables.definition import KeyNames
from sortkey.engine.tables.description import key_schema
from sortkey.errors import ValidationException
from sortkey.limits import STREAM_PAGE_BYTES, STREAM_RECORDS
from sortkey.storage import Transaction

PAGE: Final = 100

_OPENING_BRACE: Final = 1

_BY_NUMBER: Final = {"AT_SEQUENCE_NUMBER": 0, "AFTER_SEQUENCE_NUMBER": 1}
"""Added to the given sequence number to get the first one to read."""


def list_streams(core: Core, request: ListStreams) -> Answer:
    """The readable streams of one table or of all, in the order of their ARNs."""
    start = request.exclusive_start_stream_arn or ""
    limit = request.limit or PAGE
    with core.read() as snapshot:
        found = [
            stream
            for stream in stream_reader.streams(core, snapshot)
            if stream.arn > start and request.table_name in (None, stream.table.name)
        ]
    page = found[:limit]
    answer: Answer = {"Streams": [_summary(stream) for stream in page]}
    if len(found) > limit:
        answer["LastEvaluatedStreamArn"] = page[-1].arn
    return answer


def _summary(stream: stream_reader.Stream) -> dict[str, str]:
    return {"StreamArn": stream.arn, "TableName": stream.table.name, "StreamLabel": stream.entry.label}


def describe_stream(core: Core, request: DescribeStream) -> Answer:
    """A stream, its shards and their parents."""
    start = request.exclusive_start_shard_id or ""
    limit = request.limit or PAGE
    parent = _parent(request.shard_filter)
    with core.read() as snapshot:
        stream = stream_reader.find(core, snapshot, request.stream_arn)
    found = [
        shard
        for shard in stream.shards(core.clock.now())
        if shard.id > start and (parent is None or shard.parent == parent)
    ]
    page = found[:limit]
    shape = _description(stream) | {"Shards": [_shard(shard) for shard in page]}
    if len(found) > limit:
        shape["LastEvaluatedShardId"] = page[-1].id
    return {"StreamDescription": shape}


def _parent(shard_filter: ShardFilter | None) -> str | None:
    """The shard whose children are requested; None for all shards."""
    if shard_filter is None:
        return None
    if shard_filter.type is None or shard_filter.shard_id is None:
        raise ValidationException(f"{INVALID}ShardFilter needs both Type and ShardId")
    return shard_filter.shard_id


def _description(stream: stream_reader.Stream) -> dict[str, Any]:
    entry = stream.entry
    return {
        "StreamArn": stream.arn,
        "StreamLabel": entry.label,
        "StreamStatus": "ENABLED" if entry.disabled is None else "DISABLED",
        "StreamViewType": entry.view_type,
        "CreationRequestDateTime": entry.created,
        "TableName": stream.table.name,
        "KeySchema": key_schema(KeyNames(stream.table.entry.partition, stream.table.entry.sort)),
    }


def _shard(shard: ShardEntry) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": stream_reader.sequence_text(shard.first_sequence)}
    if shard.last_sequence is not None:
        numbers["EndingSequenceNumber"] = stream_reader.sequence_text(shard.last_sequence)
    shape: dict[str, Any] = {"ShardId": shard.id, "SequenceNumberRange": numbers}
    if shard.parent is not None:
        shape["ParentShardId"] = shard.parent
    return shape


def get_shard_iterator(core: Core, request: GetShardIterator) -> Answer:
    """The position in a shard at which to begin reading."""
    given = _sequence(request)
    now = core.clock.now()
    with core.read() as snapshot:
        stream = stream_reader.find(core, snapshot, request.stream_arn)
        entry = next((shard for shard in stream.shards(now) if shard.id == request.shard_id), None)
        if entry is None:
            raise stream_reader.no_such_shard()
        shard = stream_reader.Shard(snapshot, stream.entry, entry, now)
        if given is not None:
            start = _start_at(snapshot, shard, given, _BY_NUMBER[request.shard_iterator_type])
        elif request.shard_iterator_type == "LATEST":
            start = _last_sequence(snapshot, shard) + 1
        else:
            start = TRIM_HORIZON
    iterator = ShardIterator(stream.arn, stream.entry.space, entry.number, start, now)
    return {"ShardIterator": iterator.text()}


def _sequence(request: GetShardIterator) -> int | None:
    if request.shard_iterator_type == "AT_TIMESTAMP":
        raise ValidationException("Invalid ShardIteratorType.")
    if request.shard_iterator_type not in _BY_NUMBER:
        if request.sequence_number is not None:
            raise ValidationException(f"{INVALID}SequenceNumber should not be passed for this iterator type")
        return None
    text = request.sequence_number
    if text is None or not (text.isascii() and text.isdigit()):
        raise ValidationException(f"{INVALID}Invalid SequenceNumber")
    return int(text)


def _start_at(snapshot: Transaction, shard: stream_reader.Shard, given: int, offset: int) -> int:
    # A shard without records can be read from its starting number, which no record has yet.
    last = max(_last_sequence(snapshot, shard), shard.entry.first_sequence)
    if not shard.entry.first_sequence <= given <= last:
        raise ValidationException("Invalid SequenceNumber for the shard")
    start = given + offset
    # Raises if records from there on have been trimmed.
    next(shard.records_from(start), None)
    return start


def _last_sequence(snapshot: Transaction, shard: stream_reader.Shard) -> int:
    """The greatest sequence number that a record of the shard can have in this snapshot."""
    if shard.entry.last_sequence is not None:
        return shard.entry.last_sequence
    return records.read_number(snapshot, records.LAST_SEQUENCE)


def get_records(core: Core, request: GetRecords) -> Answer:
    """The next records of a shard, and the iterator of those after them."""
    iterator = stream_reader.parse_iterator(request.shard_iterator)
    now = core.clock.now()
    iterator.check_age(now)
    with core.read() as snapshot:
        shard = stream_reader.shard_of_iterator(core, snapshot, iterator)
        page = _Page(shard, iterator.sequence, request.limit or STREAM_RECORDS)
    answer: Answer = {"Records": page.json(core.settings.region)}
    if not page.ended:
        answer["NextShardIterator"] = iterator._replace(sequence=page.next_sequence, issued=now).text()
    return answer


class _Page:
    """At most `limit` records and 1 MB."""

    def __init__(self, shard: stream_reader.Shard, start: int, limit: int) -> None:
        self.next_sequence = start
        self._records: list[bytes] = []
        size = 0
        for sequence, record in shard.records_from(start):
            size += len(record)
            if self._records and size > STREAM_PAGE_BYTES:
                break
            self._records.append(record)
            self.next_sequence = sequence + 1
            if len(self._records) == limit:
                break
        self.ended = shard.is_closed and next(shard.records_from(self.next_sequence), None) is None

    def json(self, region: str) -> Json:
        opening = b'{"awsRegion":"%s",' % region.encode()
        texts = [opening + record[HEADER.size + _OPENING_BRACE :] for record in self._records]
        binary = any(HEADER.unpack_from(record)[0] & BINARY for record in self._records)
        return Json(b"[" + b",".join(texts) + b"]", binary)
