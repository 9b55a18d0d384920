"""The lines that commands print for people and scripts."""

from __future__ import annotations

import sys


def announce(url: str) -> None:
    """On stdout, once, as soon as a server takes requests."""
    sys.stdout.write(f"ready {url}\n")
    sys.stdout.flush()


def print_error(command: str, message: str) -> int:
    """One line on stderr. Returns the exit code of a command that could not be run."""
    sys.stderr.write(f"sortkey {command}: {message}\n")
    return 2
