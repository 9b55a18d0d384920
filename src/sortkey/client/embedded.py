"""The embedded client: boto3's low-level DynamoDB client, without a network."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Self

from sortkey.client import capabilities, errors, parameters, store_url
from sortkey.client.boto3_shapes import Unparsed, date_records, to_boto3, with_unparsed_items
from sortkey.client.capabilities import Capabilities
from sortkey.client.interface import AnyClient, Client, warn_unclosed
from sortkey.client.metadata import ClientMeta, response_metadata
from sortkey.client.methods import R
from sortkey.client.open_databases import DatabaseHandle, open_database
from sortkey.client.row_puts import RowPuts
from sortkey.engine.database import Database
from sortkey.engine.faults.faults import Faults
from sortkey.engine.operations.fast_path import rows_by_text_keys
from sortkey.engine.operations.items import row_by_key
from sortkey.engine.requests.items import GetItem
from sortkey.engine.rows.stored_item import has_binary, text
from sortkey.engine.streams import stream_reader
from sortkey.engine.tables.core import Answer
from sortkey.errors import DynamoDBError


class AnyEmbeddedClient(AnyClient[R]):
    """What the sync and the async client have in common: a handle to a database, and calls that block."""

    def __init__(self, store: store_url.Store, faults: Faults | None = None) -> None:
        self._handle = open_database(store, faults)
        self.meta = ClientMeta(store.url, self.database.settings.region)

    def __del__(self) -> None:
        handle: DatabaseHandle | None = getattr(self, "_handle", None)
        if handle is not None and handle.database is not None:
            handle.abandon()
            warn_unclosed(self, handle.url)

    @property
    def database(self) -> Database:
        database = self._handle.database
        if database is None:
            raise self._handle.closed_error()
        return database

    @property
    def in_process_reads(self) -> Self | None:
        return self if self.database.faults is None else None

    @property
    def in_process_puts(self) -> Callable[[], RowPuts] | None:
        # Faults are injected into requests.
        return None if self.database.faults is not None else lambda: RowPuts(self.database)

    def get_unparsed(self, table: str, key: dict[str, Any], consistent: bool) -> tuple[Unparsed | None, float]:
        """See `InProcessReads`. Parameters are not checked: half the time of a read is the way to the engine."""
        database = self._handle.database
        if database is None:
            raise self._handle.closed_error()
        try:
            found = row_by_key(database, table, key, consistent)
            if found is not None:
                _, row, units = found
                return None if row is None else Unparsed(text(row), has_binary(row)), units
            request = GetItem(table_name=table, key=key, consistent_read=consistent, return_consumed_capacity="TOTAL")
            answer = database.execute("GetItem", request)
        except DynamoDBError as error:
            raise errors.client_error("GetItem", {"TableName": table, "Key": key}, error) from None
        item = answer.get("Item")
        return None if item is None else Unparsed(item.text, item.binary), answer["ConsumedCapacity"]["CapacityUnits"]

    def lookup_unparsed(
        self, table: str, pairs: Collection[tuple[str, str]], consistent: bool, gaps: bool
    ) -> tuple[Unparsed, int, float] | None:
        """See `InProcessReads`."""
        database = self._handle.database
        if database is None:
            raise self._handle.closed_error()
        try:
            found = rows_by_text_keys(database, table, pairs, consistent, gaps)
        except DynamoDBError as error:
            raise errors.client_error("BatchGetItem", {}, error) from None
        return None if found is None else (Unparsed(found.items.text, found.items.binary), found.number, found.units)

    def _execute(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        return boto3_answer(operation, self._answer(operation, members))

    def _execute_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        return with_unparsed_items(self._answer(operation, members, binary))

    def _answer(self, operation: str, members: dict[str, Any], binary: bool = True) -> Answer:
        # Not by the property `database`: this is the hot path of every read.
        database = self._handle.database
        if database is None:
            raise self._handle.closed_error()
        try:
            return database.execute(operation, parameters.request(operation, members, binary))
        except DynamoDBError as error:
            raise errors.client_error(operation, members, error) from None


class EmbeddedClient(AnyEmbeddedClient[dict[str, Any]], Client):
    """Any number of threads may share one client. A write returns when it is on disk."""

    _call = AnyEmbeddedClient._execute
    _call_unparsed = AnyEmbeddedClient._execute_unparsed

    def capabilities(self) -> Capabilities:
        return capabilities.EMBEDDED

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        with errors.translated("GetRecords", {"ShardIterator": ShardIterator}) as members:
            parameters.request("GetRecords", members)
            return stream_reader.wait_for_records(self.database, ShardIterator, Timeout)

    def close(self) -> None:
        self._handle.close()


def boto3_answer(operation: str, answer: Answer) -> dict[str, Any]:
    """An engine's answer in boto3's shape, with its metadata."""
    result = to_boto3(answer)
    if operation == "GetRecords":
        date_records(result["Records"])
    result["ResponseMetadata"] = response_metadata()
    return result
