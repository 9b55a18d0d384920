"""`sortkey up`: everything there is, over one store: all services, and the DynamoDB endpoint."""

from __future__ import annotations

import argparse
from pathlib import Path

from sortkey.cli.arguments import Commands
from sortkey.cli.server_command import add_arguments, endpoint_of, serve
from sortkey.services.registry import SERVICES


def add_to(commands: Commands) -> None:
    command = commands.add_parser("up", help="serve everything there is")
    add_arguments(command, demo=True)
    command.add_argument("--db-port", type=int, default=8000, help="the DynamoDB endpoint's; 0 picks one (%(default)s)")
    command.add_argument("--keys", metavar="FILE", type=Path, help="the endpoint checks signatures against these keys")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return serve("up", arguments, list(SERVICES.values()), endpoint_of("up", arguments))
