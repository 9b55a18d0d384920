"""`sortkey token`: make a token for the HTTP services."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from sortkey.cli.arguments import Commands
from sortkey.cli.db import print_error
from sortkey.server import tokens
from sortkey.server.tokens import BadTokens
from sortkey.services.registry import SERVICES


def add_to(commands: Commands) -> None:
    command = commands.add_parser("token", help="make a token for the HTTP services")
    command.add_argument("name", metavar="NAME", help="who will have it, as the access log is to call them")
    command.add_argument("scopes", metavar="SCOPE", nargs="+", help="such as boosts:read or boosts:write")
    command.add_argument("--tokens", metavar="FILE", type=Path, required=True, help="the file that gets its hash")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    path: Path = arguments.tokens
    try:
        tokens.check_scopes(arguments.scopes, SERVICES.keys())
        if path.exists() and arguments.name in tokens.read(path):
            raise BadTokens(f"{path} has a token {arguments.name!r} already; remove it there first")
        token, entry = tokens.made(arguments.name, arguments.scopes)
        _append(path, entry)
    except BadTokens as error:
        return print_error("token", str(error))
    # The only time that anybody sees it: the file has its hash.
    sys.stdout.write(f"{token}\n")
    return 0


def _append(path: Path, entry: str) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as opened:
            opened.write(f"\n{entry}" if opened.tell() else entry)
    except OSError as error:
        raise BadTokens(f"cannot write {path}: {error.strerror}") from error
