"""`sortkey serve`: the named services over HTTP. Also what `sortkey up` shares with it."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal

from sortkey.cli.arguments import (
    Parser,
    add_allow_host_argument,
    add_config_argument,
    add_console_argument,
    add_store_argument,
    announce,
    print_error,
)
from sortkey.cli.progress import Bars
from sortkey.cli.services import add_service_argument, registered_names, service_named, settings_of
from sortkey.client import stores
from sortkey.http.listener import AllowedHosts, CannotListen, is_loopback, listen, url_of
from sortkey.server import lifecycle, tokens
from sortkey.server.access_log import CannotLog, open_log
from sortkey.server.console.of_services import services_console
from sortkey.server.lifecycle import CannotStart, Endpoint, Plan
from sortkey.server.tokens import BadTokens, NoTokens, Tokens
from sortkey.services.interface import BadSettings, Progress, ServiceDefinition
from sortkey.wire.authentication import BadKeysFile
from sortkey.wire.server import Options, authentication_for

OpenEndpoint = Callable[[ExitStack], Endpoint | None]


def add_arguments(command: Parser) -> None:
    add_service_argument(command, nargs="+")
    add_server_arguments(command, demo=False)


def run(arguments: argparse.Namespace) -> int:
    try:
        # In the given order, each once.
        services = list(dict.fromkeys(map(service_named, arguments.service)))
    except BadSettings as error:
        return print_error("serve", str(error))
    return serve("serve", arguments, services, no_endpoint)


def add_server_arguments(command: Parser, demo: bool) -> None:
    add_store_argument(command)
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    command.add_argument("--port", type=int, default=8080, help="0 chooses a free port (%(default)s)")
    add_config_argument(command)
    command.add_argument("--tokens", metavar="FILE", type=Path, help="require a token from this file")
    add_allow_host_argument(command)
    add_console_argument(command)
    command.add_argument(
        "--access-log", metavar="PATH", default="-", help="a file, - for standard error (the default), or off"
    )
    command.add_argument(
        "--demo",
        action=argparse.BooleanOptionalAction,
        default=demo,
        help=f"load the demonstration data if it is missing ({'on' if demo else 'off'} by default)",
    )
    command.add_argument(
        "--follow",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the services' change feeds (on by default); otherwise sortkey follow does",
    )


def serve(
    command: Literal["up", "serve"],
    arguments: argparse.Namespace,
    definitions: Sequence[ServiceDefinition],
    open_endpoint: OpenEndpoint,
) -> int:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        stores.parse(arguments.store)
    except ValueError as error:
        return print_error(command, str(error))
    try:
        with ExitStack() as stack:
            names = _names(definitions)
            if arguments.console and tokens.CONSOLE in names:
                raise BadSettings("a service called 'console' has the paths of the console; serve it with --no-console")
            services = [(each, settings_of(arguments.config, each.name, names)) for each in definitions]
            known = _tokens(arguments.tokens, arguments.host, arguments.allowed_hosts, names)
            listening = stack.enter_context(listen(arguments.host, arguments.port))
            endpoint = open_endpoint(stack)
            log = open_log(arguments.access_log)
            stack.callback(log.close)
            progress = stack.enter_context(Bars(command)) if arguments.demo else None
            url = url_of(listening)
            plan = Plan(
                arguments.store,
                services,
                listening,
                known,
                log,
                lambda: announce(url),
                None if progress is None else partial(_demo_progress, progress),
                endpoint,
                arguments.follow,
                partial(services_console, command=command) if arguments.console else None,
            )
            lifecycle.run(plan)
    except (BadSettings, BadTokens, BadKeysFile, CannotListen, CannotLog, CannotStart) as error:
        return print_error(command, str(error))
    return 0


def no_endpoint(_: ExitStack) -> Endpoint | None:
    return None


def endpoint_of(command: str, arguments: argparse.Namespace) -> OpenEndpoint:
    """DynamoDB's protocol on the same store, unless the store is remote."""

    def open_endpoint(stack: ExitStack) -> Endpoint | None:
        if stores.parse(arguments.store).remote is not None:
            sys.stderr.write(f"sortkey {command}: {arguments.store} is remote, so no DynamoDB endpoint is served\n")
            return None
        options = Options(None, arguments.host, arguments.db_port, arguments.keys, tuple(arguments.allowed_hosts))
        authentication = authentication_for(options)
        listening = stack.enter_context(listen(arguments.host, arguments.db_port))
        sys.stderr.write(f"sortkey {command}: the DynamoDB endpoint is {url_of(listening)}\n")
        return Endpoint(listening, authentication)

    return open_endpoint


def _names(definitions: Sequence[ServiceDefinition]) -> list[str]:
    names = [each.name for each in definitions]
    for name in names:
        if names.count(name) > 1:
            raise BadSettings(f"two of the services are called {name!r}; their routes and settings would be the same")
    return names


def _demo_progress(bars: Bars, service: str) -> Progress:
    return bars.part(f"loading the demonstration data of {service}", "items")


def _tokens(path: Path | None, host: str, allowed_hosts: Sequence[str], services: Sequence[str]) -> Tokens:
    if path is not None:
        # One file may be of several servers.
        return tokens.load(path, {*services, *registered_names()})
    if not is_loopback(host):
        raise CannotListen(f"without --tokens anyone who connects may do anything: use a loopback address, not {host}")
    return NoTokens(AllowedHosts((host, *allowed_hosts)))
