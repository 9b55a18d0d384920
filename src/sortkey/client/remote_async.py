"""The async remote client, over aiobotocore.

No other module imports aiobotocore, and this one is imported when an async remote store is opened: aiobotocore is an
optional dependency, and takes tenths of a second to import.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

from aiobotocore.config import AioConfig
from aiobotocore.credentials import AioCredentials
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import get_session
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import BotoCoreError, ClientError

from sortkey.client import errors, fast_requests, own_clients, remote_formats
from sortkey.client.boto3_shapes import UNPARSED_READS, with_parsed_items
from sortkey.client.fast_requests import FAST_OPERATIONS, FastRequests
from sortkey.client.fence_watch import LOOK, WRITES
from sortkey.client.interface import AsyncClient
from sortkey.client.remote_connection import STREAM_POLL_SECONDS, AnyRemoteClient, AwsSession
from sortkey.client.remote_formats import request_body
from sortkey.client.service_model import METHOD_OF, service_of
from sortkey.client.stores import DEFAULT_ACCESS, AwsAccess, Capabilities, Remote, capabilities_of
from sortkey.clock import monotonic


class AsyncRemoteClient(AnyRemoteClient[Coroutine[Any, Any, dict[str, Any]]], AsyncClient):
    """Belongs to the event loop of its first call, as its connections do."""

    def __init__(self, url: str, remote: Remote, access: AwsAccess = DEFAULT_ACCESS) -> None:
        super().__init__(url, remote, access, AwsSession(access.session, get_session, is_async=True))
        self._fast: AsyncFastRequests | None = None
        self._opening = asyncio.Lock()
        self._open = AsyncExitStack()

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = await self._call_unparsed(operation, members)
        return with_parsed_items(answer) if operation in UNPARSED_READS else answer

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        service = service_of(operation)
        client = self._clients.get(service) or await self._client(service)
        if self._fences is not None and operation in WRITES:
            if self._fences.is_due:
                self._fences.seen(await self._look(client))
            self._fences.check(operation, members)
        if self._fast is not None and operation in FAST_OPERATIONS:
            found = await self._fast.send(operation, members, binary)
            if found is not None:
                return found
        try:
            answer: dict[str, Any] = await getattr(client, METHOD_OF[operation])(**members)
        except ClientError as error:
            raise errors.remote_error(operation, members, error) from None
        return answer

    @staticmethod
    async def _look(client: Any) -> dict[str, Any] | None:
        try:
            answer: dict[str, Any] = with_parsed_items(await client.get_item(**LOOK))
        except (BotoCoreError, ClientError):
            # No such table, or no right to read it; the write itself finds out what else is wrong.
            return None
        return answer

    async def _client(self, service: str) -> Any:
        async with self._opening:
            self._check_open()
            if service not in self._clients:
                made_http: list[AIOHTTPSession] = []

                def make_http(**arguments: Any) -> AIOHTTPSession:
                    made_http.append(AIOHTTPSession(**arguments))
                    return made_http[0]

                settings = self._session.configuration(self._connections_needed)
                config = self._configured(AioConfig(http_session_cls=make_http, **settings))
                made = self._session.create_client(service, config=config, **self._settings.arguments)
                opened = await self._open.enter_async_context(made)
                self._open.callback(weakref.finalize(self, _abandon, asyncio.get_running_loop(), made_http).detach)
                own_clients.add(opened)
                remote_formats.install(opened)
                # A configuration of the program's own may have another class of HTTP sessions.
                fast = service == "dynamodb" and not self._session.is_given and made_http
                if fast and fast_requests.is_possible(opened):
                    self._fast = AsyncFastRequests(opened, await self._credentials(), made_http[0])
                self._clients[service] = opened
            return self._clients[service]

    async def _credentials(self) -> Any:
        keys = self._settings.keys
        return AioCredentials(*keys) if keys else await self._session.get_credentials()

    async def capabilities(self) -> Capabilities:
        if self._capabilities is None:
            try:
                answer: Mapping[str, Any] = await self.list_tables(Limit=1)
            except ClientError as error:
                # An error has the header too, and a caller without the right to list tables may still use them.
                answer = error.response
            self._capabilities = capabilities_of(answer)
        return self._capabilities

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        # By polling: an endpoint does not announce records.
        until = monotonic() + Timeout
        while True:
            answer = await self.get_records(ShardIterator=ShardIterator, Limit=1)
            if answer["Records"] or answer.get("NextShardIterator") is None:
                return True
            left = until - monotonic()
            if left <= 0:
                return False
            ShardIterator = answer["NextShardIterator"]
            await asyncio.sleep(min(STREAM_POLL_SECONDS, left))

    async def close(self) -> None:
        async with self._opening:
            self._closed = True
            self._clients = {}
            await self._open.aclose()


_ending: Final[set[asyncio.Task[None]]] = set()
"""Referenced here, because an event loop keeps only weak references to its tasks."""


def _abandon(loop: asyncio.AbstractEventLoop, sessions: list[AIOHTTPSession]) -> None:
    """End the connections of a client that was not closed. Our own ResourceWarning tells its program; aiohttp would
    also write to standard error."""
    for http in sessions:
        if loop.is_closed():
            # Nothing is left to wait for.
            ending = http.close()
            with suppress(StopIteration):
                ending.send(None)
            ending.close()
        elif _is_running(loop):
            task = loop.create_task(http.close())
            _ending.add(task)
            task.add_done_callback(_ending.discard)


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """In this thread."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


class AsyncFastRequests(FastRequests):
    """The fast way, async."""

    def __init__(self, client: Any, credentials: Any, http: AIOHTTPSession) -> None:
        super().__init__(client)
        self._credentials = credentials
        self._http = http

    async def send(self, operation: str, members: dict[str, Any], binary: bool) -> dict[str, Any] | None:
        """See `answer`."""
        body = request_body(operation, members, binary)
        if body is None or self._credentials is None:
            return None
        try:
            headers: Any = self.signed_headers(operation, body, await self._credentials.get_frozen_credentials())
            response = await self._http.send(AWSPreparedRequest("POST", self.url, headers, body, False))
            content = await response.content
        except BotoCoreError:
            return None
        return self.answer(operation, members, response.status_code, response.headers, content)
