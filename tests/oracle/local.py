"""DynamoDB Local: downloaded once by Maven, started in memory, stopped with the process that started it.

`python -m tests.oracle.local` downloads it before a test run.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests import maven
from tests.maven import Unavailable

POM: Final = Path(__file__).with_name("pom.xml")
MAIN_CLASS: Final = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
START_SECONDS: Final = 60
# It runs for minutes: compiling its code better would take longer than running it.
JAVA: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def install() -> Path:
    """The folder of DynamoDB Local's jars, which are downloaded if missing."""
    return maven.install(POM, "dynamodb-local")


class DynamoDBLocal:
    """One running DynamoDB Local, with its tables in memory.

    Each access key id has its own tables, so one process serves any number of tests.
    """

    def __init__(self, log: Path) -> None:
        self._port = maven.free_port()
        self._log = log
        self._guard = self._start(install())
        try:
            self._wait_until_ready()
        except Unavailable:
            self.close()
            raise

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def close(self) -> None:
        maven.stop(self._guard)

    def _start(self, jars: Path) -> subprocess.Popen[bytes]:
        java = [*JAVA, f"-Djava.library.path={jars}", "-cp", f"{jars}/*", MAIN_CLASS]
        return maven.start([*java, "-inMemory", "-disableTelemetry", "-port", str(self._port)], jars, self._log)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)  # there is no event for an open port
        raise Unavailable(f"DynamoDB Local did not start: {self._log.read_text().strip()[-500:]}")


def main() -> int:
    try:
        jars = install()
    except Unavailable as error:
        sys.stderr.write(f"No DynamoDB Local, so the oracle tests will be skipped: {error}.\n")
        return 1
    sys.stdout.write(f"DynamoDB Local {maven.version(POM)} is in {os.path.relpath(jars)}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
