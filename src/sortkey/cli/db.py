"""`sortkey db`: the DynamoDB endpoint."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sortkey.cli.arguments import Commands
from sortkey.engine.database import Database
from sortkey.storage import StorageError
from sortkey.wire import server
from sortkey.wire.gate import OpenGate
from sortkey.wire.listening import CannotListen, is_loopback, listen, url_of

DEFAULT_FOLDER = Path("data")


def add_to(commands: Commands) -> None:
    command = commands.add_parser("db", help="serve DynamoDB's protocol")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--data", metavar="DIR", type=Path, default=DEFAULT_FOLDER, help="the data folder (./data)")
    where.add_argument("--memory", action="store_true", help="keep everything in memory; gone at exit")
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    command.add_argument("--port", type=int, default=8000, help="0 picks a free one (%(default)s)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        if not is_loopback(arguments.host):
            raise CannotListen(f"without --keys only this machine may reach the endpoint, and {arguments.host} is open")
        listening = listen(arguments.host, arguments.port)
        database = Database.open(None if arguments.memory else arguments.data)
    except (CannotListen, StorageError) as error:
        sys.stderr.write(f"sortkey db: {error}\n")
        return 2
    try:
        server.run(database, OpenGate(), listening, lambda: announce(url_of(listening)))
    finally:
        database.close()
    return 0


def announce(url: str) -> None:
    sys.stdout.write(f"ready {url}\n")
    sys.stdout.flush()
