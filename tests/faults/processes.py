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
PROCESSES.set_forkserver_preload(
    [
        *(
            "tests.faults.broken_endpoint",
            "tests.faults.chore_writer",
            "tests.faults.crash.survivors",
            "tests.faults.crash.writer",
            "tests.faults.crowd",
            "tests.faults.generation_loader",
            "tests.faults.linearizability.client",
        ),
        # These are imported when they are used.
        "sortkey.cli.db",
        "sortkey.client.remote",
    ]
)
SILENCE_SECONDS = 60

Program = Callable[[str, int, Connection], None]
"""Called with a folder or a URL, a seed, and the pipe to write lines to, one `os.write` each."""


class Running:
    """A program in a process of its own. It writes lines until it is killed."""

    def __init__(self, program: Program, where: Path | str, seed: int) -> None:
        self._receiver, sender = PROCESSES.Pipe(duplex=False)
        self._process = PROCESSES.Process(target=program, args=(str(where), seed, sender))
        self._process.start()
        sender.close()
        self._received = b""

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def read(self, lines: int) -> list[str]:
        """Wait for so many lines; returns all so far."""
        while self._received.count(b"\n") < lines and self._receive():
            pass
        return self._received.decode().splitlines()

    def read_more(self, lines: int) -> list[str]:
        """Wait for so many lines after those that it has written already."""
        while self._receiver.poll() and self._receive():
            pass
        return self.read(self._received.count(b"\n") + lines)

    def kill(self) -> list[str]:
        """Kill it by SIGKILL; returns all of its lines. It must not have ended before."""
        lines = self.end()
        assert self._process.exitcode == -signal.SIGKILL, lines[-1:]
        return lines

    def end(self) -> list[str]:
        """Kill it by SIGKILL, unless it has ended; returns all of its lines."""
        self._process.kill()
        while self._receive():
            pass
        self._process.join()
        self._receiver.close()
        return self._received.decode().splitlines()

    def _receive(self) -> bool:
        if not self._receiver.poll(SILENCE_SECONDS):
            raise AssertionError(f"no line for {SILENCE_SECONDS} s after {self._received[-200:]!r}")
        data = os.read(self._receiver.fileno(), 1 << 16)
        self._received += data
        return data != b""


def pause(seed: int, after_lines: int) -> None:
    """The kill must be able to hit every moment of a write, or of opening the folder."""
    time.sleep(Random(seed).random() * (0.004 if after_lines else 0.04))


def killed(program: Program, folder: Path, seed: int, after_lines: int) -> list[str]:
    """Run the program until it has written this many lines, kill it shortly after, and return all of its lines."""
    running = Running(program, folder, seed)
    running.read(after_lines)
    pause(seed, after_lines)
    return running.kill()
