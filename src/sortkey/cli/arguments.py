"""What the commands share: the parser, arguments that several take, lines for people and scripts, users' modules."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn

DEFAULT_FOLDER: Final = Path("data")

_HOST_NAME: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", re.ASCII)
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.\-\[\]:]+")

_DURATION: Final = re.compile(r"(\d+)([smhd])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}

_CLEAR_LINE: Final = "\r\x1b[K"
_BAR_WIDTH: Final = 30


class Parser(argparse.ArgumentParser):
    """A wrong argument gives one line on stderr and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """argparse would print the usage first, which hides the line that matters."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_store_argument(command: Parser) -> None:
    command.add_argument("--store", metavar="URL", default=str(DEFAULT_FOLDER), help="where the data is (./data)")


def add_config_argument(command: Parser) -> None:
    command.add_argument("--config", metavar="FILE", type=Path, help="the services' settings, in TOML")


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


def add_allow_origin_argument(command: Parser) -> None:
    command.add_argument(
        "--allow-origin",
        metavar="ORIGIN",
        dest="allowed_origins",
        action="append",
        default=[],
        type=origin,
        help="let web pages of an origin, such as http://localhost:5173, use the database; only matters without keys; "
        "repeatable",
    )


def origin(text: str) -> str:
    """An origin as browsers send it. A page could have any, so there are no patterns."""
    if not _ORIGIN.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an origin; give scheme, host and port: http://localhost:5173"
        )
    return text


def add_console_argument(command: Parser) -> None:
    command.add_argument(
        "--console",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show the console to browsers, at / (on by default)",
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


def duration(text: str) -> float:
    """`15m` in seconds."""
    found = _DURATION.fullmatch(text)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 30s, 15m, 6h or 1d")
    return float(int(found[1]) * _UNITS[found[2]])


def rate(text: str) -> float:
    """Units a second."""
    try:
        units = float(text)
    except ValueError:
        units = 0.0
    if not units > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of units a second, more than 0")
    return units


def announce(url: str) -> None:
    """On stdout, once, as soon as a server takes requests."""
    sys.stdout.write(f"ready {url}\n")
    sys.stdout.flush()


def print_error(command: str, message: str) -> int:
    """One line on stderr, whatever lines the message has. Returns the exit code of a command that could not be run."""
    line = " ".join(map(str.strip, message.splitlines()))
    sys.stderr.write(f"sortkey {command}: {line}\n")
    return 2


def show_progress(what: str, done: int, total: int) -> None:
    """On a terminal, one line on stderr that is overwritten: stdout has only what was found."""
    if sys.stderr.isatty():
        filled = _BAR_WIDTH * done // max(total, 1)
        sys.stderr.write(f"{_CLEAR_LINE}{what}: {'━' * filled:{_BAR_WIDTH}} {done:,} of {total:,}")
        sys.stderr.flush()


def clear_progress() -> None:
    if sys.stderr.isatty():
        sys.stderr.write(_CLEAR_LINE)


class NoModule(Exception):
    """There is no such module, or it cannot be imported; the message says why."""


def import_user_module(name: str) -> ModuleType:
    """Modules of the current folder are found, as with `python -m`, also those that the module imports later."""
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name == name:
            raise NoModule(f"there is no module {name!r}, installed or in this folder") from None
        what = "there is no module" if name.startswith(error.name or name) else "cannot import the module"
        raise NoModule(f"{what} {name!r}: {error}") from None
