"""What `sortkey serve` and `sortkey up` share: their arguments, and the server that they start."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from sortkey.cli.arguments import Parser, add_allow_host_argument, add_store_argument, announce, print_error
from sortkey.cli.config_file import settings_of
from sortkey.cli.demo_progress import DemoProgress
from sortkey.client import store_url
from sortkey.http.allowed_hosts import AllowedHosts
from sortkey.http.listener import CannotListen, is_loopback, listen, url_of
from sortkey.server import lifecycle, tokens
from sortkey.server.access_log import CannotLog, open_log
from sortkey.server.lifecycle import CannotStart, Endpoint, Plan
from sortkey.server.tokens import BadTokens, NoTokens, Tokens
from sortkey.services.interface import BadSettings, ServiceDefinition
from sortkey.wire.keys_file import BadKeysFile
from sortkey.wire.serve_database import Options, authentication_for
from sortkey_services.registry import SERVICES

OpenEndpoint = Callable[[ExitStack], Endpoint | None]


def add_arguments(command: Parser, demo: bool) -> None:
    add_store_argument(command)
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    command.add_argument("--port", type=int, default=8080, help="0 chooses a free port (%(default)s)")
    command.add_argument("--config", metavar="FILE", type=Path, help="the services' settings, in TOML")
    command.add_argument("--tokens", metavar="FILE", type=Path, help="require a token from this file")
    add_allow_host_argument(command)
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
    command: str, arguments: argparse.Namespace, definitions: Sequence[ServiceDefinition], open_endpoint: OpenEndpoint
) -> int:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        store_url.parse(arguments.store)
    except ValueError as error:
        return print_error(command, str(error))
    try:
        with ExitStack() as stack:
            services = [(each, settings_of(arguments.config, each.name)) for each in definitions]
            known = _tokens(arguments.tokens, arguments.host, arguments.allowed_hosts)
            listening = stack.enter_context(listen(arguments.host, arguments.port))
            endpoint = open_endpoint(stack)
            log = open_log(arguments.access_log)
            stack.callback(log.close)
            progress = stack.enter_context(DemoProgress(command, Console(stderr=True))) if arguments.demo else None
            url = url_of(listening)
            plan = Plan(
                arguments.store,
                services,
                listening,
                known,
                log,
                lambda: announce(url),
                None if progress is None else progress.of_service,
                endpoint,
                arguments.follow,
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
        if store_url.parse(arguments.store).remote is not None:
            sys.stderr.write(f"sortkey {command}: {arguments.store} is remote, so no DynamoDB endpoint is served\n")
            return None
        options = Options(None, arguments.host, arguments.db_port, arguments.keys, tuple(arguments.allowed_hosts))
        authentication = authentication_for(options)
        listening = stack.enter_context(listen(arguments.host, arguments.db_port))
        sys.stderr.write(f"sortkey {command}: the DynamoDB endpoint is {url_of(listening)}\n")
        return Endpoint(listening, authentication)

    return open_endpoint


def _tokens(path: Path | None, host: str, allowed_hosts: Sequence[str]) -> Tokens:
    if path is not None:
        return tokens.load(path, SERVICES.keys())
    if not is_loopback(host):
        raise CannotListen(f"without --tokens anyone who connects may do anything: use a loopback address, not {host}")
    return NoTokens(AllowedHosts((host, *allowed_hosts)))
