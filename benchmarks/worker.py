"""The Kafka worker, messages a second, beside a loop by hand, and beside the service without Kafka

By hand is confluent-kafka's own consumer in batches, which looks at key and value and commits once a second: no
partitions side by side, no retries, no bounds. The service is boosts on an embedded store, synced; beside it stands the
same service given the same messages from a list, in the worker's batches.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
import uvloop
from confluent_kafka import Consumer as KafkaConsumer

import sortkey as sk
from benchmarks._peers import working_folder
from benchmarks._results import Result
from sortkey.feeds.kafka.kafka_settings import KafkaSettings
from sortkey.feeds.kafka.message import Consumer, Message, Rejected
from sortkey.feeds.kafka.partition_lane import BATCH
from sortkey.feeds.kafka.worker import RECEIVED, UPKEEP_SECONDS, KafkaWorker
from sortkey_services.boosts.demo import REGIONS, events_of
from sortkey_services.boosts.service_definition import BOOSTS
from tests.kafka.broker import Broker, running
from tests.kafka.topic import produce
from tests.maven import Unavailable

PARTITIONS: Final = 4
MESSAGES: Final = 200_000
PARTNERS: Final = 1000
"""Per market, of three."""
TURNS: Final = 3
VALUE: Final = b'{"padding": "%s"}' % (b"x" * 150)

Events = Sequence[tuple[str, bytes]]
Measured = tuple[float, float]
"""Messages per second, and microseconds of processor time per message."""


class Counting:
    """Passes messages to a consumer, and detects when all have arrived."""

    def __init__(self, expected: int, consumer: Consumer | None) -> None:
        self._missing = expected
        self._expected = expected
        self._consumer = consumer
        self._done = asyncio.Event()
        self._started: Measured | None = None

    async def consume(self, messages: Sequence[Message]) -> Sequence[Rejected]:
        # The time to join the group is not measured.
        self._started = self._started or now()
        rejected = [] if self._consumer is None else await self._consumer.consume(messages)
        assert not rejected, rejected[0].reason
        self._missing -= len(messages)
        if self._missing <= 0:
            self._done.set()
        return rejected

    async def measured(self) -> Measured:
        await self._done.wait()
        assert self._started is not None
        return since(self._started, self._expected)


def run() -> Iterator[Result]:
    try:
        with TemporaryDirectory(dir=working_folder()) as folder, running(Path(folder)) as broker:
            yield from measured_on(broker, Path(folder))
    except Unavailable as error:
        print(f"worker: left out, {error}")


def measured_on(broker: Broker, folder: Path) -> Iterator[Result]:
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, [(f"key-{number % 1000}", VALUE) for number in range(MESSAGES)])
    # In turns, so that a noisy moment affects both.
    turns = [(to_nobody(broker, topic, turn), by_hand(broker, topic, turn)) for turn in range(TURNS)]
    ours, bare = (side_of(turns, side) for side in (0, 1))
    yield Result("to nobody", ours[0], "/s", bare[0])
    yield Result("to nobody, processor time", ours[1], "µs", bare[1])
    events = campaign_events()
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, events)
    turns = [(to_boosts(broker, topic, turn, folder), from_list(events, turn, folder)) for turn in range(TURNS)]
    ours, bare = (side_of(turns, side) for side in (0, 1))
    yield Result("to boosts", ours[0], "/s", bare[0])
    yield Result("to boosts, processor time", ours[1], "µs", bare[1])


def side_of(turns: Sequence[tuple[Measured, Measured]], side: int) -> Measured:
    return median(turn[side][0] for turn in turns), median(turn[side][1] for turn in turns)


def campaign_events() -> Events:
    """Events of the demonstration's markets: mostly one per partner, each with one or more rows to write."""
    return [
        (event.partner_id, msgspec.json.encode(event)) for region in REGIONS for event in events_of(region, PARTNERS)
    ]


def settings(broker: Broker, topic: str, turn: int) -> KafkaSettings:
    return KafkaSettings(broker.bootstrap, topic, f"{topic}-worker-{turn}", f"{topic}.dead-letters")


def to_nobody(broker: Broker, topic: str, turn: int) -> Measured:
    async def work() -> Measured:
        return await worked(settings(broker, topic, turn), Counting(MESSAGES, None))

    return uvloop.run(work())


def to_boosts(broker: Broker, topic: str, turn: int, folder: Path) -> Measured:
    async def work(boosts: Consumer, events: int) -> Measured:
        return await worked(settings(broker, topic, turn), Counting(events, boosts))

    return with_boosts(work, folder / f"worker-{turn}", len(campaign_events()))


def from_list(events: Events, turn: int, folder: Path) -> Measured:
    messages = [Message(value, key.encode()) for key, value in events]

    async def work(boosts: Consumer, number: int) -> Measured:
        counting = Counting(number, boosts)
        for first in range(0, number, BATCH):
            await counting.consume(messages[first : first + BATCH])
        return await counting.measured()

    return with_boosts(work, folder / f"list-{turn}", len(events))


def with_boosts(work: Callable[[Consumer, int], Awaitable[Measured]], folder: Path, events: int) -> Measured:
    async def started() -> Measured:
        async with sk.async_connect(folder, tables=BOOSTS.tables({})) as session:
            boosts = BOOSTS.make(session, {})
            assert isinstance(boosts, Consumer)
            await boosts.start()
            return await work(boosts, events)

    return uvloop.run(started())


async def worked(kafka: KafkaSettings, counting: Counting) -> Measured:
    worker = KafkaWorker(kafka, counting)
    running = asyncio.create_task(worker.run(lambda: None))
    measured = await counting.measured()
    worker.stop()
    await running
    return measured


def by_hand(broker: Broker, topic: str, turn: int) -> Measured:
    kafka = settings(broker, topic, turn).consumer() | {"group.id": f"{topic}-hand-{turn}"}
    consumer = KafkaConsumer(kafka)
    consumer.subscribe([topic])
    missing, started, committed = MESSAGES, None, time.monotonic()
    while missing > 0:
        received = consumer.consume(RECEIVED, 0.1)
        if received:
            started = started or now()
        missing -= sum(message.key() is not None and message.value() is not None for message in received)
        if received and time.monotonic() - committed >= UPKEEP_SECONDS:
            consumer.commit(message=received[-1], asynchronous=False)
            committed = time.monotonic()
    assert started is not None
    measured = since(started, MESSAGES)
    consumer.close()
    return measured


def now() -> Measured:
    return time.perf_counter(), time.process_time()


def since(started: Measured, messages: int) -> Measured:
    ended = now()
    return messages / (ended[0] - started[0]), (ended[1] - started[1]) / messages * 1e6
