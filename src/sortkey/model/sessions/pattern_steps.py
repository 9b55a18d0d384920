"""How patterns, whose calls are generators of steps as well, run them in a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, Generic, TypeVar, overload

from sortkey.client.interface import WriteTogether
from sortkey.client.stores import EMBEDDED
from sortkey.limits import BATCH_GET_KEYS
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.costs.meter import Meter
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.joint_run import JointRun
from sortkey.model.sessions.runners import AsyncRunner
from sortkey.model.sessions.session import Session

T = TypeVar("T")
K = TypeVar("K")

TIMEOUT: Final = 30.0
"""Of the calls of an unmetered session."""
JOINT_RUNS: Final = 2
"""One is prepared while the other one waits for the disk."""
BEGUN_AT_ONCE: Final = 64
"""Calls that begin between two turns of the event loop."""


def context_of(session: AsyncSession) -> Context:
    """What the steps of a pattern need, for `run_steps`."""
    return session._context


async def run_steps(session: AsyncSession, steps: Steps[T]) -> T:
    """Carry out the steps of a pattern, with the session's timeout, retries and meter."""
    return await session._run(steps)


async def run_all(session: AsyncSession, calls: Sequence[Steps[T]], parallel: int) -> list[T]:
    """Carry out calls that do not depend on each other, up to `parallel` at a time; returns their results in any order.
    Raises the first error."""
    write, runner, pending = session.client.write_together, bulk(session)._runner, iter(calls)
    results: list[T] = []

    async def run_one_by_one() -> None:
        results.extend([await runner.run(steps) for steps in pending])

    async def run_together(write: WriteTogether) -> None:
        while joint := list(islice(pending, max(1, parallel // JOINT_RUNS))):
            for outcome in await JointRun(runner, write, joint).run():
                if isinstance(outcome, Exception):
                    raise outcome
                results.append(outcome)

    try:
        async with asyncio.TaskGroup() as tasks:
            for number in range(min(parallel if write is None else JOINT_RUNS, len(calls))):
                if number % BEGUN_AT_ONCE == 0:
                    # All tasks that are new begin in one turn of the loop.
                    await asyncio.sleep(0)
                tasks.create_task(run_one_by_one() if write is None else run_together(write))
    except BaseExceptionGroup as errors:
        # The other tasks were cancelled because of the first.
        raise errors.exceptions[0] from None
    return results


class JoinedCalls:
    """Carries out calls of many tasks. In a store in the process, those that come while others are under way wait for
    them, and are then carried out together."""

    def __init__(self, session: AsyncSession) -> None:
        self._runner = bulk(session)._runner
        self._waiting: list[tuple[Steps[Any], asyncio.Future[Any]]] = []
        self._running: asyncio.Task[None] | None = None

    async def run(self, steps: Steps[T]) -> T:
        if self._runner.client.write_together is None:
            return await self._runner.run(steps)
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((steps, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run_waiting())
        return await future

    async def _run_waiting(self) -> None:
        write = self._runner.client.write_together
        assert write is not None
        try:
            while self._waiting:
                # Tasks that go on in this turn of the loop may come along: a commit of few takes as long.
                await asyncio.sleep(0)
                waiting, self._waiting = self._waiting, []
                outcomes = await JointRun(self._runner, write, [steps for steps, _ in waiting]).run()
                for (_, future), outcome in zip(waiting, outcomes, strict=True):
                    if future.done():  # cancelled
                        continue
                    if isinstance(outcome, Exception):
                        future.set_exception(outcome)
                    else:
                        future.set_result(outcome)
        finally:
            self._running = None


class JoinedReads(Generic[K, T]):
    """Reads what many tasks ask for by few requests: what is asked while `JOINT_RUNS` reads are under way waits for one
    of them, and is then read at once."""

    def __init__(self, read: Callable[[Sequence[K]], Coroutine[Any, Any, Sequence[T | BaseException]]]) -> None:
        """`read` gets as many as one BatchGetItem reads, and returns the answer to each, or what is raised there."""
        self._read = read
        self._waiting: list[tuple[K, asyncio.Future[T]]] = []
        self._running = 0
        self._tasks: set[asyncio.Task[None]] = set()
        """The loop itself keeps no task alive. A task that has ended may still be in it."""

    async def of(self, asked: K) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, future))
        if self._running < JOINT_RUNS:
            self._running += 1
            task = asyncio.create_task(self._read_waiting())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _read_waiting(self) -> None:
        try:
            # Tasks that go on in this turn of the loop come along.
            await asyncio.sleep(0)
            while self._waiting:
                part, self._waiting = self._waiting[:BATCH_GET_KEYS], self._waiting[BATCH_GET_KEYS:]
                await self._read_part(part)
        finally:
            # What is asked for from now on begins another read.
            self._running -= 1

    async def _read_part(self, part: Sequence[tuple[K, asyncio.Future[T]]]) -> None:
        reading = self._read([asked for asked, _ in part])
        found = (await asyncio.gather(reading, return_exceptions=True))[0]
        outcomes = [found] * len(part) if isinstance(found, BaseException) else found
        for (_, future), outcome in zip(part, outcomes, strict=True):
            if future.done():  # cancelled
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


def unmetered(session: AsyncSession) -> AsyncSession:
    """The same store in a session whose calls the session's meter does not count. Closing either closes the store."""
    context = replace(session._context, meter=Meter())
    return AsyncSession(AsyncRunner(session.client, context, TIMEOUT), session._declared)


def bulk(session: AsyncSession) -> AsyncSession:
    """The same session for many calls at once: at a store behind a network, no more of their requests are in flight
    than it takes."""
    if session.capabilities is EMBEDDED:
        return session
    return AsyncSession(session._runner.in_bulk(), session._declared)


@overload
def run_in(session: Session, make_steps: Callable[[Context], Steps[T]]) -> T: ...
@overload
def run_in(session: AsyncSession, make_steps: Callable[[Context], Steps[T]]) -> Coroutine[Any, Any, T]: ...
def run_in(session: Session | AsyncSession, make_steps: Callable[[Context], Steps[T]]) -> T | Coroutine[Any, Any, T]:
    """Carry out steps in a session of either kind: a sync one returns the result, an async one awaits it."""
    if not isinstance(session, Session | AsyncSession):
        raise TypeError(f"expected an open session, of sk.connect or sk.async_connect, not {session!r}")
    return session._run(make_steps(session._context))
