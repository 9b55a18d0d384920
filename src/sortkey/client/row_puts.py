"""Puts of many rows into a store in this process, without a request for every twenty-five of them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from sortkey.client import errors, parameters
from sortkey.client.boto3_shapes import NeedsBotocore, to_dynamodb_json
from sortkey.engine.bulk_put import BulkPut
from sortkey.engine.core import Answer
from sortkey.engine.database import Database
from sortkey.errors import DynamoDBError
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

    def submit(self) -> Future[dict[str, Any]]:
        """Put the rows without waiting. The answer, once they are on disk, has the ConsumedCapacity of them all."""
        future: Future[dict[str, Any]] = Future()
        # A commit that has begun cannot be taken back.
        future.set_running_or_notify_cancel()

        def done(answer: Answer | None, error: BaseException | None) -> None:
            if error is None:
                future.set_result(answer or {})
            elif isinstance(error, DynamoDBError):
                future.set_exception(errors.client_error("BatchWriteItem", {}, error))
            else:
                future.set_exception(error)

        self._database.submit_work(self._puts.work, done)
        return future


def _dynamodb_json(table: str, row: dict[str, Any]) -> Item:
    try:
        return to_dynamodb_json(row)
    except NeedsBotocore:
        request: Any = parameters.request("PutItem", {"TableName": table, "Item": row})
        item: Item = request.item
        return item
