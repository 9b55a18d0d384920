"""GetRecords: the next records of a shard, and the iterator of those after them."""

from __future__ import annotations

from typing import Final

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.streams import GetRecords
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.streams import shard_iterator, stream_reader
from sortkey.engine.streams.stream_writer import BINARY, HEADER
from sortkey.limits import STREAM_PAGE_BYTES, STREAM_RECORDS

_OPENING_BRACE: Final = 1


def get_records(core: Core, request: GetRecords) -> Answer:
    iterator = shard_iterator.parse(request.shard_iterator)
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
