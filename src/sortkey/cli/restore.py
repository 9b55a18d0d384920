"""`sortkey restore`: make a data folder of a backup, and check it."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from sortkey.cli import check
from sortkey.cli.arguments import Parser, clear_progress, print_error, show_progress
from sortkey.engine.check.database_check import CheckReport
from sortkey.engine.check.database_check import check as check_folder
from sortkey.storage import StorageError, restore


def add_arguments(command: Parser) -> None:
    command.add_argument("file", metavar="FILE", type=Path, help="what sortkey backup has written")
    command.add_argument("folder", metavar="DIR", type=Path, help="the data folder to make; it must be new or empty")


def run(arguments: argparse.Namespace) -> int:
    """Damage that was in the folder before is restored with it, and told: the exit code is 1, as that of a check."""
    report: CheckReport | None = None

    def check_restored(folder: Path) -> None:
        nonlocal report
        clear_progress()
        try:
            report = check_folder(folder, show_progress)
        except StorageError:
            raise StorageError(f"{arguments.file} is not a backup of a data folder of Sortkey") from None

    try:
        restore(arguments.file, arguments.folder, check_restored, partial(show_progress, "read"))
    except StorageError as error:
        return print_error("restore", str(error))
    finally:
        clear_progress()
    assert report is not None
    check.show(report)
    return 1 if report.problems else 0
