"""How a session carries out the steps of its calls.

`Runner` carries them out one by one, and parallel calls on threads. `AsyncRunner` awaits them, parallel calls as tasks.
All that differs between the sync and the async session is here; `session.py` is derived from `async_session.py`.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar

from botocore.exceptions import ClientError

from sortkey.client import AsyncClient, Client
from sortkey.client.boto3_shapes import UNPARSED_READS
from sortkey.client.interface import RETRIED_BY_CALLER, AnyClient, WriteTogether
from sortkey.client.stores import EMBEDDED
from sortkey.clock import DEADLINE, monotonic, sleep
from sortkey.errors import FolderBusy
from sortkey.model.calls.rejected_values import explained
from sortkey.model.calls.steps import (
    PARALLEL,
    Answer,
    Call,
    Commit,
    Context,
    Deadline,
    ParallelCalls,
    Pause,
    Steps,
    Turn,
)
from sortkey.model.errors import FAILURES
from sortkey.model.items.item import Item
from sortkey.model.maintenance.load import LoadResult, LoadWork, pieces
from sortkey.model.maintenance.long_work import LongWork
from sortkey.model.sessions.request_window import AsyncSlots, Slots, Window, is_throttled

T = TypeVar("T")
R = TypeVar("R")
Result = Answer | ClientError

COMMITTING_SECONDS: Final = 0.02
"""After its deadline, a commit that is under way is waited for; how soon it is looked at again."""


def check_timeout(timeout: object) -> None:
    if not (timeout is None or isinstance(timeout, (int, float))):
        raise TypeError(f"a timeout is a number of seconds, or None, not {timeout!r}")


def waits(client: AnyClient[Any], context: Context) -> bool:
    """Whether calls may have to wait: for a network, or for another process that writes to the same folder."""
    if context.capabilities is not EMBEDDED:
        return True
    return client.database is None or client.database.store.path is not None


class Threads:
    """The threads of a session, started with its first parallel calls."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def map(self, attempt: Callable[[Call], Result], calls: Sequence[Call]) -> list[Result]:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="sortkey-session")
        return list(self._pool.map(attempt, calls))

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown()


class Shared(NamedTuple):
    """What the runners of one sync session share, whatever their timeouts."""

    threads: Threads
    reads: Slots
    writes: Slots

    @classmethod
    def of(cls, client: AnyClient[Any]) -> Shared:
        most = client.in_flight
        return cls(Threads(2 * most), Slots(Window(most)), Slots(Window(most)))

    def slots(self, call: Call) -> Slots:
        return self.reads if call.operation in UNPARSED_READS else self.writes


class AsyncShared(NamedTuple):
    """The same of an async session."""

    reads: AsyncSlots
    writes: AsyncSlots

    @classmethod
    def of(cls, client: AnyClient[Any]) -> AsyncShared:
        most = client.in_flight
        return cls(AsyncSlots(Window(most)), AsyncSlots(Window(most)))

    def slots(self, call: Call) -> AsyncSlots:
        return self.reads if call.operation in UNPARSED_READS else self.writes


