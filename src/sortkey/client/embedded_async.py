"""The async twin of the embedded client: the same methods, awaited.

Reads run inline: they take microseconds, less than handing them to a thread would. Writes wait for the disk, so they go
to the writer's thread, and the event loop is told when they are durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from sortkey.client import capabilities, errors, parameters
from sortkey.client.capabilities import Capabilities
from sortkey.client.embedded import Embedded, native
from sortkey.client.interface import AsyncClient
from sortkey.engine.core import Answer
from sortkey.engine.operations import WRITES
from sortkey.engine.streams import record_wait
from sortkey.errors import DynamoDBError


class AsyncEmbeddedClient(Embedded[Coroutine[Any, Any, dict[str, Any]]], AsyncClient):
    """Any number of event loops may share one client.

    A task that is cancelled while it awaits a write does not learn what became of it; the write happens as a whole or
    not at all.
    """

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        if operation not in WRITES:
            return self._execute(operation, members)
        database = self.database
        written = _Written()
        try:
            database.submit(operation, parameters.request(operation, members), written.done)
            answer = await written.future
        except DynamoDBError as error:
            raise errors.client_error(operation, members, error) from None
        return native(operation, answer)

    async def _read(self, operation: str, members: dict[str, Any], plain: bool = False) -> dict[str, Any]:
        return self._fetch(operation, members, plain)

    async def capabilities(self) -> Capabilities:
        return capabilities.EMBEDDED

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        with errors.translated("GetRecords", {"ShardIterator": ShardIterator}) as members:
            parameters.request("GetRecords", members)
            return await record_wait.records_arrived(self.database, ShardIterator, Timeout)

    async def close(self) -> None:
        # Closing waits for the writes under way and for the janitor.
        await asyncio.to_thread(self._lease.release)


class _Written:
    """A write under way: finished on the writer's thread, awaited on the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Answer] = self._loop.create_future()

    def done(self, answer: Answer | None, error: BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._resolve, answer, error)
        except RuntimeError:
            # The loop was closed meanwhile: nobody is left to tell, and the writer must go on.
            pass

    def _resolve(self, answer: Answer | None, error: BaseException | None) -> None:
        if self.future.done():  # cancelled
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(answer or {})
