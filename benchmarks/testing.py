"""Testing: fifty tests of a boto3 program, under sk.testing.local, moto, DynamoDB Local and our endpoint.

Each way runs the same tests (`_boto3_tests.py`) in a process of its own, one after the other, in alternating turns; the
best turn is taken, as whatever else a machine does only adds to the time. A test makes a client and a resource and
starts with an empty store: under moto and `local()` by opening it for each test, at an endpoint by deleting the tables
after it. All tests must pass in each way. moto makes boto3 forget its session at each test; the column "session kept"
is with its setting that does not.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple

import msgspec

from benchmarks._peers import PEERS, ServerDefinition, Unavailable, environment, working_folder
from benchmarks._results import Result
from benchmarks._server import Server

ROUNDS: Final = 3
RUN_SECONDS: Final = 300
LOCAL: Final = "sk.testing.local"


class Run(NamedTuple):
    seconds: dict[str, float]
    """By test."""
    process: float
    """From the start of the process to its end."""

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def _in_memory(port: int, _: Path) -> list[str]:
    return [sys.executable, "-m", "sortkey", "db", "--memory", "--port", str(port)]


SORTKEY_DB: Final = ServerDefinition("sortkey db --memory", lambda: None, _in_memory)
DYNAMODB_LOCAL: Final = next(peer for peer in PEERS if peer.name == "DynamoDB Local")


def run() -> Iterator[Result]:
    ways = {LOCAL: ["local"], "moto": ["moto"], "moto, session kept": ["moto-kept"]}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=working_folder())))
        for definition in (DYNAMODB_LOCAL, SORTKEY_DB):
            try:
                definition.install()
                server = stack.enter_context(Server(definition, folder / str(len(ways))))
            except Unavailable as reason:
                sys.stderr.write(f"{definition.name} is left out: {reason}\n")
            else:
                ways[definition.name] = ["endpoint", server.url]
        runs: dict[str, list[Run]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, arguments in ways.items():
                runs[name].append(run_tests(*arguments))
    tests = len(runs[LOCAL][0].seconds)
    yield _result(f"{tests} tests", "s", {name: min(each.total for each in done) for name, done in runs.items()})
    typical = {name: min(median(each.seconds.values()) for each in done) for name, done in runs.items()}
    yield _result("a test, median", "ms", {name: seconds * 1e3 for name, seconds in typical.items()})
    whole = {name: min(each.process for each in done) for name, done in runs.items()}
    yield _result("the whole process, imports included", "s", whole)


def run_tests(*arguments: str) -> Run:
    """Raises RuntimeError if a test fails."""
    command = [sys.executable, "-m", "benchmarks._boto3_tests", *arguments]
    variables = environment(SORTKEY_DB)
    began = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS, env=variables)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: a test failed\n{done.stderr[-2000:]}")
    process = perf_counter() - began
    return Run(msgspec.json.decode(done.stdout, type=dict[str, float]), process)


def _result(name: str, unit: str, found: dict[str, float]) -> Result:
    return Result(name, found[LOCAL], unit, peers={way: value for way, value in found.items() if way != LOCAL})
