"""Clients that add a prefix to table names and hide it from callers, over any other client."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine
from typing import Any, Generic, TypeVar

from sortkey.client.boto3_shapes import Unparsed
from sortkey.client.interface import AnyClient, AsyncClient, Client, InProcessPuts, InProcessReads
from sortkey.client.methods import R
from sortkey.client.stores import Capabilities
from sortkey.client.table_names import TableNames
from sortkey.engine.database import Database

C = TypeVar("C", bound=AnyClient[Any])


class PrefixedReads:
    """In-process reads of tables with a prefix."""

    def __init__(self, reads: InProcessReads, prefix: str) -> None:
        self._reads = reads
        self._prefix = prefix

    def get_unparsed(self, table: str, key: dict[str, Any], consistent: bool) -> tuple[Unparsed | None, float]:
        return self._reads.get_unparsed(self._prefix + table, key, consistent)

    def lookup_unparsed(
        self, table: str, pairs: Collection[tuple[str, str]], consistent: bool, gaps: bool
    ) -> tuple[Unparsed, int, float] | None:
        return self._reads.lookup_unparsed(self._prefix + table, pairs, consistent, gaps)


class PrefixedPuts:
    """In-process puts into tables with a prefix."""

    def __init__(self, puts: InProcessPuts, prefix: str) -> None:
        self._puts = puts
        self._prefix = prefix
        self.submit = puts.submit

    def __len__(self) -> int:
        return len(self._puts)

    @property
    def bytes(self) -> int:
        return self._puts.bytes

    def add(self, table: str, row: dict[str, Any]) -> None:
        self._puts.add(self._prefix + table, row)


class AnyPrefixedClient(AnyClient[R], Generic[C, R]):
    """What the sync and the async client have in common."""

    def __init__(self, client: C, prefix: str) -> None:
        self._client = client
        self._names = TableNames(prefix)
        self.meta = client.meta

    @property
    def database(self) -> Database | None:
        return self._client.database

    @property
    def in_process_reads(self) -> InProcessReads | None:
        reads = self._client.in_process_reads
        return None if reads is None else PrefixedReads(reads, self._names.prefix)

    @property
    def in_process_puts(self) -> Callable[[], InProcessPuts] | None:
        puts = self._client.in_process_puts
        return None if puts is None else lambda: PrefixedPuts(puts(), self._names.prefix)


class PrefixedClient(AnyPrefixedClient[Client, dict[str, Any]], Client):
    def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = self._client._call(operation, self._names.add(operation, members))
        return self._names.strip(operation, answer)

    def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        answer = self._client._call_unparsed(operation, self._names.add(operation, members), binary)
        return self._names.strip(operation, answer)

    def capabilities(self) -> Capabilities:
        return self._client.capabilities()

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        return self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    def close(self) -> None:
        self._client.close()


class AsyncPrefixedClient(AnyPrefixedClient[AsyncClient, Coroutine[Any, Any, dict[str, Any]]], AsyncClient):
    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client._call(operation, self._names.add(operation, members))
        return self._names.strip(operation, answer)

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        answer = await self._client._call_unparsed(operation, self._names.add(operation, members), binary)
        return self._names.strip(operation, answer)

    async def capabilities(self) -> Capabilities:
        return await self._client.capabilities()

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        return await self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    async def close(self) -> None:
        await self._client.close()
