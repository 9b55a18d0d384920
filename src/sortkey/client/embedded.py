"""The embedded client: boto3's low-level DynamoDB client, without a network."""

from __future__ import annotations

from typing import Any, Final, Self

from botocore.paginate import Paginator
from botocore.waiter import Waiter

from sortkey.client import failures, leases, paging, parameters, urls, waiters
from sortkey.client.failures import EXCEPTIONS, Exceptions
from sortkey.client.metadata import ClientMeta, response_metadata
from sortkey.client.methods import Methods, R
from sortkey.client.service_model import OPERATION_OF
from sortkey.client.shapes import date_records, from_wire
from sortkey.engine.core import Answer
from sortkey.engine.database import Database
from sortkey.engine.streams import waiting
from sortkey.errors import DynamoDBError


class Embedded(Methods[R]):
    """What the sync and the async client have in common: a hold on a database, and calls that wait for their answer."""

    exceptions: Final[Exceptions] = EXCEPTIONS
    """DynamoDB's errors by name, to be caught."""

    def __init__(self, store: urls.Store) -> None:
        self._lease = leases.take(store)
        self.meta = ClientMeta(store.url, self._database().settings.region)

    def can_paginate(self, operation_name: str) -> bool:
        """Whether there is a paginator for a method, given by its name."""
        return paging.can_paginate(operation_name)

    def _database(self) -> Database:
        database = self._lease.database
        if database is None:
            raise self._lease.refusal()
        return database

    def _execute(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        # Not by `_database()`: this is the hot path of every read.
        database = self._lease.database
        if database is None:
            raise self._lease.refusal()
        try:
            answer = database.execute(operation, parameters.request(operation, members))
        except DynamoDBError as error:
            raise failures.client_error(operation, members, error) from None
        return native(operation, answer)

    def _executing(self, operation: str) -> paging.Call:
        """A method that waits for its answer, as botocore's paginators and waiters call it."""
        return lambda **members: self._execute(operation, members)

    def _paginator(self, method: str) -> Paginator[dict[str, Any]]:
        return paging.paginator(method, self._executing(OPERATION_OF.get(method, method)))


class Client(Embedded[dict[str, Any]]):
    """Calls return their answers. Any number of threads may share one client."""

    _call = Embedded._execute

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:  # noqa: N803 (as GetRecords names it)
        """Block until `get_records` has records for this iterator, or the shard has ended; False if not in time."""
        with failures.translated("GetRecords", {"ShardIterator": ShardIterator}) as members:
            parameters.request("GetRecords", members)
            return waiting.wait_for_records(self._database(), ShardIterator, Timeout)

    def get_paginator(self, operation_name: str) -> Paginator[dict[str, Any]]:
        """botocore's paginator of a method, given by its name."""
        return self._paginator(operation_name)

    def get_waiter(self, waiter_name: str) -> Waiter:
        """botocore's waiter, such as `table_exists`."""
        return waiters.waiter(waiter_name, self._executing)

    def close(self) -> None:
        """Let go of the store; calls after this raise. The last client of a folder closes it."""
        self._lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def native(operation: str, answer: Answer) -> dict[str, Any]:
    """An answer as boto3 gives it, with its metadata."""
    result = from_wire(answer)
    if operation == "GetRecords":
        date_records(result["Records"])
    result["ResponseMetadata"] = response_metadata()
    return result
