"""The `sortkey` command: one module beside this one for each of its subcommands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from sortkey.cli.arguments import Parser

COMMANDS = ("bench", "check", "db", "explain", "serve", "token", "up", "worker")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 well, 1 the answer is no, 2 wrong arguments."""
    given = sys.argv[1:] if argv is None else argv
    # Only what is asked for is imported: the HTTP app alone takes longer than all of `sortkey db`.
    asked = given[:1] if given and given[0] in COMMANDS else COMMANDS
    arguments = parser(asked).parse_args(given)
    run: Callable[..., int] = arguments.run
    return run(arguments)


def parser(names: Iterable[str] = COMMANDS) -> Parser:
    top = Parser(prog="sortkey", description="A framework for serving layers on DynamoDB.")
    top.add_argument("--version", action=Version, nargs=0, help="show program's version number and exit")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        import_module(f"sortkey.cli.{name}").add_to(commands)
    return top


class Version(argparse.Action):
    """argparse's own wants the text at once, which is slow to find: importlib.metadata imports half of `email`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        sys.stdout.write(f"sortkey {import_module('importlib.metadata').version('sortkey')}\n")
        parser.exit()
