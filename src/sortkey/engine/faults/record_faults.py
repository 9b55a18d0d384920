"""Stream records that are delivered twice, and late.

Twice: an answer begins with records that came before the iterator, up to the newest of them, as if a consumer had
started again from an older checkpoint. It has at least one new record, so readers get on. Late: an answer leaves out
the last records that there are, perhaps all, and its iterator stands before them. In every answer the records of a
shard are in order, without gaps.
"""

from __future__ import annotations

from typing import Final

from sortkey.engine.core import Answer, Core
from sortkey.engine.faults.faults import Faults
from sortkey.engine.faults.unprocessed import Amend
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.requests.streams import GetRecords
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.streams import shard_iterator, stream_reader
from sortkey.engine.streams.shard_iterator import ShardIterator
from sortkey.limits import STREAM_PAGE_BYTES, STREAM_RECORDS

MOST_AGAIN: Final = 10
"""Records that one answer delivers again, at most."""


class RecordFaults:
    def __init__(self, faults: Faults) -> None:
        self._duplicates = faults.duplicate_records
        self._late = faults.late_records
        self._random_duplicates = faults.random("duplicate_records")
        self._random_late = faults.random("late_records")

    def change(self, core: Core, request: Shape) -> Amend | None:
        """Move the position of a GetRecords that has records to answer with, or shorten its page."""
        if not isinstance(request, GetRecords):
            return None
        limit = request.limit or STREAM_RECORDS
        now = core.clock.now()
        iterator = shard_iterator.parse(request.shard_iterator)
        iterator.check_age(now)
        with core.read() as snapshot:
            shard = stream_reader.shard_of_iterator(core, snapshot, iterator)
            new = _sizes_from(shard, iterator.sequence, limit)
            if not new:
                return None
            again = self._again(shard, iterator.sequence, new[0], limit)
        if again:
            request.shard_iterator = iterator._replace(sequence=again[0]).text()
        if not self._late or self._random_late.random() >= self._late:
            return None
        request.limit = len(again) + self._random_late.randrange(min(len(new), limit - len(again)))
        return None if request.limit else _withhold(request, iterator, now)

    def _again(self, shard: stream_reader.Shard, start: int, room_taken: int, limit: int) -> list[int]:
        """The sequence numbers of the records to deliver again, oldest first."""
        if not self._duplicates or self._random_duplicates.random() >= self._duplicates:
            return []
        most = min(self._random_duplicates.randint(1, MOST_AGAIN), limit - 1)
        chosen: list[int] = []
        for sequence, record in shard.newest_records_before(start):
            room_taken += len(record)
            if len(chosen) == most or room_taken > STREAM_PAGE_BYTES:
                break
            chosen.append(sequence)
        return chosen[::-1]


def _sizes_from(shard: stream_reader.Shard, start: int, limit: int) -> list[int]:
    """The sizes of the records that a reader at this position gets."""
    sizes: list[int] = []
    for _, record in shard.records_from(start):
        if len(sizes) == limit or (sizes and sum(sizes) + len(record) > STREAM_PAGE_BYTES):
            break
        sizes.append(len(record))
    return sizes


def _withhold(request: GetRecords, iterator: ShardIterator, now: float) -> Amend:
    """Answer with no records. A page has one at least, so its answer is replaced."""
    request.limit = 1
    answer: Answer = {"Records": Json(b"[]", False), "NextShardIterator": iterator._replace(issued=now).text()}
    return lambda _: answer
