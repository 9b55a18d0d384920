"""MiniStack, an emulator of AWS, as a process on a free port of this machine. It calls what schedules are for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.maven import free_port

START_SECONDS = 60.0


@contextmanager
def running_ministack(folder: Path) -> Iterator[str]:
    """Its URL; stopped at the end."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "scheduler,sqs",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "TMPDIR": str(folder),
    }
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ministack"], env=os.environ | settings, stdout=log, stderr=log, cwd=folder
        )
    try:
        _wait(url, process, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{url}/_ministack/health", timeout=START_SECONDS):
                return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, f"it takes too long: {log.read_text()}"
            time.sleep(0.05)  # it tells only when asked
