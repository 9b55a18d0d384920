"""`sortkey up`: all registered services and the DynamoDB endpoint, over one store."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sortkey.cli.arguments import Parser, print_error
from sortkey.cli.serve import add_server_arguments, endpoint_of, serve
from sortkey.cli.services import GROUP, registered_services


def add_arguments(command: Parser) -> None:
    add_server_arguments(command, demo=True)
    command.add_argument(
        "--db-port", type=int, default=8000, help="of the DynamoDB endpoint; 0 chooses a free port (%(default)s)"
    )
    command.add_argument("--keys", metavar="FILE", type=Path, help="check the endpoint's signatures with these keys")


def run(arguments: argparse.Namespace) -> int:
    services = registered_services(lambda problem: _report(f"{problem}; it is not served"))
    if not services:
        return print_error("up", f"there is no service under the entry points {GROUP}; install one, or use sortkey db")
    return serve("up", arguments, services, endpoint_of("up", arguments))


def _report(line: str) -> None:
    sys.stderr.write(f"sortkey up: {line}\n")
