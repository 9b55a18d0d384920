"""The async embedded client: the same methods, awaited.

Reads run inline: they take microseconds, less than a switch to another thread. Writes wait for the disk, so the
writer's thread carries them out and wakes the event loop when they are durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from sortkey.client import capabilities, errors, parameters
from sortkey.client.capabilities import Capabilities
from sortkey.client.embedded import AnyEmbeddedClient, boto3_answer
from sortkey.client.interface import AsyncClient
from sortkey.engine.operations import WRITES
from sortkey.engine.streams import stream_reader
from sortkey.engine.tables.core import Answer
from sortkey.errors import DynamoDBError


class AsyncEmbeddedClient(AnyEmbeddedClient[Coroutine[Any, Any, dict[str, Any]]], AsyncClient):
    """Any number of event loops may share one client.

    A write whose task is cancelled happens as a whole or not at all.
    """

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        if operation not in WRITES:
            return self._execute(operation, members)
        database = self.database
        pending = _PendingWrite()
        try:
            database.submit(operation, parameters.request(operation, members), pending.done)
            answer = await pending.future
        except DynamoDBError as error:
            raise errors.client_error(operation, members, error) from None
        return boto3_answer(operation, answer)

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        return self._execute_unparsed(operation, members, binary)

    async def capabilities(self) -> Capabilities:
        return capabilities.EMBEDDED

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        with errors.translated("GetRecords", {"ShardIterator": ShardIterator}) as members:
            parameters.request("GetRecords", members)
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
