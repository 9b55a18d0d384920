"""The `sortkey` command: one module beside this one for each of its subcommands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

from sortkey.cli import bench, check, db, explain, up, worker
from sortkey.cli.arguments import Parser

COMMANDS = (bench, check, db, explain, up, worker)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 well, 1 the answer is no, 2 wrong arguments."""
    arguments = parser().parse_args(argv)
    run: Callable[..., int] = arguments.run
    return run(arguments)


def parser() -> Parser:
    top = Parser(prog="sortkey", description="A framework for serving layers on DynamoDB.")
    top.add_argument("--version", action="version", version=f"sortkey {version('sortkey')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    return top
