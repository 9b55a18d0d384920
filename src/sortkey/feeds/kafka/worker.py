"""The Kafka worker: delivers a topic's messages to a consumer, and commits their offsets afterwards.

There are two threads. The Kafka thread receives, commits and takes part in the group (`Subscription`). The event loop
runs the lanes, one for each partition, and with them the consumer and its session.

    Kafka thread     receive ── chunk ──▶ lane ── batch ──▶ consumer ──▶ store      event loop
                     commit  ◀─ handled ── lane

An offset is committed after the store has all messages before it. So a worker loses nothing, however it ends: messages
that it had not committed are delivered again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from sortkey.feeds.kafka.kafka_settings import KafkaSettings
from sortkey.feeds.kafka.message import Consumer
from sortkey.feeds.kafka.metrics import FeedMetrics
from sortkey.feeds.kafka.partition_lane import PartitionLane
from sortkey.feeds.kafka.subscription import Report, Subscription
from sortkey.model.calls.steps import Pacing

PACING: Final = Pacing(first_pause=0.2, longest_pause=30.0)
"""Between attempts at a batch."""


class Worker:
    """Runs once, on the event loop of the consumer's session."""

    def __init__(self, settings: KafkaSettings, consumer: Consumer, pacing: Pacing = PACING) -> None:
        self.metrics = FeedMetrics()
        self._settings = settings
        self._consumer = consumer
        self._pacing = pacing
        self._stopping = threading.Event()

    def stop(self) -> None:
        """From any thread: `run` finishes the current batches, commits, leaves the group, and returns."""
        self._stopping.set()

    async def run(self, joined: Callable[[], None]) -> None:
        """Run until `stop`. Calls `joined` once, after the group's first assignment, even an empty one.

        Raises WorkerFailed.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="kafka")
        polling = asyncio.get_running_loop().run_in_executor(thread, self._poll, asyncio.get_running_loop(), joined)
        thread.shutdown(wait=False)
        try:
            await asyncio.shield(polling)
        except asyncio.CancelledError:
            self.stop()
            await polling
            raise

    def _poll(self, loop: asyncio.AbstractEventLoop, joined: Callable[[], None]) -> None:
        Subscription(self._settings, self._lane, loop, self.metrics, joined).poll_until(self._stopping)

    def _lane(self, partition: int, report: Report) -> PartitionLane:
        return PartitionLane(partition, self._consumer, report, self.metrics, self._pacing)
