"""Streams of events to open pages: one sampler for all of them, and one encoded message for all that may see the same.

A page that does not take its events is dropped by its connection when a megabyte waits for it. So neither slow pages
nor many of them cost the server more than the messages that they take.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from sortkey.http.connection import Stream
from sortkey.model.errors import ModelError
from sortkey.server.console.access import Viewer
from sortkey.server.console.feeds import FeedBook
from sortkey.server.console.live.changes import Changes, NoStream, StreamTail, nothing_yet
from sortkey.server.console.live.heat import HeatRecorder
from sortkey.server.console.live.overview import OverviewSampler
from sortkey.server.console.live.path_use import PathUses
from sortkey.server.console.routes import Body, Message, Nothing, missing
from sortkey.server.console.store import StoreError
from sortkey.server.errors import ApiError, overloaded

STREAMS: Final = 100
ALIVE_SECONDS: Final = 15
IDLE_SECONDS: Final = 5
"""Between two samples while no page is open, for the history that the next one sees."""
FEEDS_SECONDS: Final = 2
PATHS_SECONDS: Final = 2
RETRY_SECONDS: Final = 2.0
"""After an error of the store, until a tail tries again."""
ALIVE: Final = b": alive\n\n"

_FAILURES: Final = (StoreError, ModelError, ClientError, BotoCoreError)
_encode: Final = msgspec.json.Encoder().encode
_logger = logging.getLogger(__name__)

Topic = Literal["overview", "paths", "heat", "feeds"]


class ChangesWanted(Body):
    table: str


class LiveRequest(Body):
    topics: list[Topic] = msgspec.field(default_factory=list)
    changes: ChangesWanted | None = None


class Problem(Message):
    topic: str
    message: str


class MakeTail(Protocol):
    def __call__(self, table: str, /) -> StreamTail: ...


class Parts(NamedTuple):
    """What there is to show; None is what this server does not have."""

    overview: OverviewSampler
    paths: PathUses | None
    heat: HeatRecorder | None
    feeds: FeedBook | None
    tail: MakeTail


class Subscriber:
    def __init__(self, viewer: Viewer, wanted: LiveRequest, stream: Stream) -> None:
        self.viewer = viewer
        self.topics = frozenset(wanted.topics)
        self.table = None if wanted.changes is None else wanted.changes.table
        self.stream = stream
        self.sees = None if viewer.sees_service(None) else viewer.name or ""
        """What messages that are made once are told apart by: those who see everything get the same."""
        self.quiet = 0
        """Seconds without an event."""

    def send(self, event: str, data: bytes) -> None:
        self.quiet = 0
        self.stream.send(b"event: %b\ndata: %b\n\n" % (event.encode(), data))


class Broadcast:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._subscribers: set[Subscriber] = set()
        self._tails: dict[str, asyncio.Task[None]] = {}
        self._begun: set[str] = set()
        """The tables whose tail has found its place in the stream."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._second = 0

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                await asyncio.sleep(1)
                self._second += 1
                try:
                    await self._each_second()
                except Exception:
                    # A bug in one view must not end the others.
                    _logger.exception("the console's sampler failed")
        finally:
            for task in (*self._tails.values(), *self._tasks):
                task.cancel()

    def require_room(self, viewer: Viewer, wanted: LiveRequest) -> None:
        """Raises ApiError."""
        self._forget_closed()
        if len(self._subscribers) >= STREAMS:
            raise ApiError(overloaded("Too many consoles are open."))
        if wanted.changes is not None and not viewer.sees(wanted.changes.table):
            raise missing(f"There is no table {wanted.changes.table}.")

    def add(self, viewer: Viewer, wanted: LiveRequest, stream: Stream) -> None:
        subscriber = Subscriber(viewer, wanted, stream)
        self._subscribers.add(subscriber)
        self._parts.overview.consoles = len(self._subscribers)
        task = asyncio.create_task(self._greet(subscriber))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if subscriber.table is not None and subscriber.table not in self._tails:
            self._tails[subscriber.table] = asyncio.create_task(self._follow(subscriber.table))
        elif subscriber.table in self._begun:
            subscriber.send("changes", _encode(nothing_yet(subscriber.table)))

    async def _greet(self, subscriber: Subscriber) -> None:
        """What there is now, before the next turn."""
        subscriber.stream.send(ALIVE)
        for topic in subscriber.topics:
            await self._publish(topic, [subscriber], whole=True)

    async def _each_second(self) -> None:
        parts, second = self._parts, self._second
        self._forget_closed()
        if not self._subscribers and second % IDLE_SECONDS:
            return
        parts.overview.sample()
        if parts.paths is not None:
            parts.paths.sample()
        has_column = parts.heat is not None and parts.heat.sample()
        due = {
            "overview": True,
            "paths": second % PATHS_SECONDS == 0,
            "heat": has_column,
            "feeds": second % FEEDS_SECONDS == 0,
        }
        for topic, is_due in due.items():
            wanting = [each for each in self._subscribers if topic in each.topics]
            if is_due and wanting:
                await self._publish(topic, wanting)
        for each in self._subscribers:
            each.quiet += 1
            if each.quiet >= ALIVE_SECONDS:
                each.quiet = 0
                each.stream.send(ALIVE)

    def _forget_closed(self) -> None:
        self._subscribers = {each for each in self._subscribers if not each.stream.closed}
        self._parts.overview.consoles = len(self._subscribers)
        wanted = {each.table for each in self._subscribers}
        for table in [table for table in self._tails if table not in wanted]:
            self._tails.pop(table).cancel()
            self._begun.discard(table)

    async def _publish(self, topic: str, subscribers: Sequence[Subscriber], whole: bool = False) -> None:
        """Send a topic's message: made once for all that see everything."""
        made: dict[str | None, tuple[str, bytes]] = {}
        for each in subscribers:
            if each.sees not in made:
                made[each.sees] = await self._made(topic, each.viewer, whole)
            each.send(*made[each.sees])

    async def _made(self, topic: str, viewer: Viewer, whole: bool) -> tuple[str, bytes]:
        try:
            message = await self._message(topic, viewer, whole)
        except _FAILURES as error:
            return "problem", _encode(Problem(topic, " ".join(str(error).split())))
        if message is None:
            return "problem", _encode(Problem(topic, "This server does not have it."))
        return topic, _encode(message)

    async def _message(self, topic: str, viewer: Viewer, whole: bool) -> Message | None:
        parts = self._parts
        match topic:
            case "overview":
                await parts.overview.refresh()
                return parts.overview.shown(viewer)
            case "paths":
                return None if parts.paths is None else parts.paths.shown(viewer)
            case "heat":
                if parts.heat is None:
                    return None
                return parts.heat.shown(viewer) if whole else parts.heat.shown(viewer, 1)
        return None if parts.feeds is None else await parts.feeds.feeds(viewer, Nothing())

    async def _follow(self, table: str) -> None:
        """Send the changes of a table to all that look at it."""
        while True:
            try:
                async for changes in self._parts.tail(table).messages():
                    self._begun.add(table)
                    self._send_changes(table, changes)
            except NoStream as error:
                self._tell(table, str(error))
            except _FAILURES as error:
                self._tell(table, " ".join(str(error).split()))
            self._begun.discard(table)
            await asyncio.sleep(RETRY_SECONDS)

    def _send_changes(self, table: str, changes: Changes) -> None:
        data = _encode(changes)
        for each in self._subscribers:
            if each.table == table:
                each.send("changes", data)

    def _tell(self, table: str, message: str) -> None:
        data = _encode(Problem("changes", message))
        for each in self._subscribers:
            if each.table == table:
                each.send("problem", data)
