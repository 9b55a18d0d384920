"""`sk.feeds.Follower`: runs change feeds and timers in this process, on the event loop of a session."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from sortkey.clock import SystemClock, WaitingClock
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.feed_runner import FeedRunner
from sortkey.feeds.changes.home_region import require_home
from sortkey.feeds.shards.dead_letter import DEAD_LETTERS, DeadLetter
from sortkey.feeds.shards.lease_runner import RunnerSettings
from sortkey.feeds.shards.leases import FEEDS
from sortkey.feeds.timers.timer_runner import TimerRunner
from sortkey.feeds.timers.timers import Timers
from sortkey.http.metrics import Samples
from sortkey.model.calls.arguments import require_async
from sortkey.model.errors import DeclarationError, shown
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.timer_book import TIMERS

LEASE_SECONDS: Final = 10.0
_NOT_RUNNING: Final = "the follower is not running; use it as `async with sk.feeds.Follower(…) as follower`"


class Follower:
    """Runs change feeds and timers. Any number of processes may run the same ones: they share the shards, and the
    others take over when one dies, after `lease_seconds`.

        async with sk.async_connect(url) as db, sk.feeds.Follower(db, [ORDERS]) as follower:
            await db.put(Order(number=1))
            await follower.caught_up()

    Leaving the block finishes the current batches and calls, and gives the shards up at once. `dead_letters`, if given,
    is called with the dead letters of all feeds, besides the feeds' own. `clock` is for tests: leases, pauses and waits
    go by an `sk.testing.ManualClock`. A table with replicas is followed in its home region alone: the one that it
    declares, or else `home` (docs/guides/regions.md). The tables `sortkey-feeds` and `sortkey-dead-letters`, and with
    timers `sortkey-timers`, are created if they do not exist.
    """

    def __init__(
        self,
        session: AsyncSession,
        feeds: Sequence[ChangeFeed[Any] | Timers[Any]],
        *,
        lease_seconds: float = LEASE_SECONDS,
        dead_letters: Callable[[DeadLetter], Awaitable[None]] | None = None,
        clock: WaitingClock | None = None,
        home: str | None = None,
    ) -> None:
        given: Any = session
        if not isinstance(given, AsyncSession):
            raise DeclarationError(
                f"sk.feeds.Follower takes the session of sk.async_connect, not {type(given).__name__} {shown(given)}"
            )
        if dead_letters is not None:
            require_async("sk.feeds.Follower: dead_letters", dead_letters)
        names = [feed.name for feed in feeds]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DeclarationError(
                f"two change feeds or schedules have the name {twice!r}; each needs a name of its own"
            )
        self.id = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:12]}"
        """The name under which it has leases."""
        self._session = session
        self._feeds = tuple(feeds)
        self._home = home
        self._settings = RunnerSettings(lease_seconds, clock or SystemClock(), dead_letters)
        self._runners: list[FeedRunner | TimerRunner] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._running: asyncio.Future[list[None]] | None = None
        self._stopping = asyncio.Event()

    async def __aenter__(self) -> Self:
        """When it returns, a feed that starts from now on has its positions. Raises what prevents the feeds from
        starting: a missing table, a table without a stream, an unreachable store; sk.WrongRegion if a table with
        replicas has its home elsewhere."""
        if self._runners:
            raise RuntimeError("a follower runs once; make another one")
        has_timers = any(isinstance(feed, Timers) for feed in self._feeds)
        await self._session.create_tables(FEEDS, DEAD_LETTERS, *((TIMERS,) if has_timers else ()))
        try:
            for feed in self._feeds:
                table = feed.schedule.source.cls.__table__ if isinstance(feed, Timers) else feed.table
                await require_home(self._session, feed.name, table, self._home)
            for feed in self._feeds:
                await self._start(feed)
        except BaseException:
            await self._finish()
            raise
        self._tasks = [asyncio.create_task(runner.run(), name=f"feed {runner.name}") for runner in self._runners]
        self._running = asyncio.gather(*self._tasks)
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        running, self._running = self._running, None
        try:
            if running is not None:
                await running
        finally:
            # If one has failed, the others are still to end.
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._finish()

    async def run(self, ready: Callable[[], None] | None = None) -> None:
        """Run until `stop`; calls `ready` when the feeds have started."""
        async with self:
            if ready is not None:
                ready()
            await self.ended()

    async def ended(self) -> None:
        """Wait until `stop` was called, or a feed has failed; leaving the block raises the error of that feed."""
        if self._running is None:
            raise RuntimeError(_NOT_RUNNING)
        stopping = asyncio.ensure_future(self._stopping.wait())
        either: set[asyncio.Future[Any]] = {stopping, self._running}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()

    def stop(self) -> None:
        """On the event loop: `run` finishes the current batches, saves, gives the leases up, and returns."""
        self._stopping.set()
        for runner in self._runners:
            runner.stop()

    async def caught_up(self) -> None:
        """Wait until everything that was written before this call was handled, by this process or by others, and every
        timer that was due."""
        if self._running is None:
            raise RuntimeError(_NOT_RUNNING)
        waiting = asyncio.create_task(self._all_caught_up())
        either: set[asyncio.Future[Any]] = {waiting, self._running}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                await self._running
                raise RuntimeError("the follower was stopped before it had caught up")
            await waiting
        finally:
            waiting.cancel()

    async def _start(self, feed: ChangeFeed[Any] | Timers[Any]) -> None:
        if isinstance(feed, Timers):
            timers = TimerRunner(self._session, feed, self.id, self._settings)
            self._runners.append(timers)
            await timers.start()
            runner = FeedRunner(self._session, timers.feed, self.id, self._settings, timers.on_saved)
        else:
            runner = FeedRunner(self._session, feed, self.id, self._settings)
        self._runners.append(runner)
        await runner.start()

    async def _all_caught_up(self) -> None:
        """Feeds first, because they set timers."""
        for kind in (FeedRunner, TimerRunner):
            await asyncio.gather(*(each.caught_up() for each in self._runners if isinstance(each, kind)))

    @property
    def runners(self) -> Sequence[FeedRunner | TimerRunner]:
        """What runs, for those who show it."""
        return tuple(self._runners)

    def samples(self) -> Samples:
        """The metrics, by feed."""
        return {name: value for runner in self._runners for name, value in runner.metrics.samples().items()}

    async def _finish(self) -> None:
        await asyncio.gather(*(runner.finish() for runner in self._runners))
