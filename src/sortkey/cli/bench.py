"""`sortkey bench`: the benchmarks of a checkout, which are not installed with Sortkey."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sortkey.cli.arguments import Parser, import_user_module, print_error

FOLDER: Final = Path("benchmarks")


def add_arguments(command: Parser) -> None:
    benchmarks = _benchmarks()
    if benchmarks is None:
        command.add_argument("names", metavar="NAME", nargs="*", help="a benchmark; only in a checkout of Sortkey")
    else:
        benchmarks.add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    benchmarks = _benchmarks()
    if benchmarks is None:
        return print_error("bench", "there is no folder benchmarks here; run this in a checkout of Sortkey")
    done: int = benchmarks.run(arguments)
    return done


def _benchmarks() -> Any:
    """The program of the checkout in the current folder; None elsewhere."""
    if not (FOLDER / "__main__.py").is_file():
        return None
    import_user_module(FOLDER.name)
    return import_module(f"{FOLDER.name}.__main__")
