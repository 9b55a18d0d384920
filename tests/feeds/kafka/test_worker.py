"""The worker against a real broker: nothing lost, order kept, offsets behind the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from sortkey.feeds.kafka.message import Message
from sortkey.feeds.kafka.partition_lane import PARTITION_LOAD, TOTAL_LOAD
from sortkey.feeds.kafka.worker import RECEIVED, KafkaWorker, WorkerFailed
from tests.feeds.kafka.working import QUICK, SECONDS, Recorder, dead_letters, settings, until, working
from tests.kafka.broker import Broker
from tests.kafka.topic import committed, everything, produce

PARTITIONS = 4
KEYS = 20
NEVER = -1001

Events = list[tuple[str, bytes | None]]
ByKey = dict[bytes | None, list[bytes | None]]


def events(first: int, end: int) -> Events:
    return [(f"key-{each % KEYS}", b"%d" % each) for each in range(first, end)]


def in_order(end: int) -> ByKey:
    return {b"key-%d" % key: [b"%d" % each for each in range(key, end, KEYS)] for key in range(KEYS)}


def partition_of(broker: Broker, topic: str, partition: int) -> int:
    """How many messages it has."""
    return sum(message.partition() == partition for message in everything(broker.bootstrap, topic, PARTITIONS))


# Kafka 4 has a second protocol for groups, which a property switches on.
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_messages_of_a_key_come_in_order_and_are_committed(broker: Broker, protocol: str) -> None:
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, events(0, 5000))
    recorder = Recorder()
    kafka = settings(broker, topic, **{"group.protocol": protocol})

    async def work() -> None:
        async with working(kafka, recorder):
            await recorder.until(5000)

    asyncio.run(work())
    assert recorder.by_key() == in_order(5000)
    assert sum(committed(broker.bootstrap, topic, kafka.group, PARTITIONS)) == 5000


# Partition 0 is retried for as long as it takes. The others do not wait for it; its offset does.
def test_a_partition_that_is_held_up_holds_up_no_other_and_is_not_committed(broker: Broker) -> None:
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, events(0, 5000))
    held = partition_of(broker, topic, 0)
    recorder = Recorder()
    recorder.held = {0}
    kafka = settings(broker, topic)

    async def work() -> None:
        async with working(kafka, recorder) as worker:
            await recorder.until(5000 - held)
            # What is known of all partitions: it measures once a second, and at first perhaps some of them only.
            await until(lambda: sorted(worker.metrics.lags.values()) == [0] * (PARTITIONS - 1) + [held])
            offsets = await asyncio.to_thread(committed, broker.bootstrap, topic, kafka.group, PARTITIONS)
            assert offsets[0] == NEVER
            assert sum(offsets[1:]) == 5000 - held
            await recorder.release()
            await recorder.until(5000)

    asyncio.run(work())
    assert recorder.by_key() == in_order(5000)
    assert committed(broker.bootstrap, topic, kafka.group, PARTITIONS)[0] == held


def test_what_the_consumer_fails_at_is_tried_again_in_order(broker: Broker) -> None:
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, events(0, 3000))
    recorder = Recorder()
    failures = iter(range(10))

    def fail(messages: Sequence[Message]) -> None:
        if messages[0].partition in (1, 2) and next(failures, None) is not None:
            raise ConnectionError("the store is away")

    recorder.fail = fail

    async def work() -> int:
        async with working(settings(broker, topic), recorder) as worker:
            await recorder.until(3000)
            return worker.metrics.retried

    assert asyncio.run(work()) > 0
    assert recorder.by_key() == in_order(3000)


def test_rejected_messages_go_to_the_dead_letters_with_their_reason(broker: Broker) -> None:
    topic = broker.topic(1)
    produce(broker.bootstrap, topic, [("a", b"1"), ("b", b"poison 1"), ("c", None), ("d", b"poison 2"), ("e", b"2")])
    recorder = Recorder()
    kafka = settings(broker, topic)

    async def work() -> None:
        async with working(kafka, recorder) as worker:
            await until(lambda: worker.metrics.dead_letters == 2)

    asyncio.run(work())
    letters = dead_letters(kafka, 2)
    assert [(letter.key(), letter.value()) for letter in letters] == [(b"b", b"poison 1"), (b"d", b"poison 2")]
    headers = dict(letters[1].headers() or ())
    assert headers.pop("sortkey-time") == str(recorder.messages[3].time).encode()
    assert headers == {
        "sortkey-reason": b"poisoned",
        "sortkey-topic": topic.encode(),
        "sortkey-partition": b"0",
        "sortkey-offset": b"3",
    }
    assert committed(broker.bootstrap, topic, kafka.group, 1) == [5]


# A graceful stop commits what it finished, so that the next worker begins exactly there.
def test_a_stop_in_the_middle_repeats_nothing(broker: Broker) -> None:
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, events(0, 20_000))
    recorder = Recorder()

    async def work() -> None:
        async with working(settings(broker, topic), recorder):
            await recorder.until(2000)
        assert len(recorder.messages) < 20_000
        async with working(settings(broker, topic), recorder):
            await recorder.until(20_000)

    asyncio.run(work())
    assert recorder.by_key() == in_order(20_000)


# Under constant load: each handover commits what was done, and the next worker begins exactly there.
def test_workers_that_come_and_go_lose_repeat_and_reorder_nothing(broker: Broker) -> None:
    topic = broker.topic(PARTITIONS)
    recorder = Recorder()
    recorder.seconds = 0.05
    kafka = settings(broker, topic, **{"heartbeat.interval.ms": "200"})
    enough = asyncio.Event()

    async def keep_producing() -> int:
        made = 0
        while not enough.is_set():
            await asyncio.to_thread(produce, broker.bootstrap, topic, events(made, made + 500))
            made += 500
        return made

    async def work() -> int:
        async with working(kafka, recorder) as staying:
            producing = asyncio.create_task(keep_producing())
            await recorder.until(2000)
            async with working(kafka, recorder) as leaving:
                await until(lambda: staying.metrics.partitions == leaving.metrics.partitions == PARTITIONS // 2)
                await recorder.until(len(recorder.messages) + 2000)
            await until(lambda: staying.metrics.partitions == PARTITIONS)
            await recorder.until(len(recorder.messages) + 2000)
            enough.set()
            made = await producing
            await recorder.until(made)
            return made

    made = asyncio.run(work())
    assert recorder.by_key() == in_order(made)


def test_a_broker_that_goes_away_and_comes_back(broker: Broker) -> None:
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, events(0, 1000))
    recorder = Recorder()
    kafka = settings(broker, topic)

    async def work() -> None:
        async with working(kafka, recorder):
            await recorder.until(1000)
            await asyncio.to_thread(broker.stop)
            await asyncio.to_thread(broker.start)
            await asyncio.to_thread(produce, broker.bootstrap, topic, events(1000, 2000))
            await recorder.until(2000)

    asyncio.run(work())
    # Messages that were not committed in time may come twice.
    assert {key: list(dict.fromkeys(values)) for key, values in recorder.by_key().items()} == in_order(2000)
    assert sum(committed(broker.bootstrap, topic, kafka.group, PARTITIONS)) == 2000


# Another worker has taken over the id of this one, which must not continue.
def test_a_worker_whose_place_was_taken_fails(broker: Broker) -> None:
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, events(0, 1000))
    recorder = Recorder()
    kafka = settings(broker, topic, **{"group.instance.id": "the-only-one"})

    async def work() -> None:
        first = asyncio.create_task(KafkaWorker(kafka, recorder, QUICK).run(lambda: None))
        await recorder.until(1000)
        async with working(kafka, recorder):
            with pytest.raises(WorkerFailed, match=r"fenced by other consumer with same group\.instance\.id"):
                async with asyncio.timeout(SECONDS):
                    await first

    asyncio.run(work())


@pytest.mark.parametrize(("partitions", "bound"), [(1, PARTITION_LOAD), (8, TOTAL_LOAD)])
def test_what_is_under_way_is_bounded(broker: Broker, partitions: int, bound: int) -> None:
    topic = broker.topic(partitions)
    produce(broker.bootstrap, topic, events(0, 2 * bound))
    recorder = Recorder()
    recorder.held = set(range(partitions))

    async def work() -> None:
        async with working(settings(broker, topic), recorder) as worker:
            await until(lambda: worker.metrics.paused == partitions)
            assert bound <= worker.metrics.under_way < bound + RECEIVED
            await recorder.release()
            await recorder.until(2 * bound)
            await until(lambda: worker.metrics.paused == worker.metrics.under_way == 0)

    asyncio.run(work())
    assert recorder.by_key() == in_order(2 * bound)
