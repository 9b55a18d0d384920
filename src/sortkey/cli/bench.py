"""`sortkey bench`: run the benchmarks of a checkout and show their numbers.

A benchmark is a module of the `benchmarks/` folder whose docstring's first line is its title and whose `run()`
gives its results; a generator's rows appear as they are measured.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, cast

import msgspec
from rich.console import Console
from rich.live import Live
from rich.table import Table

from sortkey.cli.arguments import Commands

FILE_WIDTH: Final = 140
"""Of tables that go into a file or a pipe, which have no width of their own."""


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """One measured number, and in the same unit what else was measured for it in the same run.

    `bare` is the same work done by hand, without Sortkey; `peers` is what others of the kind need for it.
    """

    name: str
    value: float
    unit: str
    bare: float | None = None
    peers: dict[str, float] = {}

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of the best of the others."""
        others = [*self.peers.values(), *([] if self.bare is None else [self.bare])]
        if not others:
            return None
        # Of requests a second more is better, of time and memory less.
        return self.value / (max(others) if self.unit == "/s" else min(others))


class Section(NamedTuple):
    """What a benchmark found besides, in a shape of its own: it stands under the benchmark's name in the JSON."""

    found: Mapping[str, Any]


class Benchmark(Protocol):
    __doc__: str | None

    def run(self) -> Iterable[Result | Section]: ...


class Machine(msgspec.Struct, frozen=True):
    """What the numbers were measured on, without which they mean nothing."""

    python: str
    system: str
    processors: int | None


class Report(msgspec.Struct, frozen=True):
    machine: Machine
    results: dict[str, list[Result]]


def add_to(commands: Commands) -> None:
    command = commands.add_parser("bench", help="run the benchmarks of a checkout")
    command.add_argument("names", metavar="NAME", nargs="*", help="a module of ./benchmarks; all of them by default")
    command.add_argument("--json", metavar="FILE", type=Path, help="write the results there, too")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    available = benchmark_names(Path("benchmarks"))
    names: list[str] = arguments.names or available
    unknown = [name for name in names if name not in available]
    if unknown or not names:
        missing = f"no benchmark {unknown[0]}" if unknown else "nothing to run"
        Console(stderr=True).print(f"sortkey bench: there is {missing} in ./benchmarks", soft_wrap=True, markup=False)
        return 2
    sys.path.insert(0, os.getcwd())
    console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
    results: dict[str, list[Result]] = {}
    sections: dict[str, Mapping[str, Any]] = {}
    for name in names:
        results[name], section = measure(console, benchmark(name))
        if section is not None:
            sections[name] = section.found
    if arguments.json is not None:
        report = sections | msgspec.to_builtins(Report(this_machine(), results))
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    return 0


def benchmark_names(folder: Path) -> list[str]:
    """Modules whose name begins with an underscore are what benchmarks share."""
    return sorted(module.stem for module in folder.glob("[!_]*.py"))


def benchmark(name: str) -> Benchmark:
    return cast(Benchmark, importlib.import_module(f"benchmarks.{name}"))


def measure(console: Console, benchmark: Benchmark) -> tuple[list[Result], Section | None]:
    results: list[Result] = []
    section: Section | None = None
    title = (benchmark.__doc__ or "").partition("\n")[0]
    with Live(table(title, results), console=console) as live:
        for found in benchmark.run():
            if isinstance(found, Section):
                section = found
            else:
                results.append(found)
                live.update(table(title, results))
    return results, section


def table(title: str, results: list[Result]) -> Table:
    """A row for each result, a column for each that was compared with."""
    by_hand = ["by hand"] if any(result.bare is not None for result in results) else []
    peers = list(dict.fromkeys(peer for result in results for peer in result.peers))
    table = Table("", "Sortkey", *by_hand, *peers, "ratio", title=title, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for result in results:
        others = ([result.bare] if by_hand else []) + [result.peers.get(peer) for peer in peers]
        ratio = "" if result.ratio is None else f"{result.ratio:.2f}×"
        table.add_row(result.name, *(cell(value, result.unit) for value in (result.value, *others)), ratio)
    return table


def cell(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if not unit:
        return f"{value:,g}"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.4g} {unit}"


def this_machine() -> Machine:
    return Machine(python=platform.python_version(), system=platform.platform(), processors=os.cpu_count())
