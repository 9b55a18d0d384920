"""One lane, without Kafka: order, retries, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from sortkey.clock import SystemClock
from sortkey.feeds.kafka.message import Message
from sortkey.feeds.kafka.metrics import KafkaMetrics
from sortkey.feeds.kafka.partition_lane import BATCH, Handled, MessageChunk, PartitionLane
from sortkey.model.calls.steps import Pacing
from tests.feeds.kafka.working import QUICK, SECONDS, Recorder

ENDLESS = Pacing(first_pause=3600, longest_pause=3600, chance=lambda: 1.0)


def chunk(first: int, number: int, value: bytes = b"x") -> MessageChunk:
    return MessageChunk([Message(value, b"k", "t", 0, offset) for offset in range(first, first + number)], number)


class Bench:
    """A lane, its consumer, and what it reported."""

    def __init__(self, pacing: Pacing = QUICK) -> None:
        self.recorder = Recorder()
        self.reports: list[Handled] = []
        self.metrics = KafkaMetrics()
        self.lane = PartitionLane(0, self.recorder, self.reports.append, self.metrics, pacing, SystemClock())

    @property
    def offsets(self) -> list[int]:
        return [message.offset for message in self.recorder.messages]


def test_what_waits_is_put_together_up_to_a_batch() -> None:
    async def deliver() -> Bench:
        bench = Bench()
        for first in range(0, 3 * BATCH, 400):
            bench.lane.deliver(chunk(first, 400))
        await bench.recorder.until(3 * BATCH)
        await bench.lane.stop(SECONDS)
        return bench

    bench = asyncio.run(deliver())
    sizes = [len(batch) for batch in bench.recorder.batches]
    assert max(sizes) <= BATCH
    assert sizes[0] == 800
    assert bench.offsets == list(range(sum(sizes)))
    assert [report.next_offset for report in bench.reports] == [
        batch[-1].offset + 1 for batch in bench.recorder.batches
    ]
    assert sum(report.weight for report in bench.reports) == sum(sizes)


# The next batch must not overtake one that failed, or a newer state would be overwritten by the older one's retry.
def test_a_batch_that_fails_is_tried_again_before_the_next() -> None:
    async def deliver() -> Bench:
        bench = Bench()
        failures = iter([OSError("gone"), ValueError("odd"), None, None])

        def fail(_: Sequence[Message]) -> None:
            error = next(failures)
            if error is not None:
                raise error

        bench.recorder.fail = fail
        bench.lane.deliver(chunk(0, BATCH))
        bench.lane.deliver(chunk(BATCH, BATCH))
        await bench.recorder.until(2 * BATCH)
        await bench.lane.stop(SECONDS)
        return bench

    bench = asyncio.run(deliver())
    assert bench.offsets == list(range(2 * BATCH))
    assert [report.next_offset for report in bench.reports] == [BATCH, 2 * BATCH]
    assert (bench.metrics.applied, bench.metrics.retried) == (2 * BATCH, 2 * BATCH)


def test_rejected_messages_are_reported_and_counted() -> None:
    async def deliver() -> Bench:
        bench = Bench()
        bench.lane.deliver(chunk(0, 2, b"poison"))
        await bench.recorder.until(2)
        await bench.lane.stop(SECONDS)
        return bench

    bench = asyncio.run(deliver())
    assert [each.message.offset for each in bench.reports[0].rejected] == [0, 1]
    assert (bench.metrics.applied, bench.metrics.rejected) == (0, 2)


def test_a_stop_lets_the_batch_under_way_end_and_forgets_the_rest() -> None:
    async def deliver() -> Bench:
        bench = Bench()
        bench.recorder.open.clear()
        bench.lane.deliver(chunk(0, BATCH))
        bench.lane.deliver(chunk(BATCH, BATCH))
        await asyncio.sleep(0)
        stopping = asyncio.create_task(bench.lane.stop(SECONDS))
        await asyncio.sleep(0)
        bench.recorder.open.set()
        await stopping
        bench.lane.deliver(chunk(2 * BATCH, 1))
        return bench

    bench = asyncio.run(deliver())
    assert [report.next_offset for report in bench.reports] == [BATCH]
    assert bench.offsets == list(range(BATCH))


# Its offset must not be committed: it may not be in the store.
def test_a_batch_that_outlasts_the_stop_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def deliver() -> Bench:
        bench = Bench()
        bench.recorder.open.clear()
        bench.lane.deliver(chunk(0, 10))
        await asyncio.sleep(0)
        await bench.lane.stop(0)
        return bench

    bench = asyncio.run(deliver())
    assert (bench.reports, bench.offsets) == ([], [])
    assert "cancelled a batch" in caplog.text


def test_a_stop_does_not_wait_for_the_next_try() -> None:
    async def deliver() -> Bench:
        bench = Bench(ENDLESS)
        failed = asyncio.Event()

        def fail(_: Sequence[Message]) -> None:
            failed.set()
            raise OSError("gone")

        bench.recorder.fail = fail
        bench.lane.deliver(chunk(0, 10))
        await failed.wait()
        async with asyncio.timeout(SECONDS):
            await bench.lane.stop(3600)
        return bench

    bench = asyncio.run(deliver())
    assert bench.reports == []


def fails_for(*poisoned: int, outage: int = 0, error: Exception | None = None) -> Callable[[Sequence[Message]], None]:
    """Raises for these offsets always, and for all in the first calls."""
    left = outage

    def fail(messages: Sequence[Message]) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise error or ConnectionError("the store is away")
        if any(message.offset in poisoned for message in messages):
            raise KeyError("*")

    return fail


# A campaign that the service could not apply was tried for ever, and all after it waited.
@pytest.mark.parametrize("error", [ConnectionError("the store is away"), RuntimeError("odd")])
def test_a_message_that_fails_alone_is_rejected_and_an_outage_is_waited_for(error: Exception) -> None:
    async def deliver() -> Bench:
        bench = Bench(Pacing(chance=lambda: 0.0))
        bench.recorder.fail = fails_for(3, 20, outage=59, error=error)
        bench.lane.deliver(chunk(0, 10))
        bench.lane.deliver(chunk(10, 15))
        await bench.recorder.until(23)
        await bench.lane.stop(SECONDS)
        return bench

    bench = asyncio.run(deliver())
    assert bench.offsets == [offset for offset in range(25) if offset not in (3, 20)]
    rejected = [each for report in bench.reports for each in report.rejected]
    assert [(each.message.offset, each.reason) for each in rejected] == [(3, "KeyError: '*'"), (20, "KeyError: '*'")]
    assert bench.reports[-1].next_offset == 25
    assert sum(report.weight for report in bench.reports) == 25
    assert (bench.metrics.applied, bench.metrics.rejected) == (23, 2)


# What comes next is not there yet when the message fails, or is in the next chunk.
@pytest.mark.parametrize("waiting", [0, 1, 5])
def test_a_poisoned_message_at_the_end_is_rejected(waiting: int) -> None:
    async def deliver() -> Bench:
        bench = Bench(Pacing(chance=lambda: 0.0))
        bench.recorder.fail = fails_for(BATCH - 1)
        bench.lane.deliver(chunk(0, BATCH))
        if waiting:
            bench.lane.deliver(chunk(BATCH, waiting))
        await bench.recorder.until(BATCH - 1 + waiting)
        while not bench.reports or bench.reports[-1].next_offset < BATCH + waiting:
            await asyncio.sleep(0)
        await bench.lane.stop(SECONDS)
        return bench

    bench = asyncio.run(deliver())
    assert [each.message.offset for report in bench.reports for each in report.rejected] == [BATCH - 1]
    assert sum(report.weight for report in bench.reports) == BATCH + waiting


def test_a_service_that_fails_for_every_message_rejects_none() -> None:
    async def deliver() -> Bench:
        bench = Bench(Pacing(first_pause=0.0001, longest_pause=0.0001))
        bench.recorder.fail = fails_for(*range(100))
        bench.lane.deliver(chunk(0, 100))
        while not bench.metrics.blockages.samples("sortkey_feed", "")["sortkey_feed_blocked_seconds"]:
            await asyncio.sleep(0)
        await bench.lane.stop(SECONDS)
        return bench

    bench = asyncio.run(deliver())
    assert (bench.reports, bench.metrics.rejected) == ([], 0)
