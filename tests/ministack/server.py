"""MiniStack, an emulator of AWS that calls what schedules are for.

It is in a virtual environment of its own, because it needs another botocore. It listens on a free port of this machine,
and is gone with the process that started it.

`python -m tests.ministack.server` installs it before a test run.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from tests.maven import REPOSITORY, Unavailable, cache_folder, free_port

REQUIREMENTS: Final = REPOSITORY / "requirements-ministack.txt"
INSTALL_SECONDS: Final = 240
START_SECONDS: Final = 60

# It ends when the pipe to its guard closes, however the test process came to its end.
GUARD: Final = '"$@" </dev/null & child=$!; cat >/dev/null; kill "$child"; wait "$child"'


def install() -> Path:
    """The folder of its environment, which is made if it is missing or has other versions."""
    folder = cache_folder() / "ministack"
    folder.mkdir(parents=True, exist_ok=True)
    ready = folder / ".ready"
    wanted = blake2b(REQUIREMENTS.read_bytes()).hexdigest()
    # Test workers start together; one installs, the others wait for it. Beside the folder: uv locks `.lock` inside.
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists() or ready.read_text() != wanted:
            _install(folder)
            ready.write_text(wanted)
    return folder


def _install(folder: Path) -> None:
    python = str(folder / "bin" / "python")
    if shutil.which("uv") is None:
        make, pip = [sys.executable, "-m", "venv", str(folder)], [python, "-m", "pip", "install"]
    else:
        make = ["uv", "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)]
        pip = ["uv", "pip", "install", "--python", python]
    _run(make)
    _run([*pip, "--quiet", "--require-hashes", "--requirement", str(REQUIREMENTS)])


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"it could not be installed within {INSTALL_SECONDS} s") from error
    except subprocess.CalledProcessError as error:
        last_line = (error.stdout + error.stderr).strip().rpartition("\n")[2]
        raise Unavailable(f"it could not be installed: {last_line}") from error


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
