"""What a service's usual requests read and write, measured: `sortkey cost` multiplies it.

The service runs in a store in memory, with its demonstration data. Each kind of request is sent many times, as a client
sends it, without a socket. After each one its changes go through the service's feeds and timers, as Lambda delivers
them but one by one: batches that fold several changes into one write cost less, so what is measured is an upper bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Final, NamedTuple

import orjson

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.timers.timers import Timers
from sortkey.http.request_parser import Request, RequestError
from sortkey.model.calls.change import Change, ChangeReader
from sortkey.model.costs.meter import Meter
from sortkey.model.costs.monthly_cost import ROW_OVERHEAD_BYTES
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.model.tables.provision import tables_of
from sortkey.patterns.timer_book import asked_by
from sortkey.server.app import app_of
from sortkey.server.app_server import exchange_for
from sortkey.services.interface import Demonstrated, Progress, ServiceDefinition, UsualRequest

SAMPLES: Final = 100
"""Requests of each kind."""
SEED: Final = 24
SOON: Final = timedelta(seconds=5)
"""A timer that is due by then is waited for."""
_AT_ONCE: Final = 1000


class CannotMeasure(Exception):
    """A usual request was not answered as it should be; the message shows both."""


class Units(NamedTuple):
    read: float = 0.0
    write: float = 0.0

    def minus(self, before: Units) -> Units:
        return Units(self.read - before.read, self.write - before.write)


@dataclass(frozen=True, slots=True)
class MeasuredRequest:
    """The means of one kind of request."""

    name: str
    share: float
    """Of all requests, from 0 to 1."""
    units: Units
    later: Units
    """Of the feeds and timers that follow from one."""
    schedules: float
    """Timers that one sets."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What the demonstration data takes, with DynamoDB's overhead."""

    items: int
    stored_bytes: int
    """With indexes."""
    recoverable_bytes: int
    """Without the global ones."""


@dataclass(frozen=True, slots=True)
class UsualMix:
    requests: Sequence[MeasuredRequest]
    stored: Stored


async def measure(
    definition: ServiceDefinition, settings: Mapping[str, Any], progress: Progress, samples: int = SAMPLES
) -> UsualMix:
    """Raises CannotMeasure, and BadSettings."""
    tables = definition.tables(settings)
    async with async_connect("memory:", tables=tables) as session:
        service = definition.service(session, settings)
        await service.start()
        if isinstance(service, Demonstrated):
            await service.load_demo(progress)
        followers = _Followers(session, service.feeds)
        await followers.follow(_AT_ONCE)
        stored = await _stored(session, [table.name for table in tables_of(tables)])
        visitor = Visitor(definition.usual_requests, app_of([service]), session, followers)
        return UsualMix([await visitor.measure(each, samples) for each in definition.usual_requests], stored)


class Visitor:
    """Sends the usual requests."""

    def __init__(self, usual: Sequence[UsualRequest], app: Any, session: AsyncSession, followers: _Followers) -> None:
        self._app = app
        self._session = session
        self._followers = followers
        self._shares = sum(each.share for each in usual)

    async def measure(self, usual: UsualRequest, samples: int) -> MeasuredRequest:
        draw = Random(f"{SEED}/{usual.name}")
        meter = self._session.meter
        read = write = later_read = later_write = 0.0
        schedules = 0
        for _ in range(samples):
            before = _units(meter)
            await self._send(usual, draw)
            units = _units(meter)
            schedules += await self._followers.follow(1)
            asked, followed = units.minus(before), _units(meter).minus(units)
            read, write = read + asked.read, write + asked.write
            later_read, later_write = later_read + followed.read, later_write + followed.write
        return MeasuredRequest(
            usual.name,
            usual.share / self._shares,
            Units(read / samples, write / samples),
            Units(later_read / samples, later_write / samples),
            schedules / samples,
        )

    async def _send(self, usual: UsualRequest, draw: Random) -> None:
        made = usual.make(draw)
        line, content = (made, None) if isinstance(made, str) else made
        method, _, target = line.partition(" ")
        body = b"" if content is None else orjson.dumps(content)
        headers = {b"host": b"localhost", b"content-type": b"application/json"}
        request = Request(method.encode(), target.encode(), headers, body, keep_alive=False)
        try:
            exchange = exchange_for(request, "127.0.0.1")
        except RequestError as error:
            raise CannotMeasure(f"usual request {usual.name!r}: {line!r}: {error.message}") from error
        await self._app.answer(exchange)
        answer = exchange.answer_body.decode(errors="replace")
        # GraphQL answers errors with 200.
        if exchange.status >= 400 or (target.startswith("/graphql") and '"errors"' in answer[:100]):
            raise CannotMeasure(f"usual request {usual.name!r}: {line} was answered {exchange.status}: {answer[:300]}")


