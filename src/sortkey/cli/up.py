"""`sortkey up`: all services and the DynamoDB endpoint, over one store."""

from __future__ import annotations

import argparse
from pathlib import Path

from sortkey.cli import server_command
from sortkey.cli.arguments import Parser
from sortkey_services.registry import SERVICES


def add_arguments(command: Parser) -> None:
    server_command.add_arguments(command, demo=True)
    command.add_argument(
        "--db-port", type=int, default=8000, help="of the DynamoDB endpoint; 0 chooses a free port (%(default)s)"
    )
    command.add_argument("--keys", metavar="FILE", type=Path, help="check the endpoint's signatures with these keys")


def run(arguments: argparse.Namespace) -> int:
    endpoint = server_command.endpoint_of("up", arguments)
    return server_command.serve("up", arguments, list(SERVICES.values()), endpoint)
