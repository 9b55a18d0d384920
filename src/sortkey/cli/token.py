"""`sortkey token`: create a token for the HTTP services."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sortkey.cli.arguments import Parser, print_error
from sortkey.cli.services import registered_names, service_help, service_named
from sortkey.server import tokens
from sortkey.server.tokens import BadTokens
from sortkey.services.interface import BadSettings


def add_arguments(command: Parser) -> None:
    command.add_argument("name", metavar="NAME", help="the client's name in the access log")
    command.add_argument(
        "scopes",
        metavar="SCOPE",
        nargs="+",
        help="SERVICE:read or SERVICE:write; :TENANT or :/PATH behind it restricts it to a tenant, or to a part of the "
        f"paths; SERVICE is {service_help()}; console:read and console:write are for the console, all of it or "
        "behind :SERVICE that of one service",
    )
    command.add_argument("--tokens", metavar="FILE", type=Path, required=True, help="the file to add its hash to")


def run(arguments: argparse.Namespace) -> int:
    path: Path = arguments.tokens
    try:
        scopes = scopes_of(arguments.scopes)
        if path.exists() and arguments.name in tokens.read(path):
            raise BadTokens(f"{path} already has a token {arguments.name!r}; remove it first")
        token, entry = tokens.create(arguments.name, scopes)
        _append(path, entry)
    except (BadSettings, BadTokens) as error:
        return print_error("token", str(error))
    # Shown once: the file has only its hash.
    sys.stdout.write(f"{token}\n")
    return 0


def scopes_of(given: Sequence[str]) -> list[str]:
    """The scopes by the services' own names. Raises BadTokens and BadSettings."""
    services = set(registered_names())
    scopes = []
    for scope in given:
        first, _, rest = scope.partition(":")
        second, _, right = rest.partition(":")
        if first in services or second in tokens.RIGHTS or not right:
            scopes.append(scope)
        else:
            name = service_named(f"{first}:{second}").name
            services.add(name)
            scopes.append(f"{name}:{right}")
    tokens.read_scopes(scopes, services)
    return scopes


def _append(path: Path, entry: str) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as opened:
            opened.write(f"\n{entry}" if opened.tell() else entry)
    except OSError as error:
        raise BadTokens(f"cannot write {path}: {error.strerror}") from error
