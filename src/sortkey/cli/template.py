"""`sortkey template`: a service as a stack of CloudFormation, for AWS.

    sortkey template favourites > favourites.json
    sortkey template pricing --config services.toml --tokens tokens.toml --replicas eu-west-1 us-east-1 > pricing.json

The template is made from the service's definition: its tables, and a function for its routes and for each of its feeds
and timers. docs/operate/aws.md has the commands that deploy it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sortkey.cli import aws_stack
from sortkey.cli.arguments import Parser, add_config_argument, print_error
from sortkey.cli.aws_stack import Stack
from sortkey.cli.services import add_service_argument, registered_names, service_named, settings_of
from sortkey.client.stores import parse
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.model.errors import ModelError
from sortkey.model.items.table import REPLICATED, Table
from sortkey.model.sessions.connect import async_connect
from sortkey.model.tables.provision import tables_of
from sortkey.server import tokens
from sortkey.server.tokens import BadTokens
from sortkey.services.interface import BadSettings, Maintained, Service, ServiceDefinition
from sortkey.services.operation import REQUESTS

ENVIRONMENT_BYTES: Final = 3_500
"""Of the settings and the tokens: Lambda allows 4 KB for all of a function's environment."""
LONGEST_WINDOW: Final = 900


def add_arguments(command: Parser) -> None:
    add_service_argument(command)
    add_config_argument(command)
    command.add_argument("--tokens", metavar="FILE", type=Path, help="let holders of these tokens call it, not IAM")
    command.add_argument("--replicas", metavar="REGION", nargs="+", default=[], help="regions that have the tables")
    command.add_argument(
        "--recovery",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="point-in-time recovery of all tables (on by default)",
    )
    command.add_argument("--prefix", default="", help="put before the names of the tables")
    command.add_argument(
        "--window",
        metavar="SECONDS",
        type=_window,
        default=60,
        help="the feeds' tumbling window, which aggregates need (60); 0 for none",
    )


def _window(text: str) -> int:
    if not text.isdecimal() or int(text) > LONGEST_WINDOW:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to {LONGEST_WINDOW}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    try:
        definition = service_named(arguments.service)
        settings = settings_of(arguments.config, definition.name)
        stack = asyncio.run(stack_of(arguments, definition, settings))
    except (BadSettings, BadTokens, ModelError) as error:
        return print_error("template", str(error))
    for note in aws_stack.crowded(stack):
        sys.stderr.write(f"sortkey template: {note}\n")
    sys.stdout.write(aws_stack.template(stack))
    return 0


async def stack_of(arguments: argparse.Namespace, definition: ServiceDefinition, settings: Mapping[str, Any]) -> Stack:
    """Raises BadSettings, BadTokens and DeclarationError."""
    known = (*tables_of(definition.tables(settings)), REQUESTS)
    tables = {table: _deployed(table, arguments) for table in known}
    text = None if arguments.tokens is None else _tokens(arguments.tokens, definition.name)
    _check_size(settings, text or "")
    async with async_connect("memory:", tables=list(tables)) as session:
        service = definition.service(session, settings)
        feeds, timers = _feeds(service)
    return Stack(
        arguments.service,
        list(tables.values()),
        {name: _among(tables, name, table) for name, table in feeds.items()},
        {name: _among(tables, name, table) for name, table in timers.items()},
        isinstance(service, Maintained),
        settings,
        arguments.prefix,
        text,
        arguments.window,
    )


def _feeds(service: Service) -> tuple[dict[str, Table], dict[str, Table]]:
    feeds, timers = {}, {}
    for each in service.feeds:
        if isinstance(each, ChangeFeed):
            feeds[each.name] = each.table
        else:
            timers[each.name] = each.schedule.source.cls.__table__
    return feeds, timers


def _among(tables: Mapping[Table, Table], feed: str, table: Table) -> Table:
    if table not in tables:
        raise BadSettings(f"the feed {feed!r} follows table {table.name}, which is not among the service's tables")
    return tables[table]


def _deployed(table: Table, arguments: argparse.Namespace) -> Table:
    """The table as it is in the stack."""
    deployed = copy(table)
    try:
        parse(f"memory:?prefix={arguments.prefix}")
    except ValueError as error:
        raise BadSettings(f"--prefix: {error}") from error
    deployed.name = f"{arguments.prefix}{table.name}"
    replicas = tuple(arguments.replicas) or table.settings.replicas
    deployed.settings = replace(
        table.settings,
        point_in_time_recovery=arguments.recovery,
        replicas=replicas,
        stream=table.settings.stream or (REPLICATED if replicas else None),
    )
    deployed.settings.reject_wrong(deployed.name)
    return deployed


def _tokens(path: Path, service: str) -> str:
    tokens.load(path, {service, *registered_names()})
    return path.read_text(encoding="utf-8")


def _check_size(settings: Mapping[str, Any], text: str) -> None:
    size = len(json.dumps(settings).encode()) + len(text.encode())
    if size > ENVIRONMENT_BYTES:
        raise BadSettings(
            f"the settings and tokens have {size:,} bytes, and the environment of a function has room for "
            f"{ENVIRONMENT_BYTES:,}; run the service in a container"
        )
