"""An endpoint without sockets, whose loop turns and whose writer commits when the test says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, cast
from unittest.mock import patch

from sortkey.engine.database import Database
from sortkey.http.connection import Connection
from sortkey.http.listener import AllowedHosts
from sortkey.wire.authentication import NoAuthentication
from sortkey.wire.commit_scheduler import CommitScheduler, PendingWrite
from sortkey.wire.costly_requests import LargeRequests, SliceScheduler
from sortkey.wire.endpoint import Endpoint
from sortkey.wire.metrics import EndpointMetrics
from sortkey.wire.protocol import Responses
from tests.http.connecting import Host, Transport, connect

TURNS = 1000


class Clients:
    """Connections to one endpoint."""

    def __init__(self, database: Database) -> None:
        self.host = Host()
        self.commits = Commits(database)
        self.scheduler = SliceScheduler(self.host.call_soon)
        self._begun: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.large = LargeRequests(self._begun.put)
        self.host.handler = Endpoint(
            database,
            NoAuthentication(AllowedHosts()),
            cast(CommitScheduler, cast(Any, self.commits)),
            self.scheduler,
            self.large,
            Responses("A" * 36, 0.0),
            EndpointMetrics(),
            dict,
        )

    def connect(self) -> tuple[Connection, Transport]:
        transport = Transport()
        return connect(self.host, transport), transport

    def go_on_with_large(self) -> None:
        """Wait until the thread has begun a large request, and go on with it."""
        self._begun.get(timeout=60)()

    def turn_until_done(self) -> int:
        """Run all slices; returns how many turns it took."""
        for turns in range(TURNS):
            if not len(self.scheduler):
                return turns
            self.host.end_turn()
        raise AssertionError("it does not end")


class Commits:
    def __init__(self, database: Database) -> None:
        self.reads = self.queued = self.queued_bytes = 0
        self.submitted: deque[PendingWrite] = deque()
        self._database = database

    def submit(self, write: PendingWrite) -> None:
        self.submitted.append(write)
        self.queued += 1
        self.queued_bytes += write.size

    def commit_one(self) -> None:
        """The turn of the write that was submitted first."""
        write = self.submitted.popleft()
        self.queued -= 1
        self.queued_bytes -= write.size
        with patch.object(PendingWrite, "answer", lambda ended: ended.finish(ended)):
            self._database.store.queue.enqueue(write)
            assert self._database.store.queue.lead()
