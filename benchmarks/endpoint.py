"""The endpoint: requests a second and milliseconds an answer, beside other local DynamoDBs

Every server is up during the whole run, on this machine, and they take turns at each workload, so that a noisy moment
hits all of them. Sortkey is one process that syncs each write to disk; its peers hold their tables in memory. Items are
those of the engine's benchmark. `python -m benchmarks._picture` draws what `--json` writes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from benchmarks import _wrk
from benchmarks._peers import PEERS, SORTKEY, Kind, Unavailable
from benchmarks._server import Server
from benchmarks._workload import WORKLOADS, WrongAnswer, check, create_table, load, requests
from benchmarks._wrk import Measured, NoWrk
from sortkey.cli.bench import Result
from tests.oracle.endpoint import OracleError

SIZES: Final = (1_000, 1_000_000)
CONNECTIONS: Final = (8, 64)
SECONDS: Final = 3
WARM_UP_SECONDS: Final = 1
LOAD_SECONDS: Final = 90
"""Some peers would need hours for a million items; one that is not done by then is left out of that size."""
CHECKED: Final = 3


class Invalid(Exception):
    """Sortkey's own numbers cannot be trusted, so there is nothing to compare."""


def run() -> Iterator[Result]:
    if not sys.platform.startswith("linux"):
        say("endpoint: left out, memory and processor time of the servers are read from Linux's /proc")
        return
    try:
        _wrk.require()
    except NoWrk as error:
        say(f"endpoint: left out, {error}")
        return
    with ExitStack() as stack:
        # On disk, not in a /tmp that may be memory: the writes are to be synced to something.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sortkey-bench-", dir="."))).absolute()
        servers = start(stack, folder)
        yield row("start to first answer", {server.name: server.started_in * 1000 for server in servers}, "ms")
        for loaded, size in zip((0, *SIZES), SIZES, strict=False):
            servers = [server for server in servers if fill(server, range(loaded, size))]
            for workload in WORKLOADS:
                yield from compare(servers, workload, size, folder / "requests")
            memory = {server.name: server.resident_megabytes() for server in servers}
            yield row(f"resident memory, {size:,} items", memory, "MB")


def say(text: str) -> None:
    print(text, flush=True)


def start(stack: ExitStack, folder: Path) -> list[Server]:
    """Sortkey, and every peer that this machine can have, each with an empty table."""
    servers = [launch(stack, SORTKEY, folder)]
    for kind in PEERS:
        try:
            kind.install()
            servers.append(launch(stack, kind, folder))
        except Unavailable as error:
            say(f"{kind.name}: left out, {error}")
    return servers


def launch(stack: ExitStack, kind: Kind, folder: Path) -> Server:
    server = stack.enter_context(Server(kind, folder / kind.name.replace(" ", "-")))
    with closing(server.endpoint()) as endpoint:
        create_table(endpoint)
    return server


def fill(server: Server, numbers: range) -> bool:
    """Whether the server now has these items, too."""
    try:
        complaint = None if load(server.url, numbers, LOAD_SECONDS) else f"it did not load them in {LOAD_SECONDS} s"
    except (OSError, OracleError, WrongAnswer) as error:
        complaint = f"loading them failed: {error}"
    if complaint is None:
        return True
    if server.name == SORTKEY.name:
        raise Invalid(complaint)
    say(f"{server.name}: left out at {numbers.stop:,} items, {complaint}")
    server.close()
    return False


def compare(servers: list[Server], workload: str, size: int, file: Path) -> Iterator[Result]:
    """Each server's turn at one workload, at each number of connections."""
    prepared = requests(workload, size)
    _wrk.write_requests(file, prepared)
    for server in servers:
        with closing(server.endpoint()) as endpoint:
            check(endpoint, prepared[:CHECKED])
        turn(server, file, min(CONNECTIONS), WARM_UP_SECONDS)
    for connections in CONNECTIONS:
        name = name_of(workload, connections, size)
        measured = {server.name: turn(server, file, connections, SECONDS) for server in servers}
        valid = dict(trusted(name, measured))
        yield row(name, {server: each.rate for server, each in valid.items()}, "/s")
        yield row(f"{name}, p50", {server: each.p50 for server, each in valid.items()}, "ms")
        yield row(f"{name}, p99", {server: each.p99 for server, each in valid.items()}, "ms")


def name_of(workload: str, connections: int, size: int) -> str:
    return f"{workload}, {connections} connections, {size:,} items"


def turn(server: Server, file: Path, connections: int, seconds: int) -> Measured:
    measured = _wrk.run(server.url, file, connections, seconds)
    server.wait_until_idle()
    return measured


def trusted(name: str, measured: dict[str, Measured]) -> Iterator[tuple[str, Measured]]:
    for server, each in measured.items():
        if each.complaint is None:
            yield server, each
        elif server == SORTKEY.name:
            raise Invalid(f"{name}: {each.complaint}")
        else:
            say(f"{server}: not counted at {name}: {each.complaint}")


def row(name: str, values: dict[str, float], unit: str) -> Result:
    peers = {server: value for server, value in values.items() if server != SORTKEY.name}
    return Result(name, values[SORTKEY.name], unit, peers=peers)
