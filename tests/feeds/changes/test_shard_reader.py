"""A shard's reader survives expired iterators and trimmed records."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from sortkey.client.interface import AsyncClient
from sortkey.client.stores import AWS, DYNAMODB_LOCAL, EMBEDDED, SORTKEY, UNKNOWN
from sortkey.clock import SystemClock
from sortkey.feeds.changes.shard_reader import ReadPace, ShardReader, pace_of
from sortkey.feeds.shards.leases import ShardKey
from sortkey.feeds.shards.metrics import ChangeFeedMetrics


def error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "on purpose"}}, "GetRecords")


class ScriptedClient:
    """A shard with records; the next calls may raise."""

    def __init__(self, numbers: list[int], *, closed: bool = False) -> None:
        self.numbers = numbers
        self.closed = closed
        self.errors: list[ClientError | None] = []
        self.iterators: list[tuple[str, str]] = []

    async def get_shard_iterator(self, *, ShardIteratorType: str, SequenceNumber: str = "", **_: str) -> dict[str, Any]:  # noqa: N803 - boto3's names
        self._fail()
        self.iterators.append((ShardIteratorType, SequenceNumber))
        after = int(SequenceNumber or 0) if ShardIteratorType != "LATEST" else max(self.numbers, default=0)
        return {"ShardIterator": str(after)}

    async def get_records(self, *, ShardIterator: str, Limit: int) -> dict[str, Any]:  # noqa: N803 - boto3's names
        self._fail()
        found = [number for number in self.numbers if number > int(ShardIterator)][:Limit]
        last = found[-1] if found else int(ShardIterator)
        records = [{"dynamodb": {"SequenceNumber": str(number)}} for number in found]
        ended = self.closed and last >= max(self.numbers, default=0)
        return {"Records": records} | ({} if ended else {"NextShardIterator": str(last)})

    def _fail(self) -> None:
        failure = self.errors.pop(0) if self.errors else None
        if failure is not None:
            raise failure


def reader(client: ScriptedClient, after: str = "", latest: bool = False) -> tuple[ShardReader, ChangeFeedMetrics]:
    metrics = ChangeFeedMetrics("parcels", lambda: 0.0, lambda: 1)
    key = ShardKey("stream", "shard-1")
    pace = ReadPace(0.001, 0.0)
    return ShardReader(cast(AsyncClient, client), key, pace, metrics, SystemClock(), after, latest), metrics


def numbers(records: list[dict[str, Any]]) -> list[int]:
    return [int(record["dynamodb"]["SequenceNumber"]) for record in records]


def test_pages_and_the_end_of_a_shard() -> None:
    async def program() -> None:
        shard, _ = reader(ScriptedClient([1, 2, 3], closed=True))
        assert (numbers(await shard.read(2)), shard.has_ended) == ([1, 2], False)
        assert (numbers(await shard.read(2)), shard.has_ended) == ([3], True)
        assert await shard.read(2) == []

    asyncio.run(program())


@pytest.mark.parametrize(
    ("after", "latest", "position"),
    [
        ("", False, ("TRIM_HORIZON", "")),
        ("", True, ("LATEST", "")),
        ("2", False, ("AFTER_SEQUENCE_NUMBER", "2")),
    ],
)
def test_where_it_starts(after: str, latest: bool, position: tuple[str, str]) -> None:
    async def program() -> None:
        client = ScriptedClient([1, 2, 3])
        shard, _ = reader(client, after, latest)
        found = numbers(await shard.read(10))
        assert client.iterators == [position]
        assert found == [number for number in ([] if latest else [1, 2, 3]) if number > int(after or 0)]

    asyncio.run(program())


# A batch may take longer than the 15 minutes that an iterator lives.
def test_an_expired_iterator_is_replaced() -> None:
    async def program() -> None:
        client = ScriptedClient([1, 2, 3])
        shard, metrics = reader(client)
        assert numbers(await shard.read(2)) == [1, 2]
        client.errors = [error("ExpiredIteratorException")]
        assert numbers(await shard.read(2)) == [3]
        assert client.iterators == [("TRIM_HORIZON", ""), ("AFTER_SEQUENCE_NUMBER", "2")]
        assert metrics.trimmed == 0

    asyncio.run(program())


# GetShardIterator and GetRecords can both find that the position is gone.
@pytest.mark.parametrize("before", [[], [None]], ids=["iterator", "records"])
def test_trimmed_records_are_passed_over(before: list[None]) -> None:
    async def program() -> None:
        client = ScriptedClient([7, 8])
        shard, metrics = reader(client, after="2")
        client.errors = [*before, error("TrimmedDataAccessException")]
        assert numbers(await shard.read(10)) == [7, 8]
        assert client.iterators[-1] == ("TRIM_HORIZON", "")
        assert metrics.trimmed == 1

    asyncio.run(program())


def test_a_shard_that_left_the_stream_has_ended() -> None:
    async def program() -> None:
        client = ScriptedClient([7])
        shard, metrics = reader(client, after="2")
        client.errors = [error("ResourceNotFoundException")]
        assert (await shard.read(10), shard.has_ended, metrics.trimmed) == ([], True, 1)

    asyncio.run(program())


def test_other_errors_are_raised_and_nothing_is_passed_over() -> None:
    async def program() -> None:
        client = ScriptedClient([1, 2])
        shard, _ = reader(client)
        client.errors = [None, error("ThrottlingException")]
        with pytest.raises(ClientError, match="ThrottlingException"):
            await shard.read(10)
        assert numbers(await shard.read(10)) == [1, 2]

    asyncio.run(program())


# AWS allows five reads a second of each shard.
def test_only_stores_of_ones_own_are_read_quickly() -> None:
    assert pace_of(EMBEDDED).idle == 0
    assert pace_of(SORTKEY) == pace_of(DYNAMODB_LOCAL) == ReadPace(0.1, 0.0)
    assert pace_of(AWS) == pace_of(UNKNOWN) == ReadPace(0.5, 0.2)
