"""`sortkey serve`: the named services over HTTP."""

from __future__ import annotations

import argparse

from sortkey.cli import server_command
from sortkey.cli.arguments import Parser, print_error
from sortkey_services.registry import SERVICES


def add_arguments(command: Parser) -> None:
    command.add_argument("services", metavar="SERVICE", nargs="+", help=", ".join(SERVICES))
    server_command.add_arguments(command, demo=False)


def run(arguments: argparse.Namespace) -> int:
    for name in arguments.services:
        if name not in SERVICES:
            return print_error("serve", f"there is no service {name!r}; there are {', '.join(SERVICES)}")
    # In the given order, each once.
    services = [SERVICES[name] for name in dict.fromkeys(arguments.services)]
    return server_command.serve("serve", arguments, services, server_command.no_endpoint)
