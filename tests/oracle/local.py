"""DynamoDB Local: fetched once by Maven, started in memory, gone with the process that started it.

`python -m tests.oracle.local` fetches it ahead of a test run.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

POM: Final = Path(__file__).with_name("pom.xml")
REPOSITORY: Final = POM.parents[2]
MAIN_CLASS: Final = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
FETCH_SECONDS: Final = 240
START_SECONDS: Final = 60

# Java ends when the pipe to its guard closes, however the test process came to its end.
GUARD: Final = 'java "$@" </dev/null & java=$!; cat >/dev/null; kill "$java"; wait "$java"'


class OracleUnavailable(Exception):
    """This machine cannot have DynamoDB Local; the message says why."""


def version() -> str:
    """The version that pom.xml asks for."""
    space = "{*}"
    found = ElementTree.parse(POM).findtext(f"{space}dependencies/{space}dependency/{space}version")
    if found is None:
        raise OracleUnavailable(f"{POM.name} names no version")
    return found


def cache_folder() -> Path:
    return Path(os.environ.get("SORTKEY_CACHE", REPOSITORY / ".cache")) / "dynamodb-local"


def install() -> Path:
    """The folder of DynamoDB Local's jars, fetched when missing."""
    if shutil.which("java") is None:
        raise OracleUnavailable("there is no java")
    cache = cache_folder()
    jars = cache / version()
    if jars.is_dir():
        return jars
    cache.mkdir(parents=True, exist_ok=True)
    with _only_one(cache / "lock"):
        if not jars.is_dir():
            _fetch(jars)
    return jars


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Test workers start together; one fetches, the others wait for it."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(jars: Path) -> None:
    if shutil.which("mvn") is None:
        raise OracleUnavailable("there is no Maven (mvn) to fetch DynamoDB Local with")
    with tempfile.TemporaryDirectory(dir=jars.parent) as folder:
        fetched = Path(folder) / "jars"
        command = ["mvn", "--quiet", "--batch-mode", "--file", str(POM), "dependency:copy-dependencies"]
        try:
            subprocess.run(
                [*command, f"-DoutputDirectory={fetched}"],
                check=True,
                capture_output=True,
                text=True,
                timeout=FETCH_SECONDS,
            )
        except subprocess.CalledProcessError as error:
            first_line = (error.stdout + error.stderr).strip().partition("\n")[0]
            raise OracleUnavailable(f"Maven could not fetch DynamoDB Local: {first_line}") from error
        except subprocess.TimeoutExpired as error:
            raise OracleUnavailable(f"Maven did not fetch DynamoDB Local in {FETCH_SECONDS} s") from error
        fetched.rename(jars)


class DynamoDBLocal:
    """One running DynamoDB Local, holding its tables in memory.

    Tables are separate per access key id, so one of them serves any number of tests.
    """

    def __init__(self, log: Path) -> None:
        self._port = _free_port()
        self._log = log
        self._guard = self._start(install())
        try:
            self._wait_until_ready()
        except OracleUnavailable:
            self.close()
            raise

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def close(self) -> None:
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        self._guard.wait()

    def _start(self, jars: Path) -> subprocess.Popen[bytes]:
        java = ["-Xmx512m", "-XX:+UseSerialGC", f"-Djava.library.path={jars}", "-cp", f"{jars}/*", MAIN_CLASS]
        with self._log.open("w") as log:
            return subprocess.Popen(
                ["sh", "-c", GUARD, "guard", *java, "-inMemory", "-disableTelemetry", "-port", str(self._port)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=jars,
                start_new_session=True,
            )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)  # a port tells nobody that it has opened
        raise OracleUnavailable(f"DynamoDB Local did not start: {self._log.read_text().strip()[-500:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> int:
    try:
        jars = install()
    except OracleUnavailable as error:
        sys.stderr.write(f"No DynamoDB Local, so the oracle tests will be skipped: {error}.\n")
        return 1
    sys.stdout.write(f"DynamoDB Local {version()} is in {os.path.relpath(jars)}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
