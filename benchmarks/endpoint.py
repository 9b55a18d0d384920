"""The endpoint: requests a second and milliseconds an answer, beside other local DynamoDBs

Every server is up during the whole run, on this machine, and they take turns at each workload, so that a noisy moment
hits all of them. Sortkey is one process that syncs each write to disk; its peers hold their tables in memory. Items are
those of the engine's benchmark. The best that this loop and parser could do is measured, too: a protocol that answers
every request by one constant. `python -m benchmarks._picture` draws what `--json` writes. With `--before DIR`, the
server of another checkout takes the peers' place.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPException
from pathlib import Path
from typing import Final

import msgspec

from benchmarks import _bare_protocol, _wrk
from benchmarks._peers import PEERS, SORTKEY, ServerDefinition, Unavailable, working_folder
from benchmarks._results import Result
from benchmarks._server import Server
from benchmarks._workload import (
    INDEXED_DEFINITION,
    STREAM,
    WORKLOADS,
    Request,
    WrongAnswer,
    check,
    create_table,
    load,
    requests,
)
from benchmarks._wrk import Measured, NoWrk
from tests.oracle.endpoint import OracleError

SIZES: Final = (1_000, 1_000_000)
CONNECTIONS: Final = (8, 64)
TURNS: Final = 7
SECONDS: Final = 1
"""Of one turn; the result is the median of a server's turns, so that a noisy moment has no effect."""
WARM_UP_SECONDS: Final = 1
LOAD_SECONDS: Final = 300
"""Some peers would need hours to load a million items; a peer that takes longer is skipped at that size."""
CHECKED: Final = 3
FAILURES: Final = (OSError, HTTPException, OracleError, WrongAnswer)


class Invalid(Exception):
    """Sortkey's own run had errors, so there is nothing to compare."""


def run() -> Iterator[Result]:
    if not can_measure():
        return
    with ExitStack() as stack:
        # On disk: /tmp may be in memory, where a sync costs nothing.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=working_folder())))
        servers = start(stack, folder)
        yield row("start to first answer", {server.name: server.started_in * 1000 for server in servers}, "ms")
        for loaded, size in zip((0, *SIZES), SIZES, strict=False):
            if not fill(servers[0], range(loaded, size)):
                return
            servers = [servers[0], *(peer for peer in servers[1:] if fill(peer, range(loaded, size)))]
            for workload in WORKLOADS:
                yield from compare(servers, workload, size, folder / "requests")
            if size == min(SIZES):
                yield from beside_a_constant(stack, servers[0], folder)
            memory = {server.name: server.resident_megabytes() for server in servers}
            yield row(f"resident memory, {size:,} items", memory, "MB")


def run_beside(before: Path) -> Iterator[Result]:
    """The smaller table alone: what an operation costs the processor is the same in both."""
    if not can_measure():
        return
    size = min(SIZES)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=working_folder())))
        SORTKEY.install()
        definitions = (SORTKEY, msgspec.structs.replace(SORTKEY, name="before", source=before / "src"))
        servers = [launch(stack, definition, folder) for definition in definitions]
        if all(fill(server, range(size)) for server in servers):
            for workload in WORKLOADS:
                yield from compare(servers, workload, size, folder / "requests")


def can_measure() -> bool:
    if not sys.platform.startswith("linux"):
        log("endpoint: skipped, it needs Linux's /proc")
        return False
    try:
        _wrk.require()
    except NoWrk as error:
        log(f"endpoint: skipped, {error}")
        return False
    return True


def log(text: str) -> None:
    print(text, flush=True)


def skip(server: str, what: str, why: str) -> None:
    """Skips a peer with errors; raises Invalid for an error of Sortkey."""
    if server == SORTKEY.name:
        raise Invalid(f"{what}: {why}")
    log(f"{server}: skipped in {what}, {why}")


def start(stack: ExitStack, folder: Path) -> list[Server]:
    """Sortkey and every peer that runs on this machine, each with an empty table."""
    SORTKEY.install()
    servers = [launch(stack, SORTKEY, folder)]
    for definition in PEERS:
        try:
            definition.install()
            servers.append(launch(stack, definition, folder))
        except Unavailable as error:
            log(f"{definition.name}: skipped, {error}")
    return servers


