"""`sortkey restore`: make a data folder of a backup, or of a copy in a place of them, and check it."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from sortkey.cli import check
from sortkey.cli.arguments import Parser, clear_progress, print_error, show_progress
from sortkey.engine.check.database_check import CheckReport
from sortkey.engine.check.database_check import check as check_folder
from sortkey.object_storage import Address, ObjectError, parse_source
from sortkey.storage import StorageError, restore
from sortkey.storage.backup import Packed
from sortkey.storage.copy_places import copy_at, copy_place, place_and_time


def add_arguments(command: Parser) -> None:
    command.add_argument(
        "source",
        metavar="FILE|PLACE[@TIME]",
        help="what sortkey backup has written. Of a place, a folder or s3://bucket/prefix, the newest copy, or "
        "the newest that is not after TIME: @2026-08-24T12:30:00Z",
    )
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
            name = source if isinstance(source, Path) else source.name
            raise StorageError(f"{name} is not a backup of a data folder of Sortkey") from None

    try:
        source = backup_of(arguments.source)
        restore(source, arguments.folder, check_restored, partial(show_progress, "read"))
    except (ObjectError, StorageError) as error:
        return print_error("restore", str(error))
    finally:
        clear_progress()
    assert report is not None
    check.show(report)
    return 1 if report.problems else 0


def backup_of(text: str) -> Path | Packed:
    """What an argument names. Raises StorageError or ObjectError."""
    file = Path(text)
    if file.is_file():
        return file
    name, at = place_and_time(text)
    is_place = at is not None or isinstance(parse_source(name), Address) or file.is_dir()
    return copy_at(copy_place(name), at).packed if is_place else file
