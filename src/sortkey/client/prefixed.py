"""Clients whose tables have a prefix that callers never see, over any other client."""

from __future__ import annotations

from typing import Any

from sortkey.client.capabilities import Capabilities
from sortkey.client.interface import AsyncClient, Client
from sortkey.client.table_names import TableNames
from sortkey.engine.database import Database


class PrefixedClient(Client):
    def __init__(self, client: Client, prefix: str) -> None:
        self._client = client
        self._names = TableNames(prefix)
        self.meta = client.meta

    @property
    def database(self) -> Database | None:
        return self._client.database

    def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        return self._names.shown(operation, self._client._call(operation, self._names.stored(operation, members)))

    def _read(self, operation: str, members: dict[str, Any], plain: bool = False) -> dict[str, Any]:
        return self._names.shown(
            operation, self._client._read(operation, self._names.stored(operation, members), plain)
        )

    def capabilities(self) -> Capabilities:
        return self._client.capabilities()

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        return self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    def close(self) -> None:
        self._client.close()


class AsyncPrefixedClient(AsyncClient):
    def __init__(self, client: AsyncClient, prefix: str) -> None:
        self._client = client
        self._names = TableNames(prefix)
        self.meta = client.meta

    @property
    def database(self) -> Database | None:
        return self._client.database

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client._call(operation, self._names.stored(operation, members))
        return self._names.shown(operation, answer)

    async def _read(self, operation: str, members: dict[str, Any], plain: bool = False) -> dict[str, Any]:
        answer = await self._client._read(operation, self._names.stored(operation, members), plain)
        return self._names.shown(operation, answer)

    async def capabilities(self) -> Capabilities:
        return await self._client.capabilities()

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        return await self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    async def close(self) -> None:
        await self._client.close()
