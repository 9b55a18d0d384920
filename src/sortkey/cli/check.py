"""`sortkey check`: prove that a data folder's indexes, expiry entries and counts agree with its items."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TaskID

from sortkey.cli.arguments import Commands
from sortkey.engine.check.database_check import CheckReport, check
from sortkey.storage import StorageError


class Bars:
    """A progress bar for each thing that is looked at."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        if what not in self._bars:
            self._bars[what] = self._progress.add_task(what)
        self._progress.update(self._bars[what], completed=done, total=total)


def add_to(commands: Commands) -> None:
    command = commands.add_parser("check", help="prove that a data folder agrees with itself")
    command.add_argument("folder", metavar="DIR", type=Path, help="a data folder, which may be in use")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # The bars go to stderr and vanish, so stdout holds the findings alone.
    terminal = Console(stderr=True)
    try:
        with Progress(console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
            report = check(arguments.folder, Bars(progress))
    except StorageError as error:
        plain_console(stderr=True).print(f"sortkey check: {error}")
        return 2
    show(report)
    return 1 if report.problems else 0


def show(report: CheckReport) -> None:
    console = plain_console()
    for problem in report.problems:
        console.print(problem)
    console.print(
        f"{counted(report.tables, 'table')}, {counted(report.items, 'item')}, "
        f"{counted(report.index_rows, 'index row')}: {counted(len(report.problems), 'problem')}"
    )


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def plain_console(stderr: bool = False) -> Console:
    """Findings hold keys, which must not be taken for markup or broken into lines."""
    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True)
