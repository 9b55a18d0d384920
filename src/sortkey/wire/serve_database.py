"""Serves a database in this process, as the options of the command line say."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from sortkey.engine.faults.faults import Faults
from sortkey.engine.faulty_database import open_database, store_clock
from sortkey.http import process
from sortkey.http.allowed_hosts import AllowedHosts
from sortkey.http.listener import CannotListen, is_loopback
from sortkey.wire import keys_file
from sortkey.wire.authentication import Authentication, KeyAuthentication, NoAuthentication
from sortkey.wire.server import Server
from sortkey.wire.worker_metrics import NoOtherWorkers, OtherWorkers


class Options(msgspec.Struct, frozen=True):
    data: Path | None
    """The data folder; None is memory."""
    host: str
    port: int
    keys: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    """Further names by which a server without keys may be addressed."""
    faults: Faults | None = None


def authentication_for(options: Options) -> Authentication:
    """Raises BadKeysFile; and CannotListen if other machines could reach a server without keys."""
    if options.keys is not None:
        return KeyAuthentication(keys_file.load(options.keys), store_clock(options.faults))
    if not is_loopback(options.host):
        raise CannotListen(
            f"without --keys anyone who connects may do anything: use a loopback address, not {options.host}"
        )
    return NoAuthentication(AllowedHosts((options.host, *options.allowed_hosts)))


def serve(
    options: Options,
    authentication: Authentication,
    listening: socket.socket,
    other_workers: OtherWorkers,
    ready: Callable[[Server], None],
) -> None:
    """Serve until a signal or `Server.stop`. Then everything that was answered is on disk, and the folder is closed."""

    async def serve_until_stopped() -> None:
        single = isinstance(other_workers, NoOtherWorkers)
        server = Server(database, authentication, other_workers, commits_on_loop=single)
        process.on_stop_signal(server.stop)
        await server.serve(listening, lambda: ready(server))

    database = open_database(options.data, options.faults)
    process.tune_interpreter()
    try:
        process.run(serve_until_stopped())
    finally:
        database.close()