class Runner:
    def __init__(
        self,
        client: Client,
        context: Context,
        timeout: float | None,
        sleep: Callable[[float], None] = time.sleep,
        shared: Shared | None = None,
    ) -> None:
        self.client = client
        self.context = context
        self.sleep = sleep
        self._timeout = timeout
        self._shared = shared or Shared.of(client)
        self._waits = waits(client, context)
        self._reads_wait = context.capabilities is not EMBEDDED

    def within(self, seconds: float | None) -> Runner:
        """The same with another timeout for each call; None waits forever."""
        check_timeout(seconds)
        return Runner(self.client, self.context, seconds, self.sleep, self._shared)

    def run(self, steps: Steps[T], /) -> T:
        """Carry out the steps of a call, within the timeout."""
        deadline = Deadline(self._timeout, self.context.pacing.monotonic)
        try:
            step = next(steps)
            while True:
                if type(step) is Call:
                    try:
                        deadline.check()
                        answer = self._perform(step, deadline)
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
                elif type(step) is Pause:
                    deadline.check(step.seconds)
                    self.sleep(step.seconds)
                    step = next(steps)
                elif type(step) is ParallelCalls:
                    try:
                        deadline.check()
                        answers = self._perform_all(step.calls, deadline)
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answers)
                elif type(step) is Commit:
                    try:
                        answer = self._committed(step, deadline)
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
                elif type(step) is Turn:
                    step = next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def pause(self, seconds: float) -> None:
        """Wait between two calls, for which no timeout counts."""
        if seconds:
            self.sleep(seconds)

    def finish(self, work: LongWork[R]) -> R:
        """Do all parts of long work, each within the timeout."""
        while self.run(work.part()):
            self.pause(work.pause())
        return work.result

    def load(self, load: LoadWork, items: Iterable[Item]) -> LoadResult:
        return self.finish(load.of(items))

    def close(self) -> None:
        self._shared.threads.close()
        self.client.close()

    def _perform(self, call: Call, deadline: Deadline) -> Answer:
        started = time.perf_counter()
        try:
            # In the process, only writes wait.
            if self._waits and (self._reads_wait or call.operation not in UNPARSED_READS):
                answer = self._send_within(deadline.left(), call, deadline)
            else:
                answer = self._send(call)
        except ClientError as error:
            raise explained(call, error) from None
        seconds = time.perf_counter() - started
        self.context.answered(call, answer, seconds)
        return answer

    def _send(self, call: Call) -> Answer:
        if call.unparsed:
            return self.client._call_unparsed(call.operation, call.members, call.binary)
        if not self._reads_wait:
            return self.client._call(call.operation, call.members)
        waited_for = RETRIED_BY_CALLER.set(True)
        try:
            return self.client._call(call.operation, call.members)
        finally:
            RETRIED_BY_CALLER.reset(waited_for)

    def _send_within(self, seconds: float | None, call: Call, deadline: Deadline) -> Answer:
        if seconds is None and self._reads_wait:
            return self._send(call)
        # The client's deadline is on its own clock.
        limited = DEADLINE.set(math.inf if seconds is None else monotonic() + seconds)
        try:
            return self._send(call)
        except FolderBusy as busy:
            raise deadline.error(busy) from None
        except TimeoutError:
            raise deadline.error() from None
        finally:
            DEADLINE.reset(limited)

    def _committed(self, commit: Commit, deadline: Deadline) -> Answer:
        seconds = deadline.left()
        while True:
            try:
                return commit.answer.result(seconds)
            except FolderBusy as busy:
                raise deadline.error(busy) from None
            except TimeoutError:
                commit.pending.give_up()
                seconds = COMMITTING_SECONDS

    def _perform_all(self, calls: Sequence[Call], deadline: Deadline) -> list[Result]:
        # In the process, threads would only cost.
        if len(calls) == 1 or not self._reads_wait:
            return [self._attempt(call, deadline) for call in calls]
        return self._shared.threads.map(lambda call: self._attempt_in_slot(call, deadline), calls)

    def _attempt_in_slot(self, call: Call, deadline: Deadline) -> Result:
        slots = self._shared.slots(call)
        number = slots.take(deadline)
        throttled = False
        try:
            result = self._attempt(call, deadline)
            throttled = is_throttled(result)
        finally:
            slots.give_back(number, throttled=throttled)
        return result

    def _attempt(self, call: Call, deadline: Deadline) -> Result:
        try:
            return self._perform(call, deadline)
        except ClientError as error:
            return error


