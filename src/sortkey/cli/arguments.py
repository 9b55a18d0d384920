"""The commands' argument parser, and the arguments that several commands take."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final, NoReturn

DEFAULT_FOLDER: Final = Path("data")

_HOST_NAME: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", re.ASCII)


class Parser(argparse.ArgumentParser):
    """A wrong argument gives one line on stderr and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """argparse would print the usage first, which hides the line that matters."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_store_argument(command: Parser) -> None:
    command.add_argument("--store", metavar="URL", default=str(DEFAULT_FOLDER), help="where the data is (./data)")


def add_allow_host_argument(command: Parser) -> None:
    command.add_argument(
        "--allow-host",
        metavar="NAME",
        dest="allowed_hosts",
        action="append",
        default=[],
        type=host_name,
        help="a name to be addressed by, besides those of this machine; only matters without credentials; repeatable",
    )


def add_status_arguments(command: Parser) -> None:
    """Where a command that serves nothing else serves its state."""
    command.add_argument("--host", default="127.0.0.1", help="the address of /metrics and /health (%(default)s)")
    add_allow_host_argument(command)
    command.add_argument("--metrics-port", metavar="PORT", type=int, default=0, help="a free port by default")


def host_name(text: str) -> str:
    """A name, or an IPv4 address. A web page could have any name, so there are no patterns."""
    if not _HOST_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a host name; give it without scheme and port")
    return text
