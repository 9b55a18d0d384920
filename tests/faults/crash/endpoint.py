"""`sortkey db` as a program that a fork server starts."""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection

from sortkey.cli.main import main


def serve(folder: str, _: int, log: Connection) -> None:
    """Its line is the endpoint's URL, as soon as it takes requests."""
    os.dup2(log.fileno(), sys.stdout.fileno())
    sys.exit(main(["db", "--data", folder, "--port", "0"]))
