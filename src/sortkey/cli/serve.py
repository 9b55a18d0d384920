"""`sortkey serve`: chosen services over HTTP."""

from __future__ import annotations

import argparse

from sortkey.cli.arguments import Commands
from sortkey.cli.db import print_error
from sortkey.cli.server_command import add_arguments, no_endpoint, serve
from sortkey.services.registry import SERVICES


def add_to(commands: Commands) -> None:
    command = commands.add_parser("serve", help="serve chosen services over HTTP")
    command.add_argument("services", metavar="SERVICE", nargs="+", help=f"of {known()}")
    add_arguments(command, demo=False)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    for name in arguments.services:
        if name not in SERVICES:
            return print_error("serve", f"there is no service {name!r}; there are {known()}")
    # In the order given, each once.
    return serve("serve", arguments, [SERVICES[name] for name in dict.fromkeys(arguments.services)], no_endpoint)


def known() -> str:
    return ", ".join(SERVICES) or "none"
