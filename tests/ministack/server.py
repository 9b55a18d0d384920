"""MiniStack, an emulator of AWS that calls what schedules are for.

It is in a virtual environment of its own, because it needs another botocore. It listens on a free port of this machine,
and is gone with the process that started it.

`python -m tests.ministack.server` installs it before a test run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.environments import environment
from tests.maven import REPOSITORY, Unavailable, free_port

REQUIREMENTS: Final = REPOSITORY / "requirements-ministack.txt"
START_SECONDS: Final = 60

# It ends when the pipe to its guard closes, however the test process came to its end.
GUARD: Final = '"$@" </dev/null & child=$!; cat >/dev/null; kill "$child"; wait "$child"'


def install() -> Path:
    """The folder of its environment."""
    return environment("ministack", REQUIREMENTS)


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Its URL, with everything that it writes in this folder. Raises Unavailable."""
    environment = install()
    port = free_port()
    settings = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "scheduler,sqs",
        # These listen on ports of their own.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "TMPDIR": str(folder),
    }
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with (folder / "log").open("w") as log:
        guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", str(environment / "bin" / "python"), "-m", "ministack"],
            env=outside | settings,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )
    try:
        _wait(f"http://127.0.0.1:{port}", folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait(START_SECONDS)


def _wait(url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/_ministack/health", timeout=START_SECONDS):
                return
        except OSError:
            time.sleep(0.05)  # there is no event for an open port
    raise Unavailable(f"MiniStack did not start: {log.read_text().strip()[-500:]}")


def main() -> int:
    try:
        folder = install()
    except Unavailable as error:
        sys.stderr.write(f"No MiniStack, so the test of a schedule that fires will be skipped: {error}.\n")
        return 1
    sys.stdout.write(f"MiniStack is in {os.path.relpath(folder)}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
