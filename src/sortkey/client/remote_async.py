"""The async twin of the remote client, over aiobotocore."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError

from sortkey.client import capabilities, errors, fast_remote, remote_answers, remote_requests
from sortkey.client.capabilities import Capabilities
from sortkey.client.interface import AsyncClient
from sortkey.client.metadata import ClientMeta
from sortkey.client.remote_connection import STREAM_POLL_SECONDS, configuration, connection
from sortkey.client.service_model import METHOD_OF, service_of
from sortkey.client.store_url import Remote
from sortkey.client.unparsed_items import READS, items_parsed


class AsyncRemoteClient(AsyncClient):
    """Belongs to the event loop of its first call, as its connections do."""

    def __init__(self, url: str, remote: Remote) -> None:
        self._connection = connection(remote)
        self._capabilities = self._connection.capabilities
        self._clients: dict[str, Any] = {}
        self._shortcut: fast_remote.AsyncFastRemote | None = None
        self._making = asyncio.Lock()
        self._open = AsyncExitStack()
        self._closed = False
        self.meta = ClientMeta(url, self._connection.region)

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = await self._read(operation, members)
        return items_parsed(answer) if operation in READS else answer

    async def _read(self, operation: str, members: dict[str, Any], plain: bool = False) -> dict[str, Any]:
        service = service_of(operation)
        client = self._clients.get(service) or await self._client(service)
        if self._shortcut is not None and operation in READS:
            read = await self._shortcut.read(operation, members, plain)
            if read is not None:
                return read
        try:
            answer: dict[str, Any] = await getattr(client, METHOD_OF[operation])(**members)
        except ClientError as error:
            raise errors.of_one_set(operation, members, error) from None
        return answer

    async def _client(self, service: str) -> Any:
        async with self._making:
            if self._closed:
                raise RuntimeError(f"this client of {self.meta.endpoint_url!r} is closed")
            if service not in self._clients:
                session = remote_answers.install(get_session())
                config = AioConfig(**configuration(session))
                made = session.create_client(service, config=config, **self._connection.arguments)
                opened = remote_requests.install(await self._open.enter_async_context(made))
                self._clients[service] = opened
                if service == "dynamodb" and fast_remote.is_possible(opened):
                    self._shortcut = fast_remote.AsyncFastRemote(opened)
            return self._clients[service]

    async def capabilities(self) -> Capabilities:
        if self._capabilities is None:
            try:
                answer: Mapping[str, Any] = await self.list_tables(Limit=1)
            except ClientError as error:
                # An error has a header too, and who may not list tables may still use them.
                answer = error.response
            self._capabilities = capabilities.of_answer(answer)
        return self._capabilities

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        """As in the process, though by asking again and again: a network tells nobody of new records."""
        deadline = time.monotonic() + Timeout
        while True:
            answer = await self.get_records(ShardIterator=ShardIterator, Limit=1)
            if answer["Records"] or answer.get("NextShardIterator") is None:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            ShardIterator = answer["NextShardIterator"]
            await asyncio.sleep(min(STREAM_POLL_SECONDS, left))

    async def close(self) -> None:
        async with self._making:
            self._closed = True
            self._clients = {}
            await self._open.aclose()