class AsyncRunner:
    def __init__(
        self,
        client: AsyncClient,
        context: Context,
        timeout: float | None,
        sleep: Callable[[float], Awaitable[None]] = sleep,
        shared: AsyncShared | None = None,
        bulk: bool = False,
    ) -> None:
        """With `bulk`, every request waits for a slot, as those of parallel calls do."""
        self.client = client
        self.context = context
        self.sleep = sleep
        self._timeout = timeout
        self._shared = shared or AsyncShared.of(client)
        self._waits = waits(client, context)
        self._reads_wait = context.capabilities is not EMBEDDED
        self._bulk = bulk and self._reads_wait

    def within(self, seconds: float | None) -> AsyncRunner:
        """The same with another timeout for each call; None waits forever."""
        check_timeout(seconds)
        return AsyncRunner(self.client, self.context, seconds, self.sleep, self._shared, self._bulk)

    def in_bulk(self) -> AsyncRunner:
        """The same for many calls at once, whose requests share the session's slots."""
        return AsyncRunner(self.client, self.context, self._timeout, self.sleep, self._shared, bulk=True)

    async def run(self, steps: Steps[T], /) -> T:
        """Carry out the steps of a call, within the timeout."""
        deadline = Deadline(self._timeout, self.context.pacing.monotonic)
        try:
            step = next(steps)
            while True:
                if type(step) is Call:
                    try:
                        performing = self._perform_in_slot(step) if self._bulk else self._perform(step)
                        answer = await self._finish_within(deadline, performing, step)
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
                elif type(step) is Pause:
                    deadline.check(step.seconds)
                    await self.sleep(step.seconds)
                    step = next(steps)
                elif type(step) is ParallelCalls:
                    try:
                        answers = await self._finish_within(deadline, self._perform_all(step.calls), step.calls[0])
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answers)
                elif type(step) is Commit:
                    try:
                        answer = await self._committed(step, deadline)
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
                elif type(step) is Turn:
                    # Not by `self.sleep`, which tests replace to see the pauses.
                    await asyncio.sleep(0)
                    step = next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def write_together(self, write: WriteTogether, calls: Sequence[Call]) -> list[Answer | Exception]:
        """The answers to writes that share commits, within the timeout, or what each raises; `write` is the client's,
        of a store in the process."""
        deadline = Deadline(self._timeout, self.context.pacing.monotonic)
        started = time.perf_counter()
        writing = write([(call.operation, call.members) for call in calls])
        results = await (self._write_within(deadline, writing) if self._waits else writing)
        seconds = time.perf_counter() - started
        for place, (call, result) in enumerate(zip(calls, results, strict=True)):
            if not isinstance(result, Exception):
                self.context.answered(call, result, seconds)
            elif isinstance(result, ClientError):
                results[place] = explained(call, result)
            elif isinstance(result, FolderBusy):
                results[place] = deadline.error(result)
        return results

    async def pause(self, seconds: float) -> None:
        """Wait between two calls, for which no timeout counts. Also for 0 seconds: other tasks have their turn."""
        await self.sleep(seconds)

    async def finish(self, work: LongWork[R]) -> R:
        """Do all parts of long work, each within the timeout."""
        while await self.run(work.part()):
            await self.pause(work.pause())
        return work.result

    async def load(self, load: LoadWork, items: Iterable[Item] | AsyncIterable[Item]) -> LoadResult:
        if isinstance(items, AsyncIterable):
            async for piece, last in pieces(items):
                await self.finish(load.of(piece, last=last))
            return load.result
        return await self.finish(load.of(items))

    async def close(self) -> None:
        await self.client.close()

    async def _finish_within(self, deadline: Deadline, work: Coroutine[Any, Any, R], call: Call) -> R:
        """What the work returns, which performs the call, or this and others like it."""
        if not self._reads_wait:
            # A timer costs as much as a read.
            waits = self._waits and call.operation not in UNPARSED_READS
            return await (self._write_within(deadline, work) if waits else work)
        left = deadline.left()
        if left is None:
            return await work
        try:
            async with asyncio.timeout(max(0.0, left)):
                return await work
        except TimeoutError:
            raise deadline.error() from None

    async def _write_within(self, deadline: Deadline, work: Coroutine[Any, Any, R]) -> R:
        left = deadline.left()
        # The client's deadline is on its own clock.
        limited = DEADLINE.set(math.inf if left is None else monotonic() + left)
        try:
            return await work
        except FolderBusy as busy:
            raise deadline.error(busy) from None
        finally:
            DEADLINE.reset(limited)

    async def _committed(self, commit: Commit, deadline: Deadline) -> Answer:
        waiting = asyncio.wrap_future(commit.answer)
        seconds = deadline.left()
        try:
            while not (await asyncio.wait([waiting], timeout=seconds))[0]:
                commit.pending.give_up()
                seconds = COMMITTING_SECONDS
            return waiting.result()
        except FolderBusy as busy:
            raise deadline.error(busy) from None
        except asyncio.CancelledError:
            waiting.cancel()
            commit.pending.give_up()
            raise

    async def _perform(self, call: Call) -> Answer:
        started = time.perf_counter()
        try:
            if call.unparsed:
                answer = await self.client._call_unparsed(call.operation, call.members, call.binary)
            elif self._reads_wait:
                answer = await self._send(call)
            else:
                answer = await self.client._call(call.operation, call.members)
        except ClientError as error:
            raise explained(call, error) from None
        seconds = time.perf_counter() - started
        self.context.answered(call, answer, seconds)
        return answer

    async def _send(self, call: Call) -> Answer:
        waited_for = RETRIED_BY_CALLER.set(True)
        try:
            return await self.client._call(call.operation, call.members)
        finally:
            RETRIED_BY_CALLER.reset(waited_for)

    async def _perform_in_slot(self, call: Call) -> Answer:
        result = await self._attempt_in_slot(call)
        if isinstance(result, ClientError):
            raise result
        return result

    async def _attempt_in_slot(self, call: Call) -> Result:
        slots = self._shared.slots(call)
        number = await slots.take()
        throttled = False
        try:
            result = await self._attempt(call)
            throttled = is_throttled(result)
        finally:
            slots.give_back(number, throttled=throttled)
        return result

    async def _perform_all(self, calls: Sequence[Call]) -> list[Result]:
        if not self._reads_wait:
            return await self._perform_in_process(calls)
        if len(calls) == 1:
            return [await self._attempt_in_slot(calls[0])]
        return await _together([self._attempt_in_slot(call) for call in calls])

    async def _perform_in_process(self, calls: Sequence[Call]) -> list[Result]:
        if len(calls) == 1:
            return [await self._attempt(calls[0])]
        slots = asyncio.Semaphore(PARALLEL)

        async def attempt_in_slot(call: Call) -> Result:
            async with slots:
                return await self._attempt(call)

        return await _together([attempt_in_slot(call) for call in calls])

    async def _attempt(self, call: Call) -> Result:
        try:
            return await self._perform(call)
        except ClientError as error:
            return error


async def _together(attempts: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(attempt) for attempt in attempts]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # the others were cancelled because of it
    return [task.result() for task in running]
