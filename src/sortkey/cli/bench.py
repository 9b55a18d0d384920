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
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, cast

import msgspec
from rich.console import Console
from rich.live import Live
from rich.table import Table

from sortkey.cli.arguments import Commands


class Result(msgspec.Struct, frozen=True):
    """One measured number; `bare` is the same work in the same unit, done by hand without Sortkey."""

    name: str
    value: float
    unit: str
    bare: float | None = None


class Benchmark(Protocol):
    __doc__: str | None

    def run(self) -> Iterable[Result]: ...


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
    console = Console()
    results = {name: measure(console, benchmark(name)) for name in names}
    if arguments.json is not None:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(Report(this_machine(), results))) + b"\n")
    return 0


def benchmark_names(folder: Path) -> list[str]:
    """Modules whose name begins with an underscore are what benchmarks share."""
    return sorted(module.stem for module in folder.glob("[!_]*.py"))


def benchmark(name: str) -> Benchmark:
    return cast(Benchmark, importlib.import_module(f"benchmarks.{name}"))


def measure(console: Console, benchmark: Benchmark) -> list[Result]:
    results = []
    title = (benchmark.__doc__ or "").partition("\n")[0]
    table = Table("", "Sortkey", "by hand", "ratio", title=title, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    with Live(table, console=console):
        for result in benchmark.run():
            results.append(result)
            table.add_row(*cells(result))
    return results


def cells(result: Result) -> tuple[str, str, str, str]:
    value = f"{result.value:,.4g} {result.unit}"
    if result.bare is None:
        return result.name, value, "", ""
    return result.name, value, f"{result.bare:,.4g} {result.unit}", f"{result.value / result.bare:.2f}×"


def this_machine() -> Machine:
    return Machine(python=platform.python_version(), system=platform.platform(), processors=os.cpu_count())
