"""The `sortkey` command: one module beside this one for each of its subcommands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final, NamedTuple

from sortkey.cli.arguments import Parser
from sortkey.extras import MissingExtra, installed_by


class Command(NamedTuple):
    summary: str
    extra: str = ""
    """The extra that installs what the command imports; without one, the library suffices."""


COMMANDS: Final[Mapping[str, Command]] = {
    "audit": Command("compare every row of the declared tables with its declaration, and repair rows"),
    "backup": Command("write a copy of a data folder, which may be in use, to a file"),
    "batch": Command("run a service's batch job, which replaces all that it serves at once", "server"),
    "bench": Command("run the benchmarks of a checkout", "dev"),
    "check": Command("check that a data folder is consistent"),
    "copy": Command("copy the tables of a store into another one, while they are used", "server"),
    "cost": Command("tell what a service costs a month on DynamoDB", "server"),
    "db": Command("serve DynamoDB's protocol", "endpoint"),
    "dead-letters": Command("list, show, send again or drop what a service's feeds and worker gave up", "server"),
    "doctor": Command("tell whether this machine, a data folder or an endpoint is fit"),
    "explain": Command("show the request of an access path or a statement"),
    "follow": Command("run a service's change feeds", "server"),
    "load": Command("load a file into a service's tables", "server"),
    "new": Command("write a small project with a service of your own"),
    "recount": Command("count a service's aggregates anew, and repair them", "server"),
    "regions": Command("show the emulated regions of an endpoint, and cut and heal their links"),
    "rekey": Command("take items to another key design while they are used", "server"),
    "restore": Command("make a data folder of a backup"),
    "serve": Command("serve the named services over HTTP", "server"),
    "tables": Command("print the tables that a module declares, for CloudFormation, Terraform or the CDK"),
    "template": Command("print a service as a CloudFormation template, for AWS", "server"),
    "token": Command("create a token for the HTTP services", "server"),
    "up": Command("serve all services and the DynamoDB endpoint", "server"),
    "worker": Command("feed a service from a Kafka topic", "kafka"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code: 0 success, 1 a check or a worker failed, 2 it could not be run."""
    given = sys.argv[1:] if argv is None else argv
    name = next((argument for argument in given if argument in COMMANDS), None)
    try:
        arguments, unknown = parser(name).parse_known_args(given)
        if unknown:
            arguments.command.error(f"unrecognized arguments: {' '.join(unknown)}")
        run: Callable[..., int] = arguments.run
        return run(arguments)
    except MissingExtra as error:
        sys.stderr.write(f"sortkey {name}: {error}\n")
        return 2


def parser(name: str | None = None) -> Parser:
    """Knows every command, and the arguments of the one named: to import them all would take long, and every extra."""
    top = Parser(prog="sortkey", description="A framework for serving layers on DynamoDB.")
    top.add_argument("--version", action=Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for each, (summary, extra) in COMMANDS.items():
        command = commands.add_parser(each, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if each == name:
            with installed_by(extra):
                module = import_module(f"sortkey.cli.{name.replace('-', '_')}")
            module.add_arguments(command)
            command.set_defaults(run=module.run, command=command)
    return top


class Version(argparse.Action):
    """argparse's own action needs the version at once, and importlib.metadata is slow to import."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        sys.stdout.write(f"sortkey {import_module('importlib.metadata').version('sortkey')}\n")
        parser.exit()
