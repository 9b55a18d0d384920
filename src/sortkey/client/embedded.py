"""The embedded client: boto3's low-level DynamoDB client, without a network."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sortkey.client import capabilities, errors, open_databases, parameters, store_url
from sortkey.client.capabilities import Capabilities
from sortkey.client.interface import AnyClient, Client
from sortkey.client.metadata import ClientMeta, response_metadata
from sortkey.client.methods import R
from sortkey.client.shapes import date_records, from_wire
from sortkey.client.unparsed_items import Unparsed, items_unparsed
from sortkey.engine.core import Answer
from sortkey.engine.database import Database
from sortkey.engine.fast.rows_by_text_keys import rows_by_text_keys
from sortkey.engine.requests.items import GetItem
from sortkey.engine.streams import record_wait
from sortkey.errors import DynamoDBError


class Embedded(AnyClient[R]):
    """What the sync and the async client have in common: a hold on a database, and calls that wait for their answer."""

    def __init__(self, store: store_url.Store) -> None:
        self._lease = open_databases.take(store)
        self.meta = ClientMeta(store.url, self.database.settings.region)

    @property
    def database(self) -> Database:
        database = self._lease.database
        if database is None:
            raise self._lease.error()
        return database

    def _execute(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        return native(operation, self._answer(operation, members))

    def _fetch(self, operation: str, members: dict[str, Any], plain: bool = False) -> dict[str, Any]:
        return items_unparsed(self._answer(operation, members, plain))

    def get_unparsed(self, table: str, key: dict[str, Any], consistent: bool) -> tuple[Unparsed | None, float]:
        """The item of a key, and the units that it took. The key was made and not given, so that it needs no checking,
        and has binary as base64: half of what a read takes is to get to the engine."""
        database = self._lease.database
        if database is None:
            raise self._lease.error()
        request = GetItem(table_name=table, key=key, consistent_read=consistent, return_consumed_capacity="TOTAL")
        try:
            answer = database.execute("GetItem", request)
        except DynamoDBError as error:
            raise errors.client_error("GetItem", {"TableName": table, "Key": key}, error) from None
        item = answer.get("Item")
        return None if item is None else Unparsed(item.text, item.binary), answer["ConsumedCapacity"]["CapacityUnits"]

    def lookup_unparsed(
        self, table: str, pairs: Collection[tuple[str, str]], consistent: bool, gaps: bool
    ) -> tuple[Unparsed, int, float] | None:
        """The items of keys that are two texts each, all of them different: a list, with nulls for those that are not
        there if `gaps` says so, how many there are, and the units that it took. None for keys and tables that are not
        so plain; BatchGetItem has an answer to those."""
        database = self._lease.database
        if database is None:
            raise self._lease.error()
        found = rows_by_text_keys(database, table, pairs, consistent, gaps)
        return None if found is None else (Unparsed(found.items.text, found.items.binary), found.number, found.units)

    def _answer(self, operation: str, members: dict[str, Any], plain: bool = False) -> Answer:
        # Not by `database`: this is the hot path of every read.
        database = self._lease.database
        if database is None:
            raise self._lease.error()
        try:
            return database.execute(operation, parameters.request(operation, members, plain))
        except DynamoDBError as error:
            raise errors.client_error(operation, members, error) from None


class EmbeddedClient(Embedded[dict[str, Any]], Client):
    _call = Embedded._execute
    _read = Embedded._fetch

    def capabilities(self) -> Capabilities:
        return capabilities.EMBEDDED

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        with errors.translated("GetRecords", {"ShardIterator": ShardIterator}) as members:
            parameters.request("GetRecords", members)
            return record_wait.wait_for_records(self.database, ShardIterator, Timeout)

    def close(self) -> None:
        self._lease.release()


def native(operation: str, answer: Answer) -> dict[str, Any]:
    """An answer as boto3 gives it, with its metadata."""
    result = from_wire(answer)
    if operation == "GetRecords":
        date_records(result["Records"])
    result["ResponseMetadata"] = response_metadata()
    return result
