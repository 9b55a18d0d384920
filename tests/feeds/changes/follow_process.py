"""`sortkey follow` as a process of its own, to be stopped, killed and frozen."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
SECONDS = 60

SAMPLE = re.compile(r"^(\w+)(\{.*\})? (\S+)$", re.MULTILINE)


class FollowProcess:
    """Has started its feeds when this returns."""

    def __init__(self, main: str, service: str, store: str | Path, *arguments: str) -> None:
        """`main` is the module of the program: `sortkey`, or one with other services."""
        command = [sys.executable, "-m", main, "follow", service, "--store", str(store), *arguments]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("ready http://"):
            self.process.kill()
            raise AssertionError(f"not ready: {line!r} {self.process.communicate()[1]!r}")
        self.url = line.split()[1]

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=SECONDS) as answer:
            text: str = answer.read().decode()
        return text

    def sample(self, name: str) -> float:
        """The sum of a metric's numbers, of all feeds, without the common part of its name."""
        found = SAMPLE.findall(self.get("/metrics"))
        return sum(float(number) for family, _, number in found if family == f"sortkey_change_feed_{name}")

    def wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 2 * SECONDS
        while not condition():
            assert self.process.poll() is None, "the follower ended"
            assert time.monotonic() < deadline, "it takes too long"
            time.sleep(0.02)  # another process tells only when asked

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """As `kill -9` does; may be repeated."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=SECONDS)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> str:
        """Ask it to end, and wait; what it wrote to standard error."""
        self.process.send_signal(by)
        output, errors = self.process.communicate(timeout=SECONDS)
        assert (output, self.process.returncode) == ("", 0), errors
        return errors
