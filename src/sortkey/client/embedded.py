"""The embedded clients, sync and async: boto3's low-level DynamoDB client, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Self

from botocore.exceptions import ParamValidationError

from sortkey.client import errors, stores
from sortkey.client.boto3_shapes import (
    NeedsBotocore,
    Unparsed,
    date_records,
    to_boto3,
    to_dynamodb_json,
    with_unparsed_items,
)
from sortkey.client.interface import AnyClient, AsyncClient, Client, Request, WriteTogether, warn_unclosed
from sortkey.client.methods import R
from sortkey.client.open_databases import DatabaseHandle, open_database
from sortkey.client.service_model import ClientMeta, response_metadata
from sortkey.client.stores import Capabilities
from sortkey.client.typed_requests import SimilarUpdates, typed_request
from sortkey.clock import DEADLINE, monotonic
from sortkey.engine.database import Database
from sortkey.engine.faults.faults import Faults
from sortkey.engine.operations import STATEMENTS, WRITES, writes
from sortkey.engine.operations.fast_path import rows_by_text_keys
from sortkey.engine.operations.items import row_by_key
from sortkey.engine.operations.write import BulkPut
from sortkey.engine.requests.expression_parameters import only_condition
from sortkey.engine.requests.items import GetItem
from sortkey.engine.rows.stored_item import has_binary, text
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams import stream_reader
from sortkey.engine.tables.core import Answer, Work
from sortkey.errors import DynamoDBError, ServiceUnavailableException
from sortkey.expressions import Condition
from sortkey.storage import FolderBusy, Ticket
from sortkey.storage.write_queue import WriteQueue
from sortkey.values.attribute import Item

SLICE: Final = 64
"""Writes that are prepared in one turn of the event loop, in about a millisecond."""


class AnyEmbeddedClient(AnyClient[R]):
    """What the sync and the async client have in common: a handle to a database, and calls that block."""

    def __init__(self, store: stores.StoreAddress, faults: Faults | None = None) -> None:
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
        return None if self.database.sees_every_request else self

    @property
    def in_process_puts(self) -> Callable[[], RowPuts] | None:
        # Faults are injected into requests.
        return None if self.database.sees_every_request else lambda: RowPuts(self.database)

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
            return database.execute(operation, typed_request(operation, members, binary))
        except DynamoDBError as error:
            raise errors.client_error(operation, members, error) from None
        except FolderBusy as busy:
            raise _busy_error(operation, members, busy) from None


def _busy_error(operation: str, members: dict[str, Any], busy: FolderBusy) -> Exception:
    """The error of a write that another process was in the way of: the answer of an endpoint, unless the caller has a
    deadline."""
    if DEADLINE.get() is not None:
        return busy
    return errors.client_error(operation, members, ServiceUnavailableException(f"Nothing was written: {busy}"))


class EmbeddedClient(AnyEmbeddedClient[dict[str, Any]], Client):
    """Any number of threads may share one client. A write returns when it is on disk.

    While another process writes to the folder, a write waits until the caller's `DEADLINE`, or half a minute. Then it
    is withdrawn, and raises.
    """

    _call = AnyEmbeddedClient._execute
    _call_unparsed = AnyEmbeddedClient._execute_unparsed

    def capabilities(self) -> Capabilities:
        return stores.EMBEDDED_REGIONS if self.database.peers else stores.EMBEDDED

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        with errors.translated("GetRecords", {"ShardIterator": ShardIterator}) as members:
            typed_request("GetRecords", members)
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


class AsyncEmbeddedClient(AnyEmbeddedClient[Coroutine[Any, Any, dict[str, Any]]], AsyncClient):
    """The same methods, awaited.

    Reads run inline: they take microseconds, less than a switch to another thread. Writes wait for the disk, so the
    writer's thread carries them out and wakes the event loop when they are durable.

    Any number of event loops may share one client.

    A write whose task is cancelled happens as a whole or not at all. If it waits for another process, it does not
    happen.
    """

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        if operation not in WRITES:
            return self._execute(operation, members)
        return boto3_answer(operation, await self._written(operation, members))

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        if operation not in WRITES:
            return self._execute_unparsed(operation, members, binary)
        return with_unparsed_items(await self._written(operation, members, binary))

    async def _written(self, operation: str, members: dict[str, Any], binary: bool = True) -> Answer:
        database = self.database
        pending = _PendingWrite()
        try:
            request = typed_request(operation, members, binary)
            if operation in STATEMENTS and not writes(operation, request):
                return self._answer(operation, members)
            ticket = database.submit(operation, request, pending.done)
            return await pending.future
        except DynamoDBError as error:
            raise errors.client_error(operation, members, error) from None
        except FolderBusy as busy:
            raise _busy_error(operation, members, busy) from None
        except asyncio.CancelledError:
            database.store.queue.withdraw_one(ticket)
            raise

    @property
    def write_together(self) -> WriteTogether | None:
        # Faults are injected into requests.
        return None if self.database.sees_every_request else self._write_together

    async def _write_together(self, requests: Sequence[Request]) -> list[dict[str, Any] | Exception]:
        database = self.database
        results: list[Any] = [None] * len(requests)
        works: list[tuple[str, Work]] = []
        places: list[int] = []
        updates = SimilarUpdates(database)
        for place, (operation, members) in enumerate(requests):
            if place % SLICE == SLICE - 1:
                # Other tasks have their turn.
                await asyncio.sleep(0)
            try:
                if operation == "UpdateItem":
                    work = updates.plan(members)
                else:
                    work = database.plan(operation, typed_request(operation, members))
                works.append((operation, work))
            except (DynamoDBError, ParamValidationError) as error:
                results[place] = error
            else:
                places.append(place)
        if works:
            pending = _PendingWrites(len(works))
            tickets = database.submit_all(works, pending.done)
            try:
                await pending.future
            except asyncio.CancelledError:
                for ticket in tickets:
                    database.store.queue.withdraw_one(ticket)
                raise
            for place, result in zip(places, pending.results, strict=True):
                results[place] = result
        return [_boto3_result(*request, result) for request, result in zip(requests, results, strict=True)]

    async def capabilities(self) -> Capabilities:
        return stores.EMBEDDED_REGIONS if self.database.peers else stores.EMBEDDED

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        with errors.translated("GetRecords", {"ShardIterator": ShardIterator}) as members:
            typed_request("GetRecords", members)
            return await stream_reader.wait_for_records_async(self.database, ShardIterator, Timeout)

    async def close(self) -> None:
        # Closing waits for running writes and for the janitor.
        await asyncio.to_thread(self._handle.close)


class _PendingWrite:
    """Completed on the writer's thread, awaited on the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Answer] = self._loop.create_future()

    def done(self, answer: Answer | None, error: BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._resolve, answer, error)
        except RuntimeError:
            # The loop was closed meanwhile, so no task waits; the writer must go on.
            pass

    def _resolve(self, answer: Answer | None, error: BaseException | None) -> None:
        if self.future.done():  # cancelled
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(answer or {})


