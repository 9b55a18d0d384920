"""The worker against a real broker: nothing lost, order kept, offsets behind the store."""

from __future__ import annotations

import asyncio

from tests.feeds.working import Recorder, settings, working
from tests.kafka.broker import Broker
from tests.kafka.topic import committed, produce

PARTITIONS = 4


def events(number: int, keys: int = 20) -> list[tuple[str, bytes | None]]:
    return [(f"key-{each % keys}", b"%d" % each) for each in range(number)]


def in_order(number: int, keys: int = 20) -> dict[bytes | None, list[bytes | None]]:
    return {b"key-%d" % key: [b"%d" % each for each in range(key, number, keys)] for key in range(keys)}


def test_messages_of_a_key_come_in_order_and_are_committed(broker: Broker) -> None:
    topic = broker.topic(PARTITIONS)
    produce(broker.bootstrap, topic, events(5000))
    recorder = Recorder()

    async def work() -> None:
        async with working(settings(broker, topic), recorder):
            await recorder.until(5000)

    asyncio.run(work())
    assert recorder.by_key() == in_order(5000)
    assert sum(committed(broker.bootstrap, topic, f"{topic}-group", PARTITIONS)) == 5000
