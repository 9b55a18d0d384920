"""Stream records that are delivered twice, and late; shards that split.

Twice: an answer begins with records that came before the iterator, up to the newest of them, as if a consumer had
started again from an older checkpoint. It has at least one new record, so readers get on. Late: an answer leaves out
the last records that there are, perhaps all, and its iterator stands before them. In every answer the records of a
shard are in order, without gaps.

Shards split and roll over while a table is written to, as AWS's do under load and every few hours. A shard that is
replaced is closed; its children begin after its last record. There are two, until the stream has `MOST_OPEN` open
shards; from then on there is one.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from sortkey.engine.faults.faults import Faults
from sortkey.engine.faults.request_faults import Amend
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import BatchWriteItem, DeleteItem, PutItem, TransactWriteItems, UpdateItem
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.requests.tables import GetRecords
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams import stream_reader, stream_writer
from sortkey.engine.streams.stream_reader import ShardIterator
from sortkey.engine.tables.core import Answer, Core
from sortkey.errors import ValidationException
from sortkey.limits import STREAM_PAGE_BYTES, STREAM_RECORDS

MOST_AGAIN: Final = 10
"""Records that one answer delivers again, at most."""

MOST_OPEN: Final = 8

_logger = logging.getLogger(__name__)


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
        iterator = stream_reader.parse_iterator(request.shard_iterator)
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


class ShardSplits:
    def __init__(self, faults: Faults) -> None:
        self._every = faults.split_shards_every
        self._random = faults.random("split_shards_every")
        self._lock = threading.Lock()
        self._writes: Counter[str] = Counter()

    def count(self, core: Core, request: Shape) -> None:
        """Count a request's writes. The split goes into the write queue before them, and nothing waits for it."""
        try:
            tables = [table_name_of(given) for given in _written(request)]
        except ValidationException:
            return
        for table in tables:
            with self._lock:
                self._writes[table] += 1
                splits = self._writes[table] % self._every == 0
            if splits:
                self._split(core, table)

    def _split(self, core: Core, table_name: str) -> None:
        chosen = self._random.random()

        def work(batch: WriteBatch) -> None:
            table = core.catalog.tables(batch.transaction).get(table_name)
            if table is None or table.stream is None:
                return
            present = stream_writer.open_shards(table.stream)
            parent = present[int(chosen * len(present))]
            stream_writer.divide(core, batch, table, [parent], 2 if len(present) < MOST_OPEN else 1)

        core.store.submit(work, _log_error)


def _log_error(_: Any, error: BaseException | None) -> None:
    if error is not None:
        _logger.error("a shard could not be split", exc_info=error)


def _written(request: Shape) -> Iterator[str]:
    """The table of each write in a request."""
    if isinstance(request, PutItem | UpdateItem | DeleteItem):
        yield request.table_name
    elif isinstance(request, BatchWriteItem):
        for table, writes in request.request_items.items():
            yield from [table] * len(writes)
    elif isinstance(request, TransactWriteItems):
        for each in request.transact_items:
            for action in (each.put, each.update, each.delete):
                if action is not None:
                    yield action.table_name
