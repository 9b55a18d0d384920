"""A client that records the requests of a session, and passes them to the store."""

from __future__ import annotations

from typing import Any, Final

import orjson

from sortkey.client.boto3_shapes import Unparsed
from sortkey.client.interface import AsyncClient
from sortkey.client.stores import Capabilities

WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})


class Recorder(AsyncClient):
    """Passes every request on unchanged."""

    def __init__(self, client: AsyncClient) -> None:
        self.meta = client.meta
        self._client = client
        self.reads = 0
        self.writes = 0
        """The number of write requests, with rejected ones."""
        self.units = 0.0
        self.texts: list[bytes] = []
        """The rows returned, as lists in JSON."""

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        self._count(operation)
        answer = await self._client._call(operation, members)
        self._note(answer, [orjson.dumps(answer[name]) for name in ("Item", "Items") if name in answer])
        return answer

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        self._count(operation)
        answer = await self._client._call_unparsed(operation, members, binary)
        found = [answer[name] for name in ("Item", "Items") if name in answer]
        found += answer.get("Responses", {}).values()
        self._note(answer, [each.text for each in found if isinstance(each, Unparsed)])
        return answer

    def _count(self, operation: str) -> None:
        if operation in WRITES:
            self.writes += 1
        else:
            self.reads += 1

    def _note(self, answer: dict[str, Any], texts: list[bytes]) -> None:
        consumed = answer.get("ConsumedCapacity", [])
        for each in consumed if isinstance(consumed, list) else [consumed]:
            self.units += each["CapacityUnits"]
        self.texts += texts

    async def capabilities(self) -> Capabilities:
        return await self._client.capabilities()

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:  # noqa: N803
        return await self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    async def close(self) -> None:
        await self._client.close()
