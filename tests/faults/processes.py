"""Starts processes from a fork server that has imported everything and opened nothing.

A database must not be open across a fork, and a new interpreter needs half a second for its imports.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.faults.chore_writer", "tests.faults.crash_writer", "tests.faults.crowd"])

Program = Callable[[str, int, Connection], None]
"""Called with the folder, a seed, and the pipe to write lines to, one `os.write` each."""


def killed(program: Program, folder: Path, seed: int, after_lines: int) -> list[str]:
    """Run the program until it has written this many lines, kill it shortly after, and return all of its lines."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=program, args=(str(folder), seed, sender))
    process.start()
    sender.close()
    received = _read(receiver, after_lines)
    # The kill must be able to hit every moment of a write, or of opening the folder.
    time.sleep(Random(seed).random() * (0.004 if after_lines else 0.04))
    process.kill()
    received += _read(receiver, None)
    process.join()
    receiver.close()
    lines = received.decode().splitlines()
    assert process.exitcode == -signal.SIGKILL, lines[-1:]
    return lines


def _read(receiver: Connection, lines: int | None) -> bytes:
    """At least this many lines; all lines if None."""
    received = b""
    while lines is None or received.count(b"\n") < lines:
        data = os.read(receiver.fileno(), 1 << 16)
        if not data:
            break
        received += data
    return received
