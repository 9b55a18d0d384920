"""`sortkey check`: check that a data folder's indexes, expiry entries and counts agree with its items."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from sortkey.cli.arguments import Parser, clear_progress, print_error, show_progress
from sortkey.diagnosis.finding import counted
from sortkey.engine.check.database_check import CheckReport, check
from sortkey.engine.check.discard import Discarded, discard_damaged
from sortkey.storage import StorageError


def add_arguments(command: Parser) -> None:
    command.add_argument("folder", metavar="DIR", type=Path, help="a data folder; it may be in use")
    command.add_argument(
        "--discard-damaged",
        action="store_true",
        help="first remove damaged records for good, and print each as a line of JSON; other writers wait",
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        if arguments.discard_damaged:
            discard_damaged(arguments.folder, show_discarded)
        report = check(arguments.folder, show_progress)
    except StorageError as error:
        return print_error("check", str(error))
    finally:
        clear_progress()
    show(report)
    return 1 if report.problems else 0


def show_discarded(record: Discarded) -> None:
    """At once: it is gone when the command ends."""
    sys.stdout.write(f"{msgspec.json.encode(record).decode()}\n")
    sys.stdout.flush()


def show(report: CheckReport) -> None:
    for problem in report.problems:
        sys.stdout.write(f"{problem}\n")
    sys.stdout.write(
        f"{counted(report.tables, 'table')}, {counted(report.items, 'item')}, "
        f"{counted(report.index_rows, 'index row')}: {counted(len(report.problems), 'problem')}\n"
    )
