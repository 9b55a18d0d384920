"""`sortkey backup`: write a copy of a data folder, which may be in use, to a file."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from sortkey.cli.arguments import Parser, clear_progress, print_error, show_progress
from sortkey.storage import StorageError, back_up


def add_arguments(command: Parser) -> None:
    command.add_argument("folder", metavar="DIR", type=Path, help="a data folder; it may be in use")
    command.add_argument("file", metavar="FILE", type=Path, help="the file to write; gzip, say data.mdb.gz")
    command.add_argument(
        "--replace", action="store_true", help="take the place of FILE, once the new backup is whole and on disk"
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        size = back_up(arguments.folder, arguments.file, partial(show_progress, "copied"), replace=arguments.replace)
    except StorageError as error:
        return print_error("backup", str(error))
    finally:
        clear_progress()
    sys.stdout.write(f"{arguments.file}: {size:,} bytes\n")
    return 0