def launch(stack: ExitStack, definition: ServerDefinition, folder: Path) -> Server:
    server = stack.enter_context(Server(definition, folder / definition.name.replace(" ", "-")))
    with closing(server.endpoint()) as endpoint:
        create_table(endpoint)
        create_table(endpoint, INDEXED_DEFINITION | (STREAM if definition.streams else {}))
    return server


def fill(server: Server, numbers: range) -> bool:
    """Whether the server has loaded these items in time."""
    what = f"{numbers.stop:,} items"
    try:
        loaded = load(server.url, numbers, LOAD_SECONDS)
    except FAILURES as error:
        skip(server.name, what, f"loading them failed: {error}")
        loaded = False
    else:
        if not loaded:
            log(f"{server.name}: skipped in {what}, not loaded within {LOAD_SECONDS} s")
    if not loaded:
        server.close()
    return loaded


def compare(servers: list[Server], workload: str, size: int, file: Path) -> Iterator[Result]:
    """Each server's turn at one workload, at each number of connections."""
    prepared = requests(workload, size)
    _wrk.write_requests(file, prepared)
    able = [server for server in servers if answers(server, workload, prepared[:CHECKED])]
    for server in able:
        turn(server, file, min(CONNECTIONS), WARM_UP_SECONDS)
    for connections in CONNECTIONS:
        name = name_of(workload, connections, size)
        turns = [{server: turn(server, file, connections, SECONDS) for server in able} for _ in range(TURNS)]
        measured = {server.name: typical([each[server] for each in turns]) for server in able}
        valid = dict(trusted(name, measured))
        yield row(name, {server: each.rate for server, each in valid.items()}, "/s")
        yield row(f"{name}, p50", {server: each.p50 for server, each in valid.items()}, "ms")
        yield row(f"{name}, p99", {server: each.p99 for server, each in valid.items()}, "ms")


def beside_a_constant(stack: ExitStack, server: Server, folder: Path) -> Iterator[Result]:
    """GetItem of this server, in turns with what answers nothing but the same bytes."""
    bare = stack.enter_context(Server(_bare_protocol.SERVER, folder / "bare"))
    file = folder / "requests"
    _wrk.write_requests(file, requests("GetItem", min(SIZES)))
    for connections in CONNECTIONS:
        turns = [[turn(each, file, connections, SECONDS) for each in (server, bare)] for _ in range(TURNS)]
        ours, constant = (typical(list(of_one)) for of_one in zip(*turns, strict=True))
        if error := ours.error or constant.error:
            raise Invalid(f"beside a constant: {error}")
        name = f"GetItem beside a constant answer, {connections} connections"
        yield Result(name, ours.rate, "/s", bare=constant.rate)
    bare.close()


def answers(server: Server, workload: str, sample: list[Request]) -> bool:
    try:
        with closing(server.endpoint()) as endpoint:
            check(endpoint, sample)
    except FAILURES as error:
        skip(server.name, workload, str(error))
        return False
    return True


def name_of(workload: str, connections: int, size: int) -> str:
    return f"{workload}, {connections} connections, {size:,} items"


def turn(server: Server, file: Path, connections: int, seconds: int) -> Measured:
    measured = _wrk.run(server.url, file, connections, seconds)
    server.wait_until_idle()
    return measured


def typical(turns: list[Measured]) -> Measured:
    """The median turn, with the errors of all turns."""
    middle = sorted(turns, key=lambda turn: turn.rate)[len(turns) // 2]
    return msgspec.structs.replace(
        middle, rejected=sum(turn.rejected for turn in turns), broken=sum(turn.broken for turn in turns)
    )


def trusted(name: str, measured: dict[str, Measured]) -> Iterator[tuple[str, Measured]]:
    for server, each in measured.items():
        if each.error is None:
            yield server, each
        else:
            skip(server, name, each.error)


def row(name: str, values: dict[str, float], unit: str) -> Result:
    peers = {server: value for server, value in values.items() if server != SORTKEY.name}
    return Result(name, values[SORTKEY.name], unit, peers=peers)
