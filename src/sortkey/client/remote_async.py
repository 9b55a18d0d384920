"""The async remote client, over aiobotocore.

No other module imports aiobotocore, and this one is imported when an async remote store is opened: aiobotocore is an
optional dependency, and takes tenths of a second to import.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError

from sortkey.client import capabilities, errors, fast_remote, remote_answers, remote_requests
from sortkey.client.aws_access import DEFAULT, AwsAccess
from sortkey.client.boto3_shapes import UNPARSED_READS, with_parsed_items
from sortkey.client.capabilities import Capabilities
from sortkey.client.interface import AsyncClient
from sortkey.client.remote_connection import STREAM_POLL_SECONDS, AnyRemoteClient, configuration, own_session
from sortkey.client.service_model import METHOD_OF, service_of
from sortkey.client.store_url import Remote


class AsyncRemoteClient(AnyRemoteClient[Coroutine[Any, Any, dict[str, Any]]], AsyncClient):
    """Belongs to the event loop of its first call, as its connections do."""

    def __init__(self, url: str, remote: Remote, access: AwsAccess = DEFAULT) -> None:
        given = access.botocore_session(is_async=True)
        super().__init__(url, remote, access, given)
        self._session = given or own_session(get_session)
        self._fast: fast_remote.AsyncFastRemote | None = None
        self._opening = asyncio.Lock()
        self._open = AsyncExitStack()

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = await self._call_unparsed(operation, members)
        return with_parsed_items(answer) if operation in UNPARSED_READS else answer

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        service = service_of(operation)
        client = self._clients.get(service) or await self._client(service)
        if self._fast is not None and operation in UNPARSED_READS:
            read = await self._fast.read(operation, members, binary)
            if read is not None:
                return read
        try:
            answer: dict[str, Any] = await getattr(client, METHOD_OF[operation])(**members)
        except ClientError as error:
            raise errors.remote_error(operation, members, error) from None
        return answer

    async def _client(self, service: str) -> Any:
        async with self._opening:
            self._check_open()
            if service not in self._clients:
                config = self._access.configured(AioConfig(**configuration(self._session)))
                made = self._session.create_client(service, config=config, **self._connection.arguments)
                opened = remote_requests.install(remote_answers.install(await self._open.enter_async_context(made)))
                self._clients[service] = opened
                if service == "dynamodb" and self._access.session is None and fast_remote.is_possible(opened):
                    self._fast = fast_remote.AsyncFastRemote(opened)
            return self._clients[service]

    async def capabilities(self) -> Capabilities:
        if self._capabilities is None:
            try:
                answer: Mapping[str, Any] = await self.list_tables(Limit=1)
            except ClientError as error:
                # An error has the header too, and a caller without the right to list tables may still use them.
                answer = error.response
            self._capabilities = capabilities.of_answer(answer)
        return self._capabilities

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        # By polling: an endpoint does not announce records.
        until = time.monotonic() + Timeout
        while True:
            answer = await self.get_records(ShardIterator=ShardIterator, Limit=1)
            if answer["Records"] or answer.get("NextShardIterator") is None:
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            ShardIterator = answer["NextShardIterator"]
            await asyncio.sleep(min(STREAM_POLL_SECONDS, left))

    async def close(self) -> None:
        async with self._opening:
            self._closed = True
            self._clients = {}
            await self._open.aclose()
