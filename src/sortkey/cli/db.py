"""`sortkey db`: the DynamoDB endpoint."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from sortkey.cli.arguments import Commands
from sortkey.engine.database import Database
from sortkey.http.listener import CannotListen, listen, url_of
from sortkey.storage import StorageError
from sortkey.wire.keys_file import BadKeysFile
from sortkey.wire.serve_database import Options, authentication_for, serve
from sortkey.wire.worker_metrics import NoOtherWorkers
from sortkey.wire.workers import Supervisor

DEFAULT_FOLDER = Path("data")


def add_to(commands: Commands) -> None:
    command = commands.add_parser("db", help="serve DynamoDB's protocol")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--data", metavar="DIR", type=Path, default=DEFAULT_FOLDER, help="the data folder (./data)")
    where.add_argument("--memory", action="store_true", help="keep everything in memory; gone at exit")
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    command.add_argument("--port", type=int, default=8000, help="0 picks a free one (%(default)s)")
    command.add_argument("--keys", metavar="FILE", type=Path, help="check signatures against the keys in this file")
    command.add_argument("--workers", metavar="N", type=int, default=1, help="processes that share the port (1)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    data = None if arguments.memory else arguments.data
    options = Options(data, arguments.host, arguments.port, arguments.keys)
    if arguments.workers < 1:
        return print_error("db", "--workers must be at least 1")
    if arguments.workers > 1 and data is None:
        return print_error("db", "--memory belongs to one process: it does not go with --workers")
    return serve_alone("db", options) if arguments.workers == 1 else serve_shared("db", options, arguments.workers)


def serve_alone(command: str, options: Options) -> int:
    try:
        authentication = authentication_for(options)
        with listen(options.host, options.port) as listening:
            url = url_of(listening)
            serve(options, authentication, listening, NoOtherWorkers(), lambda _: announce(url))
    except (BadKeysFile, CannotListen, StorageError) as error:
        return print_error(command, str(error))
    return 0


def serve_shared(command: str, options: Options, workers: int) -> int:
    try:
        authentication_for(options)
        # Workers may share the port with each other, so whether anybody else has it must be asked first.
        with listen(options.host, options.port) as alone:
            port = alone.getsockname()[1]
        # A folder that cannot be used is rejected here, once.
        Database.open(options.data).close()
        with listen(options.host, port, shared=True) as held:
            url = url_of(held)
            return Supervisor(msgspec.structs.replace(options, port=port), workers, lambda: announce(url)).run()
    except (BadKeysFile, CannotListen, StorageError) as error:
        return print_error(command, str(error))


def announce(url: str) -> None:
    sys.stdout.write(f"ready {url}\n")
    sys.stdout.flush()


def print_error(command: str, message: str) -> int:
    sys.stderr.write(f"sortkey {command}: {message}\n")
    return 2
