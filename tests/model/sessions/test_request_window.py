"""How many requests of a session are in flight: as many as are allowed, and as the store takes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sortkey.model.calls.steps import Deadline
from sortkey.model.errors import DeadlineExceeded
from sortkey.model.sessions.request_window import AsyncSlots, Slots, Window, is_throttled

FOREVER = Deadline(None, time.monotonic)


def one_window(window: Window, throttled: int = 0) -> None:
    """As many requests as are allowed, of which the first ones are throttled."""
    numbers = [window.begin() for _ in range(window.requests)]
    for at, number in enumerate(numbers):
        window.answered(number, throttled=at < throttled)


def test_it_begins_with_all_and_stays_there() -> None:
    window = Window(8)
    one_window(window)
    assert window.requests == 8


# Requests that were in flight together meet the same shortage.
@pytest.mark.parametrize("throttled", [1, 8])
def test_throttling_halves_it_once_for_all_that_are_in_flight(throttled: int) -> None:
    window = Window(8)
    for number in [window.begin() for _ in range(8)][:throttled]:
        window.answered(number, throttled=True)
    assert window.requests == 4


def test_it_widens_by_one_for_a_window_of_answers() -> None:
    window = Window(64)
    for _ in range(3):
        window.answered(window.begin(), throttled=True)
    assert window.requests == 8
    sizes = []
    for _ in range(4):
        one_window(window)
        sizes.append(window.size)
    assert all(0.8 < later - earlier <= 1 for earlier, later in zip([8.0, *sizes], sizes, strict=False))


def test_it_never_closes_and_comes_back() -> None:
    window = Window(8)
    for _ in range(20):
        one_window(window, throttled=window.requests)
    assert window.requests == 1
    for _ in range(20):
        one_window(window)
    assert window.requests == 8


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "PutItem")


@pytest.mark.parametrize(
    ("result", "throttled"),
    [
        ({"ResponseMetadata": {"RetryAttempts": 0}}, False),
        ({"ResponseMetadata": {"RetryAttempts": 2}}, True),
        ({"UnprocessedItems": {}, "ResponseMetadata": {"RetryAttempts": 0}}, False),
        ({"UnprocessedItems": {"t": [{}]}, "ResponseMetadata": {"RetryAttempts": 0}}, True),
        # An answer of 16 MB has some, too.
        ({"UnprocessedKeys": {"t": {}}, "ResponseMetadata": {"RetryAttempts": 0}}, False),
        (client_error("ProvisionedThroughputExceededException"), True),
        (client_error("ThrottlingException"), True),
        (client_error("ConditionalCheckFailedException"), False),
    ],
)
def test_what_is_throttling(result: dict[str, Any] | ClientError, throttled: bool) -> None:
    assert is_throttled(result) is throttled


class Store:
    """Answers when it is told to, and knows how many requests it has."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_answer = asyncio.Event()

    async def request(self) -> None:
        self.begun += 1
        await self.may_answer.wait()


def in_slots(slots: AsyncSlots, request: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
    async def run() -> None:
        number = await slots.take()
        try:
            await request()
        finally:
            slots.give_back(number, throttled=False)

    return asyncio.ensure_future(run())


async def all_tasks_wait() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_tasks_wait_for_their_turn() -> None:
    async def main() -> None:
        store, slots = Store(), AsyncSlots(Window(3))
        tasks = [in_slots(slots, store.request) for _ in range(10)]
        await all_tasks_wait()
        assert store.begun == 3
        store.may_answer.set()
        await asyncio.gather(*tasks)
        assert store.begun == 10

    asyncio.run(main())


# A cancelled task may have its slot already, or be in the queue for one.
@pytest.mark.parametrize("ended", [0, 1, 2])
def test_cancelled_tasks_leave_their_slots_to_others(ended: int) -> None:
    async def main() -> None:
        store, slots = Store(), AsyncSlots(Window(1))
        tasks = [in_slots(slots, store.request) for _ in range(3)]
        await all_tasks_wait()
        tasks[ended].cancel()
        if ended:
            # The first one answers in the same turn of the loop, so the second one is given its slot.
            store.may_answer.set()
        await all_tasks_wait()
        store.may_answer.set()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [each is None for each in done] == [at != ended for at in range(3)]

    asyncio.run(main())


def test_threads_wait_for_their_turn() -> None:
    slots, may_answer, begun = Slots(Window(2)), threading.Event(), threading.Semaphore(0)
    in_flight: list[int] = []

    def request() -> None:
        number = slots.take(FOREVER)
        in_flight.append(number)
        begun.release()
        may_answer.wait()
        slots.give_back(number, throttled=False)

    threads = [threading.Thread(target=request) for _ in range(5)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        begun.acquire()
    assert not begun.acquire(timeout=0.05)
    may_answer.set()
    for thread in threads:
        thread.join()
    assert sorted(in_flight) == [1, 2, 3, 4, 5]


def test_a_thread_waits_no_longer_than_its_deadline() -> None:
    slots = Slots(Window(1))
    slots.take(FOREVER)
    with pytest.raises(DeadlineExceeded):
        slots.take(Deadline(0.01, time.monotonic))