class _PendingWrites:
    """The same for several writes."""

    def __init__(self, number: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self._loop.create_future()
        self.results: list[Any] = [None] * number
        """The answer or the error of each."""
        self._done: list[int] = []

    def done(self, place: int, answer: Answer | None, error: BaseException | None) -> None:
        self.results[place] = (answer or {}) if error is None else error
        # Two threads may answer: the one that commits, and the one that looks after deadlines.
        self._done.append(place)
        if len(self._done) == len(self.results):
            with suppress(RuntimeError):
                # As above.
                self._loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


def _boto3_result(operation: str, members: dict[str, Any], result: Answer | Exception) -> dict[str, Any] | Exception:
    if isinstance(result, DynamoDBError):
        try:
            return errors.client_error(operation, members, result)
        except ParamValidationError as error:
            return error
    if isinstance(result, FolderBusy):
        return _busy_error(operation, members, result)
    return result if isinstance(result, Exception) else to_boto3(result)


class RowPuts:
    """Puts of many rows into a store in this process, without a request for every twenty-five of them.

    Rows that are put together, in one commit. A set of rows is submitted once.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._puts = BulkPut(database)
        self._conditions: dict[int, tuple[dict[str, Any], Condition | None]] = {}

    def __len__(self) -> int:
        return len(self._puts)

    @property
    def bytes(self) -> int:
        """The size of the rows."""
        return self._puts.bytes

    def add(
        self,
        table: str,
        row: dict[str, Any],
        condition: dict[str, Any] | None = None,
        *,
        size: int | None = None,
    ) -> None:
        """See `InProcessPuts`."""
        try:
            compiled = None if condition is None else self._condition(table, condition)
            try:
                self._puts.add(table, row, compiled, size)
            except DynamoDBError:
                # Most rows have no binary. To convert only those that have saves a tenth of the time.
                converted = _dynamodb_json(table, row)
                if converted is row:
                    raise
                self._puts.add(table, converted, compiled)
        except DynamoDBError as error:
            raise errors.client_error("PutItem", {"TableName": table, "Item": row}, error) from None

    def _condition(self, table: str, members: dict[str, Any]) -> Condition | None:
        known = self._conditions.get(id(members))
        if known is None:
            request = typed_request("PutItem", {"TableName": table, "Item": {}, **members})
            # With the members, whose id no other dict has as long as they are kept.
            known = self._conditions[id(members)] = (members, only_condition(request))
        return known[1]

    def submit(self) -> PendingPuts:
        """Put the rows without waiting."""
        pending = PendingPuts(self._database.store.queue)

        def work(batch: WriteBatch) -> Answer:
            began = monotonic()
            answer = self._puts.work(batch)
            pending.ran(monotonic() - began)
            return answer

        pending.ticket = self._database.submit_work(work, pending.done)
        return pending


class PendingPuts:
    """Rows that are on their way to the disk. Its two futures are completed on the writer's thread."""

    def __init__(self, queue: WriteQueue[WriteBatch]) -> None:
        self._queue = queue
        self.ticket: Ticket[WriteBatch]
        self.turn: Future[dict[str, Any]] = Future()
        self.answer: Future[dict[str, Any]] = Future()
        for future in (self.turn, self.answer):
            # A commit that has begun cannot be taken back.
            future.set_running_or_notify_cancel()
        self.work_seconds = self.sync_seconds = 0.0
        self.writes_before = 0
        self.others_wait = False
        self._ran_at = monotonic()

    def ran(self, seconds: float) -> None:
        self.work_seconds = seconds
        self._ran_at = monotonic()
        # The work runs again if the map was full.
        if not self.turn.done():
            self.turn.set_result({})

    def give_up(self) -> None:
        if self._queue.withdraw_one(self.ticket):
            self.done(None, self._queue.busy_error())

    def done(self, answer: Answer | None, error: BaseException | None) -> None:
        self.sync_seconds = monotonic() - self._ran_at
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
        request: Any = typed_request("PutItem", {"TableName": table, "Item": row})
        item: Item = request.item
        return item
