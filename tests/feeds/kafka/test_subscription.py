"""A partition is handled from the group's offset on, each message once, whatever librdkafka delivers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from sortkey.feeds.kafka.kafka_settings import KafkaSettings
from sortkey.feeds.kafka.worker import KafkaWorker
from tests.feeds.kafka.working import SECONDS, Recorder, dead_letters, settings, until, working
from tests.kafka.broker import Broker
from tests.kafka.proxy import LIST_OFFSETS, HoldingProxy
from tests.kafka.topic import committed, everything, produce

MESSAGES = 10
START = 6

Deliver = Callable[[list[Message], list[Message]], list[Message]]


def poisoned(broker: Broker) -> str:
    """A topic of one partition, with messages that will all be rejected."""
    topic = broker.topic(1)
    produce(broker.bootstrap, topic, [("k", b"poison %d" % each) for each in range(MESSAGES)])
    return topic


def commit(kafka: KafkaSettings, offset: int) -> None:
    """As a worker did that has left the group since."""
    consumer = Consumer(kafka.consumer())
    try:
        consumer.commit(offsets=[TopicPartition(kafka.topic, 0, offset)], asynchronous=False)
    finally:
        consumer.close()


def consume(kafka: KafkaSettings, end: int = MESSAGES) -> list[int]:
    """The offsets that a worker's consumer is given, until the group's offset is at the end."""
    recorder = Recorder()

    async def work() -> None:
        async with working(kafka, recorder) as worker:
            await until(lambda: worker.metrics.lags == {0: 0} and recorder.messages != [])
            assert await asyncio.to_thread(committed, kafka.bootstrap, kafka.topic, kafka.group, 1) == [end]

    asyncio.run(work())
    return [message.offset for message in recorder.messages]


def replace_consumer(monkeypatch: pytest.MonkeyPatch, consumer: type[Consumer]) -> None:
    monkeypatch.setattr("sortkey.feeds.kafka.worker.KafkaConsumer", consumer)


def delivering(stale: list[Message], deliver: Deliver) -> type[Consumer]:
    """Delivers stale messages, once, together with the first ones that it has to deliver."""
    waiting = [stale]

    class Delivering(Consumer):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._rest: list[Message] = []

        def poll(self, *arguments: Any) -> Message | None:
            first = super().poll(*arguments)
            if first is None or first.error() is not None or not waiting:
                return first
            live = [first, *super().consume(MESSAGES - START - 1, SECONDS)]
            assert [each.offset() for each in live] == list(range(START, MESSAGES))
            delivered, *self._rest = deliver(live, waiting.pop())
            return delivered

        def consume(self, *arguments: Any) -> list[Message]:
            rest, self._rest = self._rest, []
            return [*rest, *super().consume(*arguments)]

    return Delivering


# librdkafka fetches a partition that is not assigned, if it was revoked while its first offset was looked up. The
# messages come when the partition is assigned again, or in the midst of the others: the group has passed them, and
# their dead letters are sent.
@pytest.mark.parametrize(
    "deliver",
    [
        pytest.param(lambda live, stale: [*stale, *live], id="before"),
        pytest.param(lambda live, stale: [*live, *stale], id="after"),
        pytest.param(lambda live, stale: [*stale, *live[1:]], id="instead of the first"),
    ],
)
@pytest.mark.parametrize("offsets", [range(START), range(MESSAGES), range(START + 2, MESSAGES)], ids=str)
def test_messages_that_librdkafka_delivers_by_mistake_are_not_handled(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, deliver: Deliver, offsets: range
) -> None:
    topic = poisoned(broker)
    kafka = settings(broker, topic)
    commit(kafka, START)
    messages = everything(broker.bootstrap, topic)
    replace_consumer(monkeypatch, delivering([messages[offset] for offset in offsets], deliver))
    assert consume(kafka) == list(range(START, MESSAGES))
    letters = dead_letters(kafka, MESSAGES - START)
    assert [letter.value() for letter in letters] == [b"poison %d" % each for each in range(START, MESSAGES)]


def have_sent(workers: list[KafkaWorker], dead_letters: int) -> bool:
    return sum(worker.metrics.dead_letters for worker in workers) >= dead_letters


# The same with librdkafka's own mistake. The first worker gets no answer about where its partitions start; one of them
# moves to the second worker and back, and then the answers come.
def test_an_answer_that_comes_after_the_partition_has_moved_and_come_back(broker: Broker) -> None:
    topic = broker.topic(2)
    poison = [(f"key-{each}", b"poison %d" % each) for each in range(60)]
    produce(broker.bootstrap, topic, poison[:20])
    direct = settings(broker, topic, **{"heartbeat.interval.ms": "200"})
    first, second = Recorder(), Recorder()

    async def work(proxy: HoldingProxy) -> None:
        async with working(msgspec.structs.replace(direct, bootstrap=proxy.bootstrap), first) as staying:
            await asyncio.to_thread(proxy.holding.wait, SECONDS)
            async with working(direct, second) as leaving:
                await until(lambda: leaving.metrics.dead_letters > 0)
            await until(lambda: staying.metrics.partitions == 2)
            proxy.release()
            # librdkafka asks again half a second after the late answer; commits are a second apart.
            for begin in (20, 40):
                await until(partial(have_sent, [staying, leaving], begin))
                await asyncio.to_thread(produce, broker.bootstrap, topic, poison[begin : begin + 20])
            await until(partial(have_sent, [staying, leaving], len(poison)))

    with HoldingProxy(broker, LIST_OFFSETS) as proxy:
        asyncio.run(work(proxy))
    letters = dead_letters(direct, len(poison))
    assert sorted(letter.value() or b"" for letter in letters) == sorted(value for _, value in poison)


def assigning(starts: list[int]) -> type[Consumer]:
    """Remembers the offsets that partitions are assigned with."""

    class Assigning(Consumer):
        def incremental_assign(self, partitions: list[TopicPartition]) -> None:
            starts.extend(each.offset for each in partitions)
            super().incremental_assign(partitions)

        def assign(self, partitions: list[TopicPartition]) -> None:
            starts.extend(each.offset for each in partitions)
            super().assign(partitions)

    return Assigning


# A lookup by librdkafka could be answered after the partition was revoked, and move it when it is assigned again.
@pytest.mark.parametrize("properties", [{}, {"partition.assignment.strategy": "range"}, {"group.protocol": "consumer"}])
def test_librdkafka_looks_up_no_offset(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, properties: dict[str, str]
) -> None:
    starts: list[int] = []
    replace_consumer(monkeypatch, assigning(starts))
    kafka = settings(broker, poisoned(broker), **properties)
    assert consume(kafka) == list(range(MESSAGES))
    produce(broker.bootstrap, kafka.topic, [("k", b"more")])
    assert consume(kafka, MESSAGES + 1) == [MESSAGES]
    assert starts == [0, MESSAGES]


def test_a_group_without_offsets_that_starts_at_the_end(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[int] = []
    replace_consumer(monkeypatch, assigning(starts))
    kafka = settings(broker, poisoned(broker), **{"auto.offset.reset": "latest"})
    recorder = Recorder()

    async def work() -> None:
        async with working(kafka, recorder):
            await asyncio.to_thread(produce, broker.bootstrap, kafka.topic, [("k", b"more")])
            await recorder.until(1)

    asyncio.run(work())
    assert [message.offset for message in recorder.messages] == starts == [MESSAGES]


# The end of a transaction takes an offset, and so does a message that was compacted away.
def test_a_start_offset_without_a_message(broker: Broker) -> None:
    topic = broker.topic(1)
    kafka = settings(broker, topic)
    producer = Producer(kafka.producer("elsewhere"))
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"0")
    producer.commit_transaction(SECONDS)
    produce(broker.bootstrap, topic, [("k", b"2"), ("k", b"3")])
    commit(kafka, 1)
    assert consume(kafka, 4) == [2, 3]


# A worker was killed in the midst of a transaction, and Kafka has not ended it yet.
def test_a_partition_whose_offset_is_in_a_transaction_waits_for_its_end(broker: Broker) -> None:
    kafka = settings(broker, poisoned(broker))
    producer = Producer(kafka.producer("killed") | {"transaction.timeout.ms": 60_000})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    killed = Consumer(kafka.consumer())
    offsets = [TopicPartition(kafka.topic, 0, START)]
    producer.send_offsets_to_transaction(offsets, killed.consumer_group_metadata(), SECONDS)
    killed.close()
    recorder = Recorder()

    async def work() -> None:
        async with working(kafka, recorder) as worker:
            await until(lambda: worker.metrics.partitions == 1)
            assert recorder.messages == []
            await asyncio.to_thread(producer.commit_transaction, SECONDS)
            await until(lambda: worker.metrics.dead_letters == MESSAGES - START)

    asyncio.run(work())
    assert [message.offset for message in recorder.messages] == list(range(START, MESSAGES))


def test_offsets_that_cannot_be_read_at_first(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = iter(range(2))

    class Failing(Consumer):
        def committed(self, *arguments: Any, **options: Any) -> list[TopicPartition]:
            if next(failures, None) is not None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "no answer"))
            return super().committed(*arguments, **options)

    replace_consumer(monkeypatch, Failing)
    kafka = settings(broker, poisoned(broker))
    commit(kafka, START)
    assert consume(kafka) == list(range(START, MESSAGES))


# It would say that a worker has handled everything, before it has seen how much there is.
def test_there_is_no_lag_before_the_end_of_the_topic_is_known(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0

    class Unfetched(Consumer):
        def get_watermark_offsets(self, *arguments: Any, **options: Any) -> tuple[int, int]:
            nonlocal measured
            if not options.get("cached"):
                return super().get_watermark_offsets(*arguments, **options)
            measured += 1
            return OFFSET_INVALID, OFFSET_INVALID

    replace_consumer(monkeypatch, Unfetched)
    kafka = settings(broker, poisoned(broker))
    commit(kafka, START)

    async def work() -> None:
        async with working(kafka, Recorder()) as worker:
            await until(lambda: measured > 1)
            assert worker.metrics.lags == {}

    asyncio.run(work())
