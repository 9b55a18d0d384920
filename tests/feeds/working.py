"""A worker in the test's own event loop, and a consumer that remembers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from sortkey.feeds.kafka_settings import KafkaSettings
from sortkey.feeds.message import Message, Rejected
from sortkey.feeds.worker import Worker
from sortkey.model.sessions.steps import Pacing
from tests.kafka.broker import Broker

SECONDS = 60.0
QUICK = Pacing(first_pause=0.02, longest_pause=0.05)
# A worker that is gone is noticed in a second.
IMPATIENT = {"session.timeout.ms": "1000", "heartbeat.interval.ms": "200"}


class Recorder:
    """Remembers every batch; rejects messages whose value begins with `poison`."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Message]] = []
        self.open = asyncio.Event()
        self.open.set()
        """Cleared, it holds up every batch."""
        self.fail: Callable[[Sequence[Message]], None] = lambda _: None
        """May raise."""
        self._changed = asyncio.Condition()

    async def consume(self, messages: Sequence[Message]) -> Sequence[Rejected]:
        self.fail(messages)
        await self.open.wait()
        async with self._changed:
            self.batches.append(messages)
            self._changed.notify_all()
        return [Rejected(each, "poisoned") for each in messages if (each.value or b"").startswith(b"poison")]

    @property
    def messages(self) -> list[Message]:
        return [message for batch in self.batches for message in batch]

    async def until(self, number: int) -> None:
        """Until so many messages have come."""
        async with asyncio.timeout(SECONDS), self._changed:
            await self._changed.wait_for(lambda: len(self.messages) >= number)

    def by_key(self) -> dict[bytes | None, list[bytes | None]]:
        values: dict[bytes | None, list[bytes | None]] = {}
        for message in self.messages:
            values.setdefault(message.key, []).append(message.value)
        return values


def settings(broker: Broker, topic: str, **properties: str) -> KafkaSettings:
    return KafkaSettings(broker.bootstrap, topic, f"{topic}-group", f"{topic}.dead-letters", IMPATIENT | properties)


@asynccontextmanager
async def working(kafka: KafkaSettings, consumer: Recorder) -> AsyncIterator[Worker]:
    """A worker that has joined its group; it stops at the end, as on SIGTERM."""
    worker = Worker(kafka, consumer, QUICK)
    joined = asyncio.Event()
    running = asyncio.create_task(worker.run(joined.set))
    joining = asyncio.create_task(joined.wait())
    await asyncio.wait([joining, running], timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
    try:
        assert joining.done()
        yield worker
    finally:
        worker.stop()
        async with asyncio.timeout(SECONDS):
            await running


async def until(condition: Callable[[], bool]) -> None:
    """For what a thread changes without telling anybody."""
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.01)
