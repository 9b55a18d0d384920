"""What `sortkey serve` and `sortkey up` have in common: their arguments, and what each mistake in them costs."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from sortkey.cli.arguments import Parser
from sortkey.cli.config_file import settings_of
from sortkey.cli.db import DEFAULT_FOLDER, announce, print_error
from sortkey.cli.demo_progress import Loading
from sortkey.client import store_url
from sortkey.http.listener import CannotListen, is_loopback, listen, url_of
from sortkey.server import lifecycle, tokens
from sortkey.server.access_log import CannotLog, open_log
from sortkey.server.lifecycle import CannotStart, Endpoint, Plan
from sortkey.server.tokens import BadTokens, NoTokens, Tokens
from sortkey.service_interface import BadSettings, ServiceDefinition
from sortkey.services.registry import SERVICES
from sortkey.wire.keys_file import BadKeysFile
from sortkey.wire.serve_database import Options, authentication_for

Open = Callable[[ExitStack], Endpoint | None]


def add_arguments(command: Parser, demo: bool) -> None:
    command.add_argument("--store", metavar="URL", default=str(DEFAULT_FOLDER), help="where the data is (./data)")
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    command.add_argument("--port", type=int, default=8080, help="0 picks a free one (%(default)s)")
    command.add_argument("--config", metavar="FILE", type=Path, help="the services' settings")
    command.add_argument("--tokens", metavar="FILE", type=Path, help="ask for a token of those in this file")
    command.add_argument(
        "--access-log", metavar="PATH", default="-", help="where requests are written: - is standard error, off nowhere"
    )
    command.add_argument(
        "--demo",
        action=argparse.BooleanOptionalAction,
        default=demo,
        help=f"load the demonstration data, once ({'on' if demo else 'off'} unless told)",
    )


def serve(command: str, arguments: argparse.Namespace, kinds: Sequence[ServiceDefinition], endpoint: Open) -> int:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        store_url.parse(arguments.store)
    except ValueError as error:
        return print_error(command, str(error))
    try:
        with ExitStack() as stack:
            services = [(kind, settings_of(arguments.config, kind.name)) for kind in kinds]
            known = _tokens(arguments.tokens, arguments.host)
            listening = stack.enter_context(listen(arguments.host, arguments.port))
            served = endpoint(stack)
            log = open_log(arguments.access_log)
            stack.callback(log.close)
            loading = stack.enter_context(Loading(command, Console(stderr=True))) if arguments.demo else None
            url = url_of(listening)
            plan = Plan(
                arguments.store,
                services,
                listening,
                known,
                log,
                lambda: announce(url),
                None if loading is None else loading.of,
                served,
            )
            lifecycle.run(plan)
    except (BadSettings, BadTokens, BadKeysFile, CannotListen, CannotLog, CannotStart) as error:
        return print_error(command, str(error))
    return 0


def no_endpoint(_: ExitStack) -> Endpoint | None:
    return None


def endpoint_of(command: str, arguments: argparse.Namespace) -> Open:
    """DynamoDB's protocol on the same store, unless that is elsewhere."""

    def opened(stack: ExitStack) -> Endpoint | None:
        if store_url.parse(arguments.store).remote is not None:
            sys.stderr.write(f"sortkey {command}: {arguments.store} is an endpoint already, so none is served here\n")
            return None
        authentication = authentication_for(Options(None, arguments.host, arguments.db_port, arguments.keys))
        listening = stack.enter_context(listen(arguments.host, arguments.db_port))
        sys.stderr.write(f"sortkey {command}: the DynamoDB endpoint is {url_of(listening)}\n")
        return Endpoint(listening, authentication)

    return opened


def _tokens(path: Path | None, host: str) -> Tokens:
    if path is not None:
        return tokens.load(path, SERVICES.keys())
    if not is_loopback(host):
        raise CannotListen(
            f"without --tokens everybody may do everything, so only a loopback address will do, not {host}"
        )
    return NoTokens()
