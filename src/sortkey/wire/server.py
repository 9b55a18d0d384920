"""The endpoint of a database on sockets: the server, and a process that serves as the command line says."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from sortkey.clock import monotonic
from sortkey.engine.alternator_database import AlternatorDatabase
from sortkey.engine.database import Database
from sortkey.engine.faults.faults import Faults
from sortkey.engine.faulty_database import open_database, store_clock
from sortkey.engine.hot_partitions import HotPartitions
from sortkey.engine.tables.core import Settings
from sortkey.http import process
from sortkey.http.listener import AllowedHosts, CannotListen, is_loopback
from sortkey.http.metrics import Samples, merged
from sortkey.http.pages import Pages
from sortkey.http.server import HttpServer
from sortkey.wire import authentication
from sortkey.wire.authentication import Authentication, KeyAuthentication, NoAuthentication
from sortkey.wire.commit_scheduler import WRITE_WAIT_SECONDS, CommitScheduler
from sortkey.wire.costly_requests import LargeRequests, SliceScheduler
from sortkey.wire.endpoint import Endpoint
from sortkey.wire.kinesis_delivery import KinesisDelivery
from sortkey.wire.kinesis_targets import target_of
from sortkey.wire.metrics import HOT_PARTITIONS, EndpointMetrics, NoOtherWorkers, OtherWorkers, partition_samples
from sortkey.wire.protocol import ID_LETTERS, IDENTITY_LETTERS, Responses

PROFILES: Final[dict[str, type[Database]]] = {"alternator": AlternatorDatabase}
"""Other stores that an endpoint can answer as."""
HOTTEST_SECONDS: Final = 10
"""How often the workers tell each other their hottest partitions. Finding them takes a millisecond."""


class Server(HttpServer):
    """Serves one database."""

    metrics: EndpointMetrics

    def __init__(
        self,
        database: Database,
        authentication: Authentication,
        other_workers: OtherWorkers,
        commits_on_loop: bool = False,
        write_wait: float = WRITE_WAIT_SECONDS,
    ) -> None:
        """`commits_on_loop` is for a server that has the loop to itself, and mostly the data folder, too.

        `write_wait` is how long a write waits for other processes before it is answered by 503.
        """
        super().__init__(EndpointMetrics())
        self._database = database
        self._other_workers = other_workers
        identity = "".join(secrets.choice(ID_LETTERS) for _ in range(IDENTITY_LETTERS))
        self._responses = Responses(identity, database.clock.now(), authentication.allowed_origin, database.product)
        self._hot_partitions = HotPartitions(database, monotonic())
        # Metrics are open to everyone, also to those who have no key and may not read the table.
        self._names_keys = isinstance(authentication, NoAuthentication)
        self._hottest: Samples = {}
        """What the other workers see of the hottest partitions, renewed now and then."""
        self._scheduler = CommitScheduler(database, self.outbox, commits_on_loop, write_wait)
        self._large = LargeRequests(asyncio.get_running_loop().call_soon_threadsafe)
        self._endpoint = Endpoint(
            database,
            authentication,
            self._scheduler,
            SliceScheduler(self.call_soon),
            self._large,
            self._responses,
            self.metrics,
            self._samples_of_all_workers,
        )

    def show(self, pages: Pages) -> None:
        """Show these to browsers, besides health and metrics."""
        self._endpoint.pages = pages

    async def serve(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        try:
            await super().serve(listening, ready)
        finally:
            self._large.close()

    def handler_for(self, _peer: str) -> Endpoint:
        return self._endpoint

    def each_second(self) -> None:
        self._responses.tick(self._database.clock.now())
        self._scheduler.give_up_blocked()
        self._hot_partitions.each_second(monotonic())
        if self.tick % HOTTEST_SECONDS == 0:
            self._hottest = self._hottest_samples()
        self._other_workers.publish(self._samples() | self._hottest)

    def _samples(self) -> Samples:
        """This process's numbers."""
        return self.metrics.samples() | {
            "sortkey_queued_writes": self._scheduler.queued,
            "sortkey_commits_total": self._database.store.queue.commits,
        }

    def requests_of_all_workers(self) -> Samples:
        """Those of requests alone, for who looks at them each second."""
        return merged([self._samples(), *self._other_workers.samples()])

    def _samples_of_all_workers(self) -> Samples:
        store = self._database.store
        shared = {"sortkey_store_bytes": float(store.bytes_used())}
        if store.path is not None:
            shared["sortkey_store_free_bytes"] = float(shutil.disk_usage(store.path).free)
        own = self._samples() | self._hottest_samples()
        return merged([own, *self._other_workers.samples()]) | shared

    def _hottest_samples(self) -> Samples:
        return partition_samples(self._hot_partitions.hottest(HOT_PARTITIONS, monotonic(), named=self._names_keys))


class Options(msgspec.Struct, frozen=True):
    data: Path | None
    """The data folder; None is memory."""
    host: str
    port: int
    keys: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    """Further names by which a server without keys may be addressed."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages of these may use a server without keys."""
    faults: Faults | None = None
    write_wait: float = WRITE_WAIT_SECONDS
    """How long a write waits for other processes."""
    kinesis: str | None = None
    """Where Kinesis streaming destinations are delivered to: a folder or a URL."""
    buckets: Path | None = None
    """The folder in the place of S3."""
    profile: str | None = None
    """The store to answer as, one of `PROFILES`."""


def authentication_for(options: Options) -> Authentication:
    """Raises BadKeysFile; and CannotListen if other machines could reach a server without keys."""
    if options.keys is not None:
        return KeyAuthentication(authentication.load_keys(options.keys), store_clock(options.faults))
    if not is_loopback(options.host):
        raise CannotListen(
            f"without --keys anyone who connects may do anything: use a loopback address, not {options.host}"
        )
    return NoAuthentication(AllowedHosts((options.host, *options.allowed_hosts)), options.allowed_origins)


class Serving(NamedTuple):
    """An endpoint that is about to serve."""

    options: Options
    database: Database
    authentication: Authentication
    server: Server
    listening: socket.socket


MakePages = Callable[[Serving], AbstractAsyncContextManager[Pages]]
"""Opens the pages that an endpoint shows to browsers, until it has served."""


def serve(
    options: Options,
    authentication: Authentication,
    listening: socket.socket,
    other_workers: OtherWorkers,
    ready: Callable[[Server], None],
    make_pages: MakePages | None = None,
) -> None:
    """Serve until a signal or `Server.stop`. Then everything that was answered is on disk, and the folder is closed."""

    async def serve_until_stopped() -> None:
        single = isinstance(other_workers, NoOtherWorkers)
        server = Server(database, authentication, other_workers, single, options.write_wait)
        process.on_stop_signal(server.stop)
        async with AsyncExitStack() as stack:
            if make_pages is not None:
                serving = Serving(options, database, authentication, server, listening)
                server.show(await stack.enter_async_context(make_pages(serving)))
            await server.serve(listening, lambda: ready(server))

    settings = Settings(delivers_to_kinesis=options.kinesis is not None, buckets=options.buckets)
    if options.profile is None:
        database = open_database(options.data, options.faults, settings)
    else:
        database = PROFILES[options.profile](options.data, settings=settings).start()
    delivery = None if options.kinesis is None else KinesisDelivery(database, target_of(options.kinesis), options.data)
    process.tune_interpreter()
    try:
        if delivery is not None:
            delivery.start()
        process.run(serve_until_stopped())
    finally:
        if delivery is not None:
            delivery.close()
        database.close()
