"""Applies the changes of a table to its copy, from its stream.

All rows are copied first. Then every change since the copy began is applied, in the order of its shard, so in the order
of its item. A change that a copied row has already is applied again, and those after it, too: each key ends at its
newest image. So what was applied may be applied again after a kill.

A stream keeps changes for a day. A copy that has not applied some in time has lost them, and fails.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.client.interface import Client
from sortkey.client.stores import DYNAMODB_LOCAL, EMBEDDED, SORTKEY, Capabilities
from sortkey.clock import monotonic
from sortkey.copies.copy_book import CopyBook, ShardRecord, TableRecord
from sortkey.copies.errors import CopyFailed
from sortkey.copies.row_form import Row, RowForm, fingerprint
from sortkey.copies.row_reads import rows_of
from sortkey.copies.row_writer import RowWriter, Stopped
from sortkey.limits import STREAM_RECORDS
from sortkey.model.calls.steps import code_of

MARGIN: Final = timedelta(minutes=5)
"""Changes of so long before the copy began are applied, too: clocks may differ."""
_OWN_MARGIN: Final = timedelta(minutes=1)
"""Of a source in the process, whose clock is the copy's: what was loaded before the copy is not copied twice."""
IN_TIME: Final = timedelta(hours=23, minutes=30)
"""A shard that was not begun after so long may have lost changes."""
REFRESH_SECONDS: Final = 5.0
"""Between two looks at the shards."""
SAVE_SECONDS: Final = 1.0
POLL_SECONDS: Final = 0.02
"""While it is waited for quiet."""

_QUIET_SECONDS: Final = {EMBEDDED: 0.0, SORTKEY: 0.0, DYNAMODB_LOCAL: 0.1}
"""In these, a change is in the stream when its write is answered."""
_QUIET_SECONDS_OF_AWS: Final = 1.0
_LEAST_SECONDS: Final = {EMBEDDED: 0.0, SORTKEY: 0.0, DYNAMODB_LOCAL: 0.0}
_LEAST_SECONDS_OF_AWS: Final = 0.25
"""Between two reads of a shard: AWS allows five a second, over all readers."""


def quiet_seconds(store: Capabilities) -> float:
    """How long a stream must have nothing new before all answered writes are known to be seen."""
    return _QUIET_SECONDS.get(store, _QUIET_SECONDS_OF_AWS)


class _Shard:
    def __init__(self, shard: str, parent: str | None, record: ShardRecord) -> None:
        self.id = shard
        self.parent = parent
        self.record = record
        self.iterator: str | None = None
        self.saved_at = -SAVE_SECONDS
        self.is_unsaved = False