def _units(meter: Meter) -> Units:
    readings = meter.readings()
    return Units(sum(each.read_units for each in readings), sum(each.write_units for each in readings))


class _Followers:
    """The feeds and timers of a service, called with what is new in the streams of its tables."""

    def __init__(self, session: AsyncSession, feeds: Sequence[ChangeFeed[Any] | Timers[Any]]) -> None:
        self._session = session
        self._changes = [each for each in feeds if isinstance(each, ChangeFeed)]
        self._timers = [(each, ChangeReader(each.schedule.source.cls)) for each in feeds if isinstance(each, Timers)]
        of_timers = [each.schedule.source.cls.__table__ for each, _ in self._timers]
        self._tables = list(dict.fromkeys([*(each.table for each in self._changes), *of_timers]))
        self._iterators: dict[tuple[str, str], str | None] = {}
        """The place in each shard of each table; None at the end of one that is closed."""

    async def follow(self, at_once: int) -> int:
        """Until there are no more changes. Returns how many timers were set."""
        schedules = 0
        found = True
        while found:
            found = False
            for table in self._tables:
                async for shard, records in self._new_records(table.name):
                    found = True
                    for feed in (each for each in self._changes if each.table is table):
                        read = (feed.reader.own_change(each, shard, low_level=True) for each in records)
                        await _call(feed, [change for change in read if change is not None], at_once)
                    schedules += await self._call_timers(table.name, shard, records)
        return schedules

    async def _call_timers(self, table: str, shard: str, records: Sequence[dict[str, Any]]) -> int:
        schedules = 0
        for timers, reader in self._timers:
            if timers.schedule.source.cls.__table__.name != table:
                continue
            changes = (reader.own_change(each, shard, low_level=True) for each in records)
            asked = {each for change in changes if change is not None for each in asked_by(timers.schedule, change)}
            schedules += len(asked)
            for each in asked:
                early = each.at - context_of(self._session).moment
                if early <= SOON:
                    await asyncio.sleep(max(0.0, early.total_seconds()))
                    await timers.on_due(timers.schedule.due(self._session, each))
        return schedules

    async def _new_records(self, table: str) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
        client = self._session.client
        for stream in (await client.list_streams(TableName=table))["Streams"]:
            arn = stream["StreamArn"]
            shards = (await client.describe_stream(StreamArn=arn))["StreamDescription"]["Shards"]
            for shard in (each["ShardId"] for each in shards):
                place = (arn, shard)
                if place not in self._iterators:
                    start = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
                    self._iterators[place] = (await client.get_shard_iterator(**start))["ShardIterator"]
                while (iterator := self._iterators[place]) is not None:
                    answer = await client.get_records(ShardIterator=iterator)
                    self._iterators[place] = answer.get("NextShardIterator")
                    if not answer["Records"]:
                        break
                    yield shard, answer["Records"]


async def _call(feed: ChangeFeed[Any], changes: Sequence[Change[Any]], at_once: int) -> None:
    for done in range(0, len(changes), at_once):
        await feed.on_changes(changes[done : done + at_once])


async def _stored(session: AsyncSession, tables: Sequence[str]) -> Stored:
    items = stored = recoverable = 0
    for name in tables:
        table = (await session.client.describe_table(TableName=name))["Table"]
        own = table["TableSizeBytes"] + ROW_OVERHEAD_BYTES * table["ItemCount"]
        local = sum(map(_index_bytes, table.get("LocalSecondaryIndexes", ())))
        items += table["ItemCount"]
        stored += own + local + sum(map(_index_bytes, table.get("GlobalSecondaryIndexes", ())))
        recoverable += own + local
    return Stored(items, stored, recoverable)


def _index_bytes(index: Mapping[str, Any]) -> int:
    size: int = index["IndexSizeBytes"] + ROW_OVERHEAD_BYTES * index["ItemCount"]
    return size
