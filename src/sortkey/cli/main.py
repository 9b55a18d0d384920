"""The `sortkey` command: one module beside this one for each of its subcommands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.metadata import version

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
    top.add_argument("--version", action="version", version=f"sortkey {version('sortkey')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        import_module(f"sortkey.cli.{name}").add_to(commands)
    return top