class StreamTail:
    def __init__(
        self,
        source: Client,
        book: CopyBook,
        writer: RowWriter,
        table: str,
        form: RowForm,
        record: TableRecord,
        stopping: threading.Event,
    ) -> None:
        assert record.stream is not None
        self.applied = 0
        self._touched: set[bytes] = set()
        self._source = source
        self._book = book
        self._writer = writer
        self._table = table
        self._form = form
        self._stream = record.stream
        self._began = datetime.fromtimestamp(record.began, UTC)
        self._since = self._began - (MARGIN if source.in_process_puts is None else _OWN_MARGIN)
        self._stopping = stopping
        self._lock = threading.Lock()
        self._shards: dict[str, _Shard] = {}
        self._known = book.shards(table)
        self._refreshed_at: float | None = None
        self._pause = _LEAST_SECONDS.get(source.capabilities(), _LEAST_SECONDS_OF_AWS)
        self._quiet = quiet_seconds(source.capabilities())

    def step(self) -> int:
        """Read every shard once, and apply what is there. Returns how many changes there were."""
        with self._lock:
            return self._step(is_fresh=False)

    def drain(self) -> None:
        """Apply all that was written before this call. Raises Stopped if the copy is to stop before that is done."""
        with self._lock:
            quiet_since = monotonic()
            while not self._stopping.is_set():
                began = monotonic()
                if self._step(is_fresh=True):
                    quiet_since = monotonic()
                elif began - quiet_since >= self._quiet:
                    return
                else:
                    self._stopping.wait(POLL_SECONDS)
            raise Stopped

    def take_touched(self) -> set[bytes]:
        """The fingerprints of the keys that were changed since the last call."""
        with self._lock:
            touched, self._touched = self._touched, set()
        return touched

    def save(self) -> None:
        with self._lock:
            for shard in self._shards.values():
                self._save(shard)

    def _step(self, *, is_fresh: bool) -> int:
        if is_fresh or self._refreshed_at is None or monotonic() - self._refreshed_at > REFRESH_SECONDS:
            self._refresh()
        found = 0
        for shard in list(self._shards.values()):
            parent = self._shards.get(shard.parent or "")
            if not shard.record.has_ended and (parent is None or parent.record.has_ended):
                found += self._read(shard)
        if self._pause:
            self._stopping.wait(self._pause)
        return found

    def _refresh(self) -> None:
        described = self._described()
        for each in described:
            shard = each["ShardId"]
            if shard not in self._shards:
                record = self._known.get(shard) or ShardRecord()
                self._shards[shard] = _Shard(shard, each.get("ParentShardId"), record)
        listed = {each["ShardId"] for each in described}
        for shard, record in self._known.items():
            if shard not in listed and not record.has_ended:
                raise self._lost()
        self._refreshed_at = monotonic()

    def _described(self) -> list[Mapping[str, Any]]:
        shards: list[Mapping[str, Any]] = []
        start: dict[str, Any] = {}
        while True:
            try:
                stream = self._source.describe_stream(StreamArn=self._stream, **start)["StreamDescription"]
            except ClientError as error:
                if code_of(error) == "ResourceNotFoundException":
                    raise self._lost() from error
                raise
            shards += stream["Shards"]
            if "LastEvaluatedShardId" not in stream:
                return shards
            start = {"ExclusiveStartShardId": stream["LastEvaluatedShardId"]}

    def _read(self, shard: _Shard) -> int:
        answer = self._records(shard)
        records: list[dict[str, Any]] = answer["Records"]
        fresh = [each for each in records if each["dynamodb"]["ApproximateCreationDateTime"] >= self._since]
        if fresh:
            self._apply(fresh)
        if records:
            shard.record.position = records[-1]["dynamodb"]["SequenceNumber"]
            shard.is_unsaved = True
        shard.iterator = answer.get("NextShardIterator")
        if shard.iterator is None:
            shard.record.has_ended = shard.is_unsaved = True
            self._refreshed_at = None
        if shard.record.has_ended or monotonic() - shard.saved_at > SAVE_SECONDS:
            self._save(shard)
        return len(records)

    def _records(self, shard: _Shard) -> dict[str, Any]:
        for _ in range(2):
            try:
                if shard.iterator is None:
                    shard.iterator = self._iterator(shard)
                return self._source.get_records(ShardIterator=shard.iterator, Limit=STREAM_RECORDS)
            except ClientError as error:
                if code_of(error) in ("TrimmedDataAccessException", "ResourceNotFoundException"):
                    raise self._lost() from error
                if code_of(error) != "ExpiredIteratorException":
                    raise
                shard.iterator = None
        raise CopyFailed(f"the stream of table {self._table} gives iterators that have expired already")

    def _iterator(self, shard: _Shard) -> str:
        position = shard.record.position
        if position is None:
            if datetime.now(UTC) - self._began > IN_TIME:
                raise self._lost()
            members = {"ShardIteratorType": "TRIM_HORIZON"}
        else:
            members = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": position}
        answer = self._source.get_shard_iterator(StreamArn=self._stream, ShardId=shard.id, **members)
        iterator: str = answer["ShardIterator"]
        return iterator

    def _lost(self) -> CopyFailed:
        return CopyFailed(
            f"changes of table {self._table} were not applied within the day that a stream keeps them, or its stream "
            "is gone; drop the table in the target and run the command again, with a higher --rate or fewer --tables"
        )

    def _apply(self, records: Sequence[Mapping[str, Any]]) -> None:
        images: dict[bytes, Row | None] = {}
        keys: dict[bytes, Row] = {}
        unknown: dict[bytes, None] = {}
        for record in records:
            change = record["dynamodb"]
            identity = fingerprint(change["Keys"])
            keys[identity] = change["Keys"]
            unknown.pop(identity, None)
            images[identity] = None if record["eventName"] == "REMOVE" else change.get("NewImage")
            if record["eventName"] != "REMOVE" and "NewImage" not in change:
                unknown[identity] = None
        if unknown:
            # The stream has no images. The row may be newer than this change: then its later change comes, too.
            found = rows_of(self._source, self._table, [keys[identity] for identity in unknown])
            images |= {identity: found.get(identity) for identity in unknown}
        formed = {identity: None if row is None else self._form.of(row) for identity, row in images.items()}
        self._writer.put(self._table, [row for row in formed.values() if row is not None], self._form)
        self._writer.delete(self._table, [keys[identity] for identity, row in formed.items() if row is None])
        self._touched.update(keys)
        self.applied += len(records)

    def _save(self, shard: _Shard) -> None:
        if shard.is_unsaved:
            self._book.save_shard(self._table, shard.id, shard.record)
            self._known[shard.id] = shard.record
            shard.is_unsaved, shard.saved_at = False, monotonic()
