"""`sortkey db`: the DynamoDB endpoint."""

from __future__ import annotations

import argparse
import math
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from sortkey.cli.arguments import (
    DEFAULT_FOLDER,
    Parser,
    add_allow_host_argument,
    add_allow_origin_argument,
    add_console_argument,
    announce,
    print_error,
)
from sortkey.cli.console import EndpointConsole
from sortkey.engine.database import Database
from sortkey.engine.faults.faults import Faults
from sortkey.engine.regions import Regions
from sortkey.http.listener import CannotListen, listen, url_of
from sortkey.storage import StorageError
from sortkey.wire.authentication import BadKeysFile, NoAuthentication
from sortkey.wire.commit_scheduler import WRITE_WAIT_SECONDS
from sortkey.wire.metrics import NoOtherWorkers
from sortkey.wire.region_server import serve_regions
from sortkey.wire.server import PROFILES, Options, authentication_for, serve
from sortkey.wire.workers import Supervisor

_REGION: Final = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")


def add_arguments(command: Parser) -> None:
    where = command.add_mutually_exclusive_group()
    where.add_argument("--data", metavar="DIR", type=Path, default=DEFAULT_FOLDER, help="the data folder (./data)")
    where.add_argument("--memory", action="store_true", help="keep the data in memory, until exit")
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    command.add_argument("--port", type=int, default=8000, help="0 chooses a free port (%(default)s)")
    command.add_argument("--keys", metavar="FILE", type=Path, help="check signatures against the keys in this file")
    add_allow_host_argument(command)
    add_allow_origin_argument(command)
    add_console_argument(command)
    command.add_argument(
        "--faults",
        metavar="LIST",
        type=_faults,
        help="for tests of a program: faults such as throttle=0.01,seed=7 (see docs/guides/faults.md)",
    )
    command.add_argument(
        "--profile",
        choices=sorted(PROFILES),
        help="answer as this store does, and refuse what it lacks (see docs/stores.md)",
    )
    command.add_argument(
        "--kinesis",
        metavar="TARGET",
        help="deliver to Kinesis streaming destinations: a folder, or the URL of a Kinesis-compatible endpoint",
    )
    command.add_argument(
        "--buckets", metavar="DIR", type=Path, help="for exports and imports: each folder in it is an S3 bucket"
    )
    command.add_argument(
        "--regions",
        metavar="LIST",
        type=_regions,
        default=(),
        help="emulate regions such as eu-west-1,us-east-1, each at an address of its own (docs/guides/regions.md)",
    )
    command.add_argument(
        "--region-lag", metavar="SECONDS", type=float, default=0.0, help="how long a write takes to another region (0)"
    )
    command.add_argument("--workers", metavar="N", type=int, default=1, help="processes that share the port (1)")
    command.add_argument(
        "--write-wait",
        metavar="SECONDS",
        type=float,
        default=WRITE_WAIT_SECONDS,
        help="how long a write waits for another process that writes to the folder, before it gets 503 (%(default)g)",
    )


def _faults(text: str) -> Faults:
    try:
        return Faults.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _regions(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if not _REGION.fullmatch(name):
            raise argparse.ArgumentTypeError(f"{name!r} is not a region of AWS, such as eu-west-1")
    if len(names) < 2 or len({*names}) < len(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not two or more different regions: eu-west-1,us-east-1")
    return names


def run(arguments: argparse.Namespace) -> int:
    data = None if arguments.memory else arguments.data
    options = Options(
        data,
        arguments.host,
        arguments.port,
        arguments.keys,
        tuple(arguments.allowed_hosts),
        tuple(arguments.allowed_origins),
        arguments.faults,
        arguments.write_wait,
        arguments.kinesis,
        arguments.buckets,
        arguments.profile,
    )
    if options.profile is not None and options.faults is not None:
        return print_error("db", "--profile and --faults cannot be combined: start one endpoint with each")
    if not arguments.write_wait > 0:
        return print_error("db", "--write-wait must be more than 0")
    if arguments.workers < 1:
        return print_error("db", "--workers must be at least 1")
    if arguments.workers > 1 and data is None:
        return print_error("db", "--memory cannot be shared: use it without --workers")
    if arguments.region_lag and not arguments.regions:
        return print_error("db", "--region-lag needs --regions")
    if arguments.regions:
        return _serve_regions(arguments, options)
    pages = EndpointConsole(arguments.workers) if arguments.console else None
    if arguments.workers == 1:
        return serve_in_one_process("db", options, pages)
    return serve_in_workers("db", options, arguments.workers, pages)


def _serve_regions(arguments: argparse.Namespace, options: Options) -> int:
    """Each region at the port after that of the one before it."""
    for given in ("keys", "faults", "kinesis", "profile"):
        if getattr(options, given) is not None:
            return print_error("db", f"--regions emulates for tests and for looking: use it without --{given}")
    if arguments.workers > 1:
        return print_error("db", "--regions runs in one process: use it without --workers")
    if not 0 <= arguments.region_lag < math.inf:
        return print_error("db", "--region-lag is a number of seconds from 0 on")
    names: tuple[str, ...] = arguments.regions
    pages = EndpointConsole() if arguments.console else None
    try:
        authentication = authentication_for(options)
        assert isinstance(authentication, NoAuthentication)
        with ExitStack() as stack:
            ports = [options.port + at if options.port else 0 for at in range(len(names))]
            listening = {
                name: stack.enter_context(listen(options.host, port)) for name, port in zip(names, ports, strict=True)
            }
            regions = Regions(names, options.data, lag=arguments.region_lag, buckets=options.buckets)
            stack.callback(regions.close)
            regions.start()

            def ready() -> None:
                for name, socket in listening.items():
                    announce(f"{url_of(socket)} {name}")

            serve_regions(options, authentication, regions, listening, ready, pages)
    except (CannotListen, StorageError) as error:
        return print_error("db", str(error))
    return 0


def serve_in_one_process(command: str, options: Options, pages: EndpointConsole | None) -> int:
    try:
        authentication = authentication_for(options)
        with listen(options.host, options.port) as listening:
            url = url_of(listening)
            serve(options, authentication, listening, NoOtherWorkers(), lambda _: announce(url), pages)
    except (BadKeysFile, CannotListen, StorageError) as error:
        return print_error(command, str(error))
    return 0


def serve_in_workers(command: str, options: Options, workers: int, pages: EndpointConsole | None) -> int:
    try:
        authentication_for(options)
        # A shared port does not tell whether another program uses it, so it is first opened unshared.
        with listen(options.host, options.port) as unshared:
            port = unshared.getsockname()[1]
        # An unusable folder is reported here, once, and not by every worker.
        Database.open(options.data).close()
        with listen(options.host, port, shared=True) as held:
            url = url_of(held)
            served = msgspec.structs.replace(options, port=port)
            return Supervisor(served, workers, lambda: announce(url), pages).run()
    except (BadKeysFile, CannotListen, StorageError) as error:
        return print_error(command, str(error))
