"""How the commands take their arguments: a wrong one costs one line on stderr and exit code 2."""

from __future__ import annotations

import argparse
from typing import NoReturn, TypeAlias


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """argparse would print the usage first, which hides the line that matters."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
