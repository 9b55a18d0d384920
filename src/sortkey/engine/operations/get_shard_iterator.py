"""GetShardIterator: the position in a shard at which to begin reading."""

from __future__ import annotations

from typing import Final

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.streams import GetShardIterator
from sortkey.engine.rows import records, spaces
from sortkey.engine.streams import stream_reader
from sortkey.engine.streams.shard_iterator import TRIM_HORIZON, ShardIterator
from sortkey.errors import ValidationException
from sortkey.storage import Transaction

_INVALID: Final = "One or more parameter values were invalid: "
_BY_NUMBER: Final = {"AT_SEQUENCE_NUMBER": 0, "AFTER_SEQUENCE_NUMBER": 1}
"""Added to the given sequence number to get the first one to read."""


def get_shard_iterator(core: Core, request: GetShardIterator) -> Answer:
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
            start = _last(snapshot, shard) + 1
        else:
            start = TRIM_HORIZON
    iterator = ShardIterator(stream.arn, stream.entry.space, entry.number, start, now)
    return {"ShardIterator": iterator.text()}


def _sequence(request: GetShardIterator) -> int | None:
    if request.shard_iterator_type == "AT_TIMESTAMP":
        raise ValidationException("Invalid ShardIteratorType.")
    if request.shard_iterator_type not in _BY_NUMBER:
        if request.sequence_number is not None:
            raise ValidationException(f"{_INVALID}SequenceNumber should not be passed for this iterator type")
        return None
    text = request.sequence_number
    if text is None or not (text.isascii() and text.isdigit()):
        raise ValidationException(f"{_INVALID}Invalid SequenceNumber")
    return int(text)


def _start_at(snapshot: Transaction, shard: stream_reader.Shard, given: int, offset: int) -> int:
    # A shard without records can be read from its starting number, which no record has yet.
    last = max(_last(snapshot, shard), shard.entry.first_sequence)
    if not shard.entry.first_sequence <= given <= last:
        raise ValidationException("Invalid SequenceNumber for the shard")
    start = given + offset
    # Raises if records from there on have been trimmed.
    next(shard.records_from(start), None)
    return start


def _last(snapshot: Transaction, shard: stream_reader.Shard) -> int:
    """The greatest sequence number that a record of the shard can have in this snapshot."""
    if shard.entry.last_sequence is not None:
        return shard.entry.last_sequence
    return int.from_bytes(records.read(snapshot, spaces.LAST_SEQUENCE) or b"", "big")
