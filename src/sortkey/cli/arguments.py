"""The commands' argument parser, and the arguments that several commands take."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final, NoReturn

DEFAULT_FOLDER: Final = Path("data")


class Parser(argparse.ArgumentParser):
    """A wrong argument gives one line on stderr and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """argparse would print the usage first, which hides the line that matters."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_store_argument(command: Parser) -> None:
    command.add_argument("--store", metavar="URL", default=str(DEFAULT_FOLDER), help="where the data is (./data)")
