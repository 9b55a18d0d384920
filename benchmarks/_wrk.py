"""Installs wrk if it is missing, runs it for a few seconds and reads its numbers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

SCRIPT: Final = Path(__file__).with_suffix(".lua")
ANSWER_SECONDS: Final = 30
"""How long wrk waits for one answer; the slowest peer needs seconds for some."""


class NoWrk(Exception):
    """wrk is missing and cannot be installed."""


class Measured(msgspec.Struct, frozen=True):
    """The result of one run of wrk; `p50`, `p95` and `p99` are milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    rejected: int
    broken: int
    p95: float = 0.0

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def error(self) -> str | None:
        """Why the numbers are worthless: a server that rejects requests quickly looks fast."""
        if self.rejected or self.broken:
            return f"{self.rejected:,} of {self.requests:,} answers were errors, {self.broken:,} connections broke"
        if not self.requests:
            return "no request was answered in time"
        return None


class Sendable(Protocol):
    @property
    def operation(self) -> str: ...

    @property
    def body(self) -> bytes: ...


def require() -> None:
    """Installs Debian's wrk if there is none. Raises NoWrk."""
    if shutil.which("wrk") is not None:
        return
    if os.getuid() != 0 or shutil.which("apt-get") is None:
        raise NoWrk("wrk is missing; install it (Debian: apt-get install wrk, macOS: brew install wrk)")
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", "wrk"],
    ):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0:
            raise NoWrk(f"wrk is missing, and {' '.join(command[:2])} failed: {done.stderr.strip()[-300:]}")


def write_requests(path: Path, requests: Iterable[Sendable]) -> None:
    """Writes the requests for `_wrk.lua`."""
    with path.open("wb") as file:
        for request in requests:
            file.write(request.operation.encode() + b"\n" + request.body + b"\n")


def run(url: str, requests: Path, connections: int, seconds: int, pause: int = 0) -> Measured:
    """Sends the requests repeatedly, on one thread, which leaves the other processors to the server. With a pause, each
    connection waits so many milliseconds before its next request."""
    options = [f"-c{connections}", "-t1", f"-d{seconds}s", f"--timeout={ANSWER_SECONDS}s", f"--script={SCRIPT}"]
    command = ["wrk", *options, url, "--", str(requests), str(pause)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        # It could not connect.
        return Measured(0, seconds, 0, 0, rejected=0, broken=connections)
    return read(finished.stdout)


def read(output: str) -> Measured:
    """Parses the line that `_wrk.lua` adds to wrk's report."""
    return msgspec.json.decode(output.strip().rpartition("\n")[2], type=Measured)
