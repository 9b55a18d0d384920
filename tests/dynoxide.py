"""Dynoxide, a DynamoDB emulator of another author, in Rust on SQLite: an independent engine for the tests of stores.

It is built from crates.io, which takes minutes, so tests do not build it: `make engines` does (`python -m
tests.dynoxide`).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests import maven
from tests.maven import Unavailable

CRATE: Final = "dynoxide-rs"
VERSION: Final = "3.2.0"
BUILD_SECONDS: Final = 3600
"""On a busy machine. Tests need no optimised build, which takes several times as long; benchmarks do."""
START_SECONDS: Final = 30

# It ends when the pipe to its guard closes, however the test process came to its end.
GUARD: Final = '"$@" </dev/null & server=$!; cat >/dev/null; kill "$server"; wait "$server"'


def program(*, optimised: bool = False) -> Path:
    return maven.cache_folder() / ("dynoxide-optimised" if optimised else "dynoxide") / VERSION / "bin" / "dynoxide"


def built_program() -> Path | None:
    """Either build, the one without optimisation first: tests ask for no speed."""
    return next((found for optimised in (False, True) if (found := program(optimised=optimised)).is_file()), None)


def build(*, optimised: bool = False) -> Path:
    """The program, which is built if missing."""
    found = program(optimised=optimised)
    if found.is_file():
        return found
    cargo = shutil.which("cargo")
    if cargo is None:
        raise Unavailable("there is no cargo to build it with")
    folder = found.parents[1]
    folder.parent.mkdir(parents=True, exist_ok=True)
    # It stays if the build is stopped, which goes on then.
    target = folder.parent / "target"
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        command = [cargo, "install", CRATE, "--version", VERSION, "--locked", "--root", f"{made}/{VERSION}"]
        try:
            subprocess.run(
                [*command, "--target-dir", str(target), *([] if optimised else ["--debug"])],
                check=True,
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
            )
        except subprocess.CalledProcessError as error:
            last_lines = "; ".join(error.stderr.strip().splitlines()[-3:])
            raise Unavailable(f"cargo could not build it: {last_lines}") from error
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"cargo did not build it in {BUILD_SECONDS} s") from error
        Path(made, VERSION).rename(folder)
    shutil.rmtree(target)
    return found


class Dynoxide:
    """One running Dynoxide, with its tables in memory."""

    def __init__(self, log: Path, *, optimised: bool = False) -> None:
        found = build(optimised=True) if optimised else built_program()
        if found is None:
            raise Unavailable("it is not built; `make engines` builds it")
        self._port = maven.free_port()
        command = [str(found), "serve", "--host", "127.0.0.1", "--port", str(self._port)]
        with log.open("a") as output:
            self._guard = subprocess.Popen(
                ["sh", "-c", GUARD, "guard", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._listens():
            if time.monotonic() > deadline:
                self.close()
                raise Unavailable(f"it did not start: {log.read_text().strip()[-500:]}")
            time.sleep(0.05)  # there is no event for an open port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def close(self) -> None:
        maven.stop(self._guard)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


def main() -> int:
    try:
        found = built_program() or build()
    except Unavailable as error:
        sys.stderr.write(f"No Dynoxide, so its tests will be skipped: {error}.\n")
        return 1
    sys.stdout.write(f"Dynoxide {VERSION} is in {os.path.relpath(found)}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
