"""The processes under load: an endpoint with two workers, and a service, all on one folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from sortkey.storage import open_existing

WORKERS: Final = 2
SECONDS: Final = 60
MEMORY: Final = "RssAnon:"
"""Without the pages of the store, which are a file's."""


class Process:
    """A `sortkey` command that serves. What it writes to standard error is in a file."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self.log = log
        command = [sys.executable, "-m", "sortkey", *arguments]
        with log.open("wb") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("ready http://"):
            self.process.kill()
            raise AssertionError(f"not ready: {line!r} {log.read_text()}")
        self.url = line.split()[1]

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=SECONDS)
        return self.process.returncode


class Servers:
    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.endpoint = Process(
            folder / "db.log", "db", "--port", "0", "--data", str(self.data), "--workers", str(WORKERS)
        )
        store = ("--store", str(self.data))
        self.service = Process(folder / "serve.log", "serve", "boosts", "--port", "0", "--access-log", "off", *store)
        first, *_ = self._workers()
        self._lasting = [self.endpoint.process.pid, first, self.service.process.pid]
        """They are never killed, so what they hold can be compared over the whole run."""
        self.kills = 0

    def _workers(self) -> list[int]:
        """The parent's children that serve; Python keeps another to look after shared memory."""
        parent = self.endpoint.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def kill_a_worker(self) -> None:
        """The endpoint starts another in its place."""
        victims = [pid for pid in self._workers() if pid not in self._lasting]
        if victims:
            os.kill(victims[0], signal.SIGKILL)
            self.kills += 1

    def memory(self) -> int:
        return sum(_memory(pid) for pid in self._lasting)

    def descriptors(self) -> int:
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in self._lasting)

    def file_bytes(self) -> tuple[int, int]:
        """Of the data file, and of its pages that hold nothing."""
        environment = open_existing(self.data)
        try:
            used, whole = environment.stat(), environment.info()["last_pgno"] + 1
        finally:
            environment.close()
        filled = used["branch_pages"] + used["leaf_pages"] + used["overflow_pages"]
        return whole * used["psize"], (whole - filled) * used["psize"]

    def stop(self) -> list[str]:
        """What was wrong with how they ended."""
        codes = {"serve": self.service.stop(), "db": self.endpoint.stop()}
        return [f"sortkey {command} ended with {code}" for command, code in codes.items() if code]


def _memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(MEMORY))
