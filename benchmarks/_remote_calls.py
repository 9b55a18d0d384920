"""How the requests of both sides are counted: ours by a client around the session's, the bare ones as they are sent.

`Bare` is what a program would do that needs nothing but the requests: boto3's client, and as many threads as there may
be requests in flight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from threading import Lock
from time import perf_counter, process_time
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from sortkey.client.interface import AsyncClient
from sortkey.client.stores import Capabilities
from sortkey.limits import BATCH_GET_KEYS, BATCH_WRITE_REQUESTS

T = TypeVar("T")

STREAMS: Final = frozenset({"list_streams", "describe_stream", "get_shard_iterator", "get_records"})
_UNMET: Final = "ConditionalCheckFailedException"


class Requests:
    """Those of one side: how many, and how long each was under way. The bare ones are of many threads."""

    def __init__(self) -> None:
        self.operations: Counter[str] = Counter()
        self.seconds = 0.0
        """The sum of all."""
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = Lock()

    @contextmanager
    def under_way(self, operation: str) -> Iterator[None]:
        with self._lock:
            self.operations[operation] += 1
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        began = perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.seconds += perf_counter() - began
                self._in_flight -= 1


class Stopwatch:
    """What blocks take: the time, that of the processor in this process, and the requests that are counted there."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self.seconds = 0.0
        self.processor = 0.0
        self.requests = 0
        self._under_way = 0.0

    @property
    def in_flight(self) -> float:
        """Requests, on average."""
        return self._under_way / self.seconds

    def __enter__(self) -> Self:
        self._before = self._requests.operations.total(), self._requests.seconds
        self._began = perf_counter(), process_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (began, processor), (number, seconds) = self._began, self._before
        self.seconds += perf_counter() - began
        self.processor += process_time() - processor
        self.requests += self._requests.operations.total() - number
        self._under_way += self._requests.seconds - seconds


class CountedClient(AsyncClient):
    """Passes every request on, and counts."""

    def __init__(self, client: AsyncClient) -> None:
        self.meta = client.meta
        self._client = client
        self.requests = Requests()

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        with self.requests.under_way(operation):
            return await self._client._call(operation, members)

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        with self.requests.under_way(operation):
            return await self._client._call_unparsed(operation, members, binary)

    @property
    def in_flight(self) -> int:
        return self._client.in_flight

    async def capabilities(self) -> Capabilities:
        return await self._client.capabilities()

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:  # noqa: N803
        return await self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    async def close(self) -> None:
        await self._client.close()


class Bare:
    """boto3 with `in_flight` threads. Each method returns when all its requests are answered."""

    def __init__(self, url: str, prefix: str, in_flight: int) -> None:
        session = boto3.Session("sortkey", "sortkey", region_name="us-east-1")
        config = Config(max_pool_connections=in_flight, retries={"mode": "standard"})
        self._client: Any = session.client("dynamodb", endpoint_url=url, config=config)
        self._streams: Any = session.client("dynamodbstreams", endpoint_url=url, config=config)
        self._prefix = prefix
        self._pool = ThreadPoolExecutor(in_flight)
        self.requests = Requests()

    def table(self, name: str) -> str:
        return self._prefix + name

    def send(self, method: str, **members: Any) -> dict[str, Any]:
        return self._sent(method, members)

    def each(self, method: str, requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Sends all requests. A condition that is not met is an answer without members."""
        return list(self._pool.map(lambda members: self._sent(method, members), requests))

    def put_batches(self, table: str, rows: Sequence[dict[str, Any]]) -> None:
        name = self.table(table)
        self.each(
            "batch_write_item",
            (
                {"RequestItems": {name: [{"PutRequest": {"Item": row}} for row in part]}}
                for part in parts(rows, BATCH_WRITE_REQUESTS)
            ),
        )

    def get_batches(self, table: str, keys: Sequence[dict[str, Any]]) -> None:
        name = self.table(table)
        self.each(
            "batch_get_item",
            ({"RequestItems": {name: {"Keys": part, "ConsistentRead": True}}} for part in parts(keys, BATCH_GET_KEYS)),
        )

    def records(self, table: str) -> Iterator[list[dict[str, Any]]]:
        """All records of the table's stream, a thousand at a time."""
        stream = self.send("describe_table", TableName=self.table(table))["Table"]["LatestStreamArn"]
        for shard in self.send("describe_stream", StreamArn=stream)["StreamDescription"]["Shards"]:
            start = {"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = self.send("get_shard_iterator", **start)["ShardIterator"]
            while iterator is not None:
                answer = self.send("get_records", ShardIterator=iterator, Limit=1000)
                if not answer["Records"]:
                    break
                yield answer["Records"]
                iterator = answer.get("NextShardIterator")

    def _sent(self, method: str, members: dict[str, Any]) -> dict[str, Any]:
        client = self._streams if method in STREAMS else self._client
        try:
            with self.requests.under_way(method):
                answer: dict[str, Any] = getattr(client, method)(**members)
        except ClientError as error:
            if error.response["Error"]["Code"] != _UNMET:
                raise
            return {}
        return answer

    def close(self) -> None:
        self._pool.shutdown()
        self._client.close()
        self._streams.close()


def parts(things: Sequence[T], size: int) -> Iterator[list[T]]:
    rest = iter(things)
    while part := list(islice(rest, size)):
        yield part
