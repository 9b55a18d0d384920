"""Puts of many rows into a store in this process, without a request for every twenty-five of them."""

from __future__ import annotations

from concurrent.futures import Future
from time import perf_counter
from typing import Any

from sortkey.client import errors, parameters
from sortkey.client.boto3_shapes import NeedsBotocore, to_dynamodb_json
from sortkey.engine.database import Database
from sortkey.engine.operations.write import BulkPut
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer
from sortkey.errors import DynamoDBError
from sortkey.storage.write_queue import WriteQueue
from sortkey.values.attribute import Item


class RowPuts:
    """Rows that are put together, in one commit. A set of rows is submitted once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._puts = BulkPut(database)

    def __len__(self) -> int:
        return len(self._puts)

    @property
    def bytes(self) -> int:
        """The size of the rows."""
        return self._puts.bytes

    def add(self, table: str, row: dict[str, Any]) -> None:
        """Add a row in boto3's shape. Raises the ClientError of a PutItem; the rows that were added before are kept."""
        try:
            try:
                self._puts.add(table, row)
            except DynamoDBError:
                # Most rows have no binary. To convert only those that have saves a tenth of the time.
                converted = _dynamodb_json(table, row)
                if converted is row:
                    raise
                self._puts.add(table, converted)
        except DynamoDBError as error:
            raise errors.client_error("PutItem", {"TableName": table, "Item": row}, error) from None

    def submit(self) -> PendingPuts:
        """Put the rows without waiting."""
        pending = PendingPuts(self._database.store.queue)

        def work(batch: WriteBatch) -> Answer:
            began = perf_counter()
            answer = self._puts.work(batch)
            pending.ran(perf_counter() - began)
            return answer

        self._database.submit_work(work, pending.done)
        return pending


class PendingPuts:
    """Rows that are on their way to the disk. Its two futures are completed on the writer's thread."""

    def __init__(self, queue: WriteQueue[WriteBatch]) -> None:
        self._queue = queue
        self.turn: Future[dict[str, Any]] = Future()
        self.answer: Future[dict[str, Any]] = Future()
        for future in (self.turn, self.answer):
            # A commit that has begun cannot be taken back.
            future.set_running_or_notify_cancel()
        self.work_seconds = self.sync_seconds = 0.0
        self.writes_before = 0
        self.others_wait = False
        self._ran_at = perf_counter()

    def ran(self, seconds: float) -> None:
        self.work_seconds = seconds
        self._ran_at = perf_counter()
        # The work runs again if the map was full.
        if not self.turn.done():
            self.turn.set_result({})

    def done(self, answer: Answer | None, error: BaseException | None) -> None:
        self.sync_seconds = perf_counter() - self._ran_at
        # This work leaves the queue when it is answered.
        self.others_wait = len(self._queue) > 1
        self.writes_before = self._queue.answered
        if not self.turn.done():
            self.turn.set_result({})
        if error is None:
            self.answer.set_result(answer or {})
        elif isinstance(error, DynamoDBError):
            self.answer.set_exception(errors.client_error("BatchWriteItem", {}, error))
        else:
            self.answer.set_exception(error)


def _dynamodb_json(table: str, row: dict[str, Any]) -> Item:
    try:
        return to_dynamodb_json(row)
    except NeedsBotocore:
        request: Any = parameters.request("PutItem", {"TableName": table, "Item": row})
        item: Item = request.item
        return item
