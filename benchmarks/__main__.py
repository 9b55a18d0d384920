"""Runs the benchmarks and shows their numbers: `python -m benchmarks NAME --json FILE`, or `sortkey bench NAME`.

The rows of a generator appear as they are measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from rich.console import Console
from rich.live import Live
from rich.table import Table

from benchmarks._results import Benchmark, Comparison, Report, Result, Section, this_machine

FILE_WIDTH: Final = 140
"""Of tables that go into a file or a pipe, which have no width."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", metavar="NAME", nargs="*", help="a module of ./benchmarks; all of them by default")
    command.add_argument(
        "--before", metavar="DIR", type=Path, help="also measure the server of this checkout (endpoint, fairness)"
    )
    command.add_argument("--json", metavar="FILE", type=Path, help="also write the results to this file")


def run(arguments: argparse.Namespace) -> int:
    available = benchmark_names(Path("benchmarks"))
    names: list[str] = arguments.names or available
    unknown = [name for name in names if name not in available]
    if unknown or not names:
        return _print_error(f"there is {f'no {unknown[0]}' if unknown else 'no benchmark'} in ./benchmarks")
    before: Path | None = arguments.before
    if before is not None and not (before / "src" / "sortkey").is_dir():
        return _print_error(f"--before {before}: not a checkout of Sortkey; there is no src/sortkey in it")
    benchmarks = {name: benchmark(name) for name in names}
    for name, each in benchmarks.items():
        if before is not None and not isinstance(each, Comparison):
            return _print_error(f"--before: {name} compares no checkouts; name one that does, as fairness")
    console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
    results: dict[str, list[Result]] = {}
    sections: dict[str, Mapping[str, Any]] = {}
    for name, each in benchmarks.items():
        results[name], section = measure(console, each, before)
        if section is not None:
            sections[name] = section.found
    if arguments.json is not None:
        report = sections | msgspec.to_builtins(Report(this_machine(), results))
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    return 0


def benchmark_names(folder: Path) -> list[str]:
    """Modules whose name begins with an underscore hold what benchmarks share."""
    return sorted(module.stem for module in folder.glob("[!_]*.py"))


def benchmark(name: str) -> Benchmark:
    return cast(Benchmark, import_module(f"benchmarks.{name}"))


def measure(console: Console, benchmark: Benchmark, before: Path | None) -> tuple[list[Result], Section | None]:
    rows = benchmark.run_beside(before.absolute()) if before and isinstance(benchmark, Comparison) else benchmark.run()
    results: list[Result] = []
    section: Section | None = None
    title = (benchmark.__doc__ or "").partition("\n")[0]
    with Live(table(title, results), console=console) as live:
        for found in rows:
            if isinstance(found, Section):
                section = found
            else:
                results.append(found)
                live.update(table(title, results))
    return results, section


def table(title: str, results: list[Result]) -> Table:
    """A row for each result, a column for each product."""
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


def _print_error(message: str) -> int:
    sys.stderr.write(f"sortkey bench: {message}\n")
    return 2


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks", description="Run the benchmarks.")
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
