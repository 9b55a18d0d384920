"""A worker in the test's own event loop, and a consumer that remembers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from confluent_kafka import Message as KafkaMessage

from sortkey.feeds.kafka.kafka_settings import KafkaSettings
from sortkey.feeds.kafka.message import Message, Rejected
from sortkey.feeds.kafka.worker import KafkaWorker
from sortkey.model.calls.steps import Pacing
from tests.kafka.broker import Broker
from tests.kafka.topic import everything

SECONDS = 60.0
QUICK = Pacing(first_pause=0.02, longest_pause=0.05)


class Recorder:
    """Remembers every batch; rejects messages whose value begins with `poison`."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Message]] = []
        self.open = asyncio.Event()
        self.open.set()
        """Cleared, it holds up every batch."""
        self.seconds = 0.0
        """What a batch takes."""
        self.held: set[int] = set()
        """Partitions whose batches are held up until `release`."""
        self.fail: Callable[[Sequence[Message]], None] = lambda _: None
        """May raise."""
        self._changed = asyncio.Condition()
        self._places: set[tuple[int, int]] = set()

    async def consume(self, messages: Sequence[Message]) -> Sequence[Rejected]:
        self.fail(messages)
        await self.open.wait()
        await asyncio.sleep(self.seconds)
        async with self._changed:
            await self._changed.wait_for(lambda: messages[0].partition not in self.held)
            self.batches.append(messages)
            self._places.update((each.partition, each.offset) for each in messages)
            self._changed.notify_all()
        return [Rejected(each, "poisoned") for each in messages if (each.value or b"").startswith(b"poison")]

    async def release(self) -> None:
        async with self._changed:
            self.held.clear()
            self._changed.notify_all()

    @property
    def messages(self) -> list[Message]:
        return [message for batch in self.batches for message in batch]

    async def until(self, number: int) -> None:
        """Waits for this number of messages; repeated ones count once."""
        async with asyncio.timeout(SECONDS), self._changed:
            await self._changed.wait_for(lambda: len(self._places) >= number)

    def by_key(self) -> dict[bytes | None, list[bytes | None]]:
        values: dict[bytes | None, list[bytes | None]] = {}
        for message in self.messages:
            values.setdefault(message.key, []).append(message.value)
        return values


def settings(broker: Broker, topic: str, **properties: str) -> KafkaSettings:
    return KafkaSettings(broker.bootstrap, topic, f"{topic}-group", f"{topic}.dead-letters", properties)


def dead_letters(kafka: KafkaSettings, number: int) -> list[KafkaMessage]:
    """Those in the topic, when there are so many at least: a transaction is seen a moment after it was committed."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = everything(kafka.bootstrap, kafka.dead_letters)
        if len(found) >= number or time.monotonic() > deadline:
            return found


@asynccontextmanager
async def working(kafka: KafkaSettings, consumer: Recorder) -> AsyncIterator[KafkaWorker]:
    """A worker that has joined its group; it stops at the end, as on SIGTERM."""
    worker = KafkaWorker(kafka, consumer, QUICK)
    joined = asyncio.Event()
    running = asyncio.create_task(worker.run(joined.set))
    joining = asyncio.create_task(joined.wait())
    await asyncio.wait([joining, running], timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
    try:
        assert joining.done()
        yield worker
    except BaseException:
        # A worker finishes what it has begun; where a test failed, nobody else would let it.
        consumer.open.set()
        await consumer.release()
        raise
    finally:
        worker.stop()
        async with asyncio.timeout(SECONDS):
            await running


async def until(condition: Callable[[], bool]) -> None:
    """Polls for a change that another thread makes."""
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.01)
