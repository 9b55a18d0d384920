"""`sortkey token`: create a token for the HTTP services."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from sortkey.cli.arguments import Parser, print_error
from sortkey.server import tokens
from sortkey.server.tokens import BadTokens
from sortkey_services.registry import SERVICES


def add_arguments(command: Parser) -> None:
    command.add_argument("name", metavar="NAME", help="the client's name in the access log")
    command.add_argument("scopes", metavar="SCOPE", nargs="+", help="for example boosts:read or boosts:write")
    command.add_argument("--tokens", metavar="FILE", type=Path, required=True, help="the file to add its hash to")


def run(arguments: argparse.Namespace) -> int:
    path: Path = arguments.tokens
    try:
        tokens.check_scopes(arguments.scopes, SERVICES.keys())
        if path.exists() and arguments.name in tokens.read(path):
            raise BadTokens(f"{path} already has a token {arguments.name!r}; remove it first")
        token, entry = tokens.create(arguments.name, arguments.scopes)
        _append(path, entry)
    except BadTokens as error:
        return print_error("token", str(error))
    # Shown once: the file has only its hash.
    sys.stdout.write(f"{token}\n")
    return 0


def _append(path: Path, entry: str) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as opened:
            opened.write(f"\n{entry}" if opened.tell() else entry)
    except OSError as error:
        raise BadTokens(f"cannot write {path}: {error.strerror}") from error
