"""Fairness: latency of GetItem and PutItem, and the server's memory, calm and during attacks

`sortkey db` on a folder, one process, started anew for each attack. Steady clients read and write small items; they and
the attacker are processes of their own. `--before DIR` measures the server of another checkout, too, in turns.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from benchmarks._attacks import ATTACKS, TINY_ROWS, prepare
from benchmarks._fairness_table import CALM, Run, results, table
from benchmarks._latencies import Summary
from benchmarks._peers import SORTKEY, ServerDefinition, working_folder
from benchmarks._results import Result, Section
from benchmarks._server import Server
from benchmarks._steady_clients import ITEMS
from benchmarks._workload import NAMESPACE, create_table, load
from tests.oracle.endpoint import Endpoint

SOURCE: Final = Path(__file__).parent.parent / "src"
LOAD_SECONDS: Final = 120
SAMPLE_SECONDS: Final = 0.02
"""Between two looks at the memory. To fill 256 MB takes a process several times as long."""
LEAD_SECONDS: Final = 0.1
"""The record begins before the attack, so that it has the attack's first moment."""


class Extent(msgspec.Struct, frozen=True):
    """How much is measured."""

    attacks: tuple[str, ...] = tuple(ATTACKS)
    tiny_rows: int = TINY_ROWS
    seconds: float = 3.0
    """Of one record."""
    patience: float = 10.0
    """From the beginning of a record: what is not answered then counts as unanswered, and the server is killed."""


class Broken(Exception):
    """A process of the benchmark did not do its part."""


class Helper:
    """A process beside the server: told by lines when to go on, and telling by lines what it found."""

    def __init__(self, module: str, *arguments: object) -> None:
        command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
        self._name = module
        self._process = subprocess.Popen(
            command, cwd=SOURCE.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Popen closes the pipes and waits.
        with self._process:
            self._process.kill()

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def ended(self) -> bool:
        return self._process.poll() is not None

    def line(self) -> bytes:
        """What it says next; waits for it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Broken(f"{self._name} ended with {self._process.wait()}")
        return line


class Subject:
    """The server of one checkout, with a data folder that outlives its processes."""

    def __init__(self, name: str, source: Path, folder: Path, extent: Extent) -> None:
        self.name = name
        self._folder = folder / name
        self._folder.mkdir()
        self._extent = extent
        self._definition = ServerDefinition(name, SORTKEY.install, self._command, source)
        self._processes = 0
        with self._started() as server:
            with closing(Endpoint(server.url, NAMESPACE)) as endpoint:
                create_table(endpoint)
            load(server.url, range(ITEMS), LOAD_SECONDS)
            prepare(server.url, extent.tiny_rows)

    def _command(self, port: int, _: Path) -> list[str]:
        data = self._folder / "data"
        return [sys.executable, "-m", "sortkey", "db", "--data", str(data), "--port", str(port)]

    def _started(self) -> Server:
        self._processes += 1
        return Server(self._definition, self._folder / f"process-{self._processes}")

    def run(self, attack: str) -> Run:
        extent = self._extent
        with self._started() as server:
            try:
                with Helper("_steady_clients", server.port, extent.seconds, extent.patience) as clients:
                    if attack == CALM:
                        return self._observed(attack, server, clients, None)
                    with Helper("_attacker", server.port, attack) as attacker:
                        attacker.line()
                        return self._observed(attack, server, clients, attacker)
            finally:
                # Not by a signal that it may be too busy to see.
                server.kill()

    def _observed(self, attack: str, server: Server, clients: Helper, attacker: Helper | None) -> Run:
        clients.line()
        calm = peak = server.own_megabytes()
        clients.begin()
        if attacker is not None:
            time.sleep(LEAD_SECONDS)
            attacker.begin()
        while not clients.ended():
            peak = max(peak, server.own_megabytes())
            time.sleep(SAMPLE_SECONDS)
        latencies = msgspec.json.decode(clients.line(), type=dict[str, Summary])
        answers: dict[str, int] = {}
        if attacker is not None:
            attacker.end()
            answers = msgspec.json.decode(attacker.line(), type=dict[str, int])
        return Run(attack, self.name, latencies, peak - calm, answers)


def run() -> Iterator[Result | Section]:
    return compare({"Sortkey": SOURCE}, Extent())


def run_beside(before: Path) -> Iterator[Result | Section]:
    return compare({"before": before / "src", "after": SOURCE}, Extent())


def compare(sources: dict[str, Path], extent: Extent) -> Iterator[Result | Section]:
    """Each attack on each server, one after the other, so that a noisy minute affects all of them."""
    if not sys.platform.startswith("linux"):
        print("fairness: skipped, it needs Linux's /proc", flush=True)
        return
    SORTKEY.install()
    runs: list[Run] = []
    # On disk: /tmp may be in memory, where a sync costs nothing.
    with tempfile.TemporaryDirectory(dir=working_folder()) as folder:
        subjects = [Subject(name, source, Path(folder), extent) for name, source in sources.items()]
        for attack in (CALM, *extent.attacks):
            runs += [subject.run(attack) for subject in subjects]
            yield from results(runs, attack, subjects[-1].name)
    print(table(runs), flush=True)
    yield Section({"runs": msgspec.to_builtins(runs)})
