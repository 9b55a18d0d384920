"""`sortkey up`: everything there is, on ./data. Today that is the DynamoDB endpoint."""

from __future__ import annotations

import argparse

from sortkey.cli.arguments import Commands
from sortkey.cli.db import DEFAULT_FOLDER, serve_alone
from sortkey.wire.service import Options


def add_to(commands: Commands) -> None:
    command = commands.add_parser("up", help="serve everything there is, on ./data")
    command.add_argument("--db-port", type=int, default=8000, help="the DynamoDB endpoint's; 0 picks one (%(default)s)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return serve_alone("up", Options(DEFAULT_FOLDER, "127.0.0.1", arguments.db_port))
